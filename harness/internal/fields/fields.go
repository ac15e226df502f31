package fields

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/doublegrant/doublegrant/harness/suggest"
)

// Place says from which file a struct was read, and on which lines its fields are. The zero value belongs to a struct
// that was not read from a file.
type Place struct {
	file  string
	line  int
	lines map[string]int
}

// At returns the beginning of a message about the field: "plan.yaml:7: ", or "" if there is no file.
func (p Place) At(field string) string {
	if p.file == "" {
		return ""
	}
	line := p.line
	if of, ok := p.lines[field]; ok {
		line = of
	}
	return fmt.Sprintf("%s:%d: ", p.file, line)
}

// Has reports whether the file sets the field.
func (p Place) Has(field string) bool {
	_, ok := p.lines[field]
	return ok
}

// Line returns the place of one field.
func (p Place) Line(field string) Place { return Place{file: p.file, line: p.lines[field]} }

// WithDefaults returns p, supplemented by the lines of the fields that only the file of the defaults sets.
func (p Place) WithDefaults(defaults Place) Place {
	lines := maps.Clone(defaults.lines)
	if lines == nil {
		return p
	}
	maps.Copy(lines, p.lines)
	p.lines = lines
	return p
}

// Placed is a struct that keeps the Place from which it was read.
type Placed interface{ Put(Place) }

// yamlLine matches the beginning of the parser's messages.
var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// Read fills a struct from r, which holds one YAML mapping. The parameter into points to the struct. Errors begin with
// the name of the file and the line.
func Read(file string, r io.Reader, into any) error {
	dec := yaml.NewDecoder(r)
	var doc, more yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return fmt.Errorf("%s:1: the file is empty: a plan names at least a variant, and a suite has a list of "+
			"runs", file)
	case err != nil:
		message := yamlLine.ReplaceAllString(err.Error(), "")
		return fmt.Errorf("%s:%d: not YAML: %s%s", file, lineOf(err), message, hint(err))
	}
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s:%d: a second YAML document begins here, after a line of --- or a closing bracket: put "+
			"only one plan or suite into a file", file, max(more.Line, 1))
	}
	return Reader{file}.Fill(doc.Content[0], reflect.ValueOf(into).Elem())
}

// hint suggests a correction for a line with two colons. Most such lines are those of the field named expect.
func hint(err error) string {
	if !strings.Contains(err.Error(), "mapping values are not allowed") {
		return ""
	}
	return `: put the text after the first colon into braces, such as "expect: {invalid: [double-grant]}"`
}

// countsFromZero matches the messages in which the parser counts lines from 0: those about structure. In messages about
// characters the parser counts from 1.
var countsFromZero = regexp.MustCompile(`did not find expected (<|'-'|'\?'|',' or|key|node content)`)

// lineOf returns the number of the line that the parser's message names, counted from 1.
func lineOf(err error) int {
	match := yamlLine.FindStringSubmatch(err.Error())
	if len(match) < 2 || match[1] == "" {
		return 1
	}
	line, _ := strconv.Atoi(match[1])
	if countsFromZero.MatchString(err.Error()) {
		line++
	}
	return line
}

// Reader fills structs from the nodes of a file. It exists because yaml.v3 with KnownFields and goccy/go-yaml in its
// strict mode are not strict enough. Both read 1.5 into an int and ignore a second document. Their messages name Go
// types and do not suggest the right name. Neither keeps the line of each field, which messages of later checks
// contain.
type Reader struct{ File string }

// Errorf returns an error that begins with the file and the line of the node.
func (r Reader) Errorf(n *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %w", r.File, n.Line, fmt.Errorf(format, args...))
}

// Fill sets the fields of s from a mapping. The keys of the mapping are the fields' yaml names, or their earlier names,
// which are in the tag `was`.
func (r Reader) Fill(n *yaml.Node, s reflect.Value) error {
	if n = Followed(n); n.Kind != yaml.MappingNode {
		return r.Errorf(n, "write fields and their values here, such as %q", yamlNames(s.Type())[0]+": ...")
	}
	where, seen := Place{file: r.File, line: n.Line, lines: map[string]int{}}, map[string]bool{}
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		f, ok := fieldNamed(s.Type(), key.Value)
		if !ok {
			meant := suggest.DidYouMean(key.Value, yamlNames(s.Type()))
			return r.Errorf(key, "unknown field %q: %s", Shortened(key.Value), meant)
		}
		name := yamlName(f)
		if _, twice := where.lines[name]; twice && seen[key.Value] {
			return r.Errorf(key, "%s is given twice: leave one of them out", Shortened(key.Value))
		} else if twice {
			return r.Errorf(key, "%s and %s are the same field: leave %[2]s out", name, f.Tag.Get("was"))
		}
		where.lines[name], seen[key.Value] = key.Line, true
		field, zero, set := s.FieldByIndex(f.Index), f.Tag.Get("zero"), r.set
		if Followed(value).Kind == yaml.ScalarNode && hasFields(field) {
			others := slices.DeleteFunc(yamlNames(s.Type()), func(name string) bool { return name == key.Value })
			example := strconv.Quote(firstOf(field.Type()) + ": ...")
			return r.Errorf(value, "%s is %s: %s", key.Value, Written(Followed(value)),
				cmp.Or(suggest.Question("", key.Value, others), "write fields and their values here, such as "+example))
		}
		if zero == "never" {
			set = r.setOrNever
		}
		if err := set(key.Value, Followed(value), field); err != nil {
			return err
		}
		if zero == "default" && field.IsZero() {
			written := Shortened(Followed(value).Value)
			return r.Errorf(value, "%s is %s: ask for more than 0, or leave it out", key.Value, written)
		}
		key.Value = name // callers that read the node again know only this name
	}
	if p, ok := s.Addr().Interface().(Placed); ok {
		p.Put(where)
	}
	return nil
}

// hasFields reports whether a field is a struct, or a pointer to a struct, that does not read its own value.
func hasFields(field reflect.Value) bool {
	t := field.Type()
	if _, own := field.Addr().Interface().(Reading); own {
		return false
	}
	return t.Kind() == reflect.Struct || t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct
}

// firstOf returns the name of the first field of a struct, or of the struct that t points to.
func firstOf(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return yamlNames(t)[0]
}

// Reading is a field that reads its own value from a node. The node is never an alias.
type Reading interface {
	ReadField(r Reader, name string, n *yaml.Node) error
}

func (r Reader) set(name string, n *yaml.Node, field reflect.Value) error {
	if own, ok := field.Addr().Interface().(Reading); ok {
		return own.ReadField(r, name, n)
	}
	kind := field.Type()
	switch {
	case kind == reflect.TypeFor[time.Duration]():
		d, err := time.ParseDuration(n.Value)
		if err != nil || n.Kind != yaml.ScalarNode {
			return r.Errorf(n, "%s is %q: give a time with its unit, such as 2s or 300ms", name, Shortened(n.Value))
		}
		field.SetInt(int64(d))
		return nil
	case kind.Kind() == reflect.Pointer:
		field.Set(reflect.New(kind.Elem()))
		return r.Fill(n, field.Elem())
	case kind.Kind() == reflect.Struct:
		return r.Fill(n, field)
	case kind.Kind() == reflect.Slice && kind.Elem().Kind() == reflect.Struct:
		return r.list(name, n, field)
	case kind.Kind() == reflect.Slice && n.Kind == yaml.ScalarNode: // one word is a list of one
		n = &yaml.Node{Kind: yaml.SequenceNode, Line: n.Line, Content: []*yaml.Node{n}}
	}
	if err := n.Decode(field.Addr().Interface()); err != nil || !isWholeNumber(n, kind) {
		return r.Errorf(n, "%s is %s: want %s", name, Written(n), wanted(kind))
	}
	return nil
}

// setOrNever sets a field with the tag zero:"never". In the file 0 means never, but in the struct 0 means the default.
// So a 0 of the file becomes -1.
func (r Reader) setOrNever(name string, n *yaml.Node, field reflect.Value) error {
	v, err := strconv.Atoi(n.Value)
	if err != nil || v < 0 {
		return r.Errorf(n, "%s is %s: want a whole number, 0 or more", name, Written(n))
	}
	field.SetInt(int64(cmp.Or(v, -1)))
	return nil
}

// Node returns a struct as a node of a file.
func Node(s any) (*yaml.Node, error) {
	var n yaml.Node
	err := n.Encode(s)
	for i := 0; i < len(n.Content); i += 2 {
		f, _ := fieldNamed(reflect.TypeOf(s), n.Content[i].Value)
		if v := n.Content[i+1]; f.Tag.Get("zero") == "never" && strings.HasPrefix(v.Value, "-") {
			v.Value = "0"
		}
	}
	return &n, err
}

// isWholeNumber reports whether the parser can read the number n into the type t without cutting off a fraction.
func isWholeNumber(n *yaml.Node, t reflect.Type) bool {
	return t.Kind() != reflect.Int && t.Kind() != reflect.Uint64 || n.Tag != "!!float"
}

func (r Reader) list(name string, n *yaml.Node, field reflect.Value) error {
	if n.Kind != yaml.SequenceNode {
		return r.Errorf(n, "%s is a list: begin each entry with a dash", name)
	}
	field.SetZero() // drops a value that the defaults have left
	for _, item := range n.Content {
		element := reflect.New(field.Type().Elem()).Elem()
		if err := r.Fill(item, element); err != nil {
			return err
		}
		field.Set(reflect.Append(field, element))
	}
	return nil
}

// Followed returns the node that an alias refers to, and any other node unchanged.
func Followed(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// Written returns the text of a node for a message.
func Written(n *yaml.Node) string {
	if n.Kind == yaml.ScalarNode {
		return strconv.Quote(Shortened(n.Value))
	}
	return map[yaml.Kind]string{yaml.MappingNode: "a mapping", yaml.SequenceNode: "a list"}[n.Kind]
}

// Shortened cuts a text to the length that a message may quote. The text may come from a file that is not a plan, and
// may be a secret.
func Shortened(text string) string {
	const most = 40
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-3]) + "..."
	}
	return text
}

func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Int, reflect.Int64, reflect.Uint64:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list of words"
	default:
		return "a word"
	}
}

// yamlName returns a field's name in files; empty if files cannot name it.
func yamlName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
	return strings.TrimPrefix(name, "-")
}

// yamlNames lists the names of a struct's fields.
func yamlNames(t reflect.Type) (names []string) {
	for f := range Of(t) {
		names = append(names, yamlName(f))
	}
	return names
}

// fieldNamed returns the field that has the name in files, or had it in earlier versions.
func fieldNamed(t reflect.Type, name string) (field reflect.StructField, ok bool) {
	for f := range Of(t) {
		if yamlName(f) == name || name != "" && f.Tag.Get("was") == name {
			return f, true
		}
	}
	return field, false
}

// Current returns the current name of the field of t that has the given name, or had it in an earlier version. If there
// is no such field, it returns the given name.
func Current(t reflect.Type, name string) string {
	if f, ok := fieldNamed(t, name); ok {
		return yamlName(f)
	}
	return name
}

// Given lists the names of the fields of s that are not zero, as files write them.
func Given(s any) (names []string) {
	v := reflect.ValueOf(s)
	for f := range Of(v.Type()) {
		if !v.FieldByIndex(f.Index).IsZero() {
			names = append(names, yamlName(f))
		}
	}
	return names
}

// Of ranges over the fields of a struct that files can name.
func Of(t reflect.Type) func(func(reflect.StructField) bool) {
	all := slices.DeleteFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool { return yamlName(f) == "" })
	return slices.Values(all)
}
