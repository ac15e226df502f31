package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// errBreaksOff says that a line is not whole. What to do depends on whether it is the last one.
var errBreaksOff = errors.New("the line breaks off: want one JSON object a line")

// oneObject returns an error for a line that is empty, or begins with a list or a byte-order mark. encoding/json would not
// name what is there.
func oneObject(b []byte) error {
	const mark = "\ufeff"
	b = bytes.TrimLeft(b, " \t\r")
	switch {
	case len(b) == 0:
		return errors.New("the line is empty: take the empty line out")
	case b[0] == '[':
		return errors.New("a list: want one object a line, in braces, without brackets around them and commas between them")
	case bytes.HasPrefix(b, []byte(mark)):
		return errors.New("a byte-order mark, U+FEFF, which may begin the file alone, as where files are put together: take it out")
	}
	return nil
}

// decodeStrictly reads one JSON object and nothing else into the struct that into points to. Every field, of objects inside of it
// too, is one of the struct's to the letter and there once, and every string is Unicode: encoding/json by itself is laxer
// in each of these.
func decodeStrictly(b []byte, into any) error {
	if err := unicodeOnly(b); err != nil {
		return err
	}
	if err := oneObject(b); err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if unknown := checkFields(b, into); unknown != nil && (err == nil || strings.HasPrefix(err.Error(), "json: unknown field")) {
		return unknown // which says as well what there is
	}
	if err != nil {
		return rewordJSONError(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more than one value: want one object a line")
	}
	return nil
}

// checkFields returns an error unless each field of b is one of into's to the letter, and there once. It says nothing of what
// encoding/json refuses by itself.
func checkFields(b []byte, into any) error {
	e := fieldWalker{json.NewDecoder(bytes.NewReader(b))}
	e.d.UseNumber()
	err := e.value(reflect.TypeOf(into).Elem(), "")
	if unlike := (typeMismatch{}); errors.As(err, &unlike) {
		return unlike
	}
	return nil
}

// fieldWalker walks through JSON beside the type that it is read into.
type fieldWalker struct{ d *json.Decoder }

// typeMismatch is an error that says how a value differs from its type.
type typeMismatch struct{ error }

// value reads past a value of type t. Its place in the line is where, which is empty for the line itself.
func (e fieldWalker) value(t reflect.Type, where string) error {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	token, err := e.d.Token()
	switch {
	case err != nil:
		return err
	case token == json.Delim('{'):
		return e.object(t, where)
	case token == json.Delim('['):
		return e.list(t, where)
	case token == nil && strings.HasSuffix(where, "]"):
		return typeMismatch{fmt.Errorf("%s is null: leave it out", where)}
	}
	return nil
}

func (e fieldWalker) object(t reflect.Type, where string) error {
	within := strings.TrimPrefix(where+": ", ": ")
	seen := map[string]bool{}
	for e.d.More() {
		token, err := e.d.Token()
		if err != nil {
			return err
		}
		key := token.(string) // which every key of an object is
		inner, known := fieldOf(t, key)
		switch {
		case !known:
			return typeMismatch{fmt.Errorf("%s%w", within, unknownField(key, t))}
		case seen[key]:
			return typeMismatch{fmt.Errorf("%sthe field %q is there twice", within, key)}
		}
		seen[key] = true
		if err := e.value(inner, strings.TrimPrefix(where+"."+key, ".")); err != nil {
			return err
		}
	}
	_, err := e.d.Token()
	return err
}

func (e fieldWalker) list(t reflect.Type, where string) error {
	if t.Kind() != reflect.Slice {
		return errors.New("not a list")
	}
	for i := 0; e.d.More(); i++ {
		if err := e.value(t.Elem(), fmt.Sprintf("%s[%d]", where, i)); err != nil {
			return err
		}
	}
	_, err := e.d.Token()
	return err
}

// fieldOf returns the type of the field that JSON calls name in an object of type t.
func fieldOf(t reflect.Type, name string) (reflect.Type, bool) {
	switch t.Kind() {
	case reflect.Map:
		return t.Elem(), true
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); nameOf(f) == name {
				return f.Type, true
			}
		}
	}
	return nil, false
}

// nameOf returns the name that JSON uses for a field.
func nameOf(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

func unknownField(name string, t reflect.Type) error {
	if t.Kind() != reflect.Struct {
		return fmt.Errorf("unknown field %q", name)
	}
	var known []string
	for i := range t.NumField() {
		if n := nameOf(t.Field(i)); n != "" {
			known = append(known, n)
		}
	}
	return fmt.Errorf("unknown field %q: choose one of %s%s", name, strings.Join(known, ", "), whereItBelongs(name, t))
}

// whereItBelongs says where a field that is not one of t belongs. It is empty if that is not known.
func whereItBelongs(name string, t reflect.Type) string {
	line, op := reflect.TypeFor[head](), reflect.TypeFor[opLine]()
	if _, is := fieldOf(reflect.TypeFor[harness.Meta](), name); is && (t == op || t == line) {
		return fmt.Sprintf(`; %s is for meta, in the first line: {"meta":{"%s":...}}`, name, name)
	}
	if _, is := fieldOf(line, strings.ToLower(name)); is && t == op {
		return "; meta, faults and cut are for a first line of their own"
	}
	if _, is := fieldOf(op, name); is && t == line {
		return "; each operation is for a line of its own"
	}
	return ""
}

// rewordJSONError returns err, of encoding/json, in the words of those who write such lines.
func rewordJSONError(err error) error {
	var typed *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	var moment *time.ParseError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), err.Error() == "unexpected end of JSON input":
		return errBreaksOff
	case errors.As(err, &moment), strings.HasPrefix(err.Error(), "Time.UnmarshalJSON"):
		return errors.New(`"meta.started": want a time such as "2026-01-02T03:04:05Z"`)
	case errors.As(err, &typed) && typed.Field == "":
		return fmt.Errorf("want one object a line, in braces, not: %s", typed.Value)
	case errors.As(err, &typed):
		return fmt.Errorf("%q: want %s, not: %s", typed.Field, describeType(typed.Type), typed.Value)
	case errors.As(err, &syntax):
		return fmt.Errorf("%w: want one JSON object a line", err)
	}
	return errors.New(strings.TrimPrefix(strings.TrimPrefix(err.Error(), "json: "), "harness: "))
}

// describeType says what a field of that type holds.
func describeType(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == reflect.TypeFor[time.Duration]():
		return "a whole number of nanoseconds, below 2^63"
	case t == reflect.TypeFor[harness.Outcome]():
		return `"ok", "fail" or "info"`
	case t.Kind() == reflect.String:
		return "text in quotes"
	case t.Kind() == reflect.Int:
		return "a whole number, below 2^63"
	case t.Kind() == reflect.Uint64:
		return "a whole number, 0 or more and below 2^64"
	case t.Kind() == reflect.Slice:
		return "a list"
	case t.Kind() == reflect.Bool:
		return "true or false"
	case t.Kind() == reflect.Float64:
		return "a number"
	case t.Kind() == reflect.Struct, t.Kind() == reflect.Map:
		return "an object in braces"
	}
	return "something else"
}
