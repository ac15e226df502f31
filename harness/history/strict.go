package history

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/doublegrant/doublegrant/harness"
)

// errTruncated says that a line is incomplete. brokenLine says what to do about such a line, which depends on whether
// it is the last one.
var errTruncated = errors.New("the line breaks off")

// errNull says that an element of a list is null. The JSON library would read null as a zero value.
var errNull = errors.New("is null: leave it out")

// notUnicode tells the user what to do about bytes that are not text.
const notUnicode = "write keys, tokens and results as Unicode, and binary data in hexadecimal digits"

// oneObject returns an error for a line that is empty, or that begins with a list or a byte-order mark. The library's
// own error would not name the cause.
func oneObject(b []byte) error {
	const mark = "\ufeff"
	b = bytes.TrimLeft(b, " \t\r")
	switch {
	case len(b) == 0:
		return errors.New("the line is empty: remove it")
	case b[0] == '[':
		return errors.New("a list: want one object a line, in braces, without brackets around them and commas " +
			"between them")
	case bytes.HasPrefix(b, []byte(mark)):
		return errors.New("a byte-order mark, U+FEFF, is allowed only at the beginning of the file: remove it")
	}
	return nil
}

// strictOptions are the options for text that others wrote. The library's defaults already refuse duplicate names,
// names that differ in case, and strings that are not Unicode. The package encoding/json would read such bytes as
// U+FFFD, and so confuse different keys.
var strictOptions = json.JoinOptions(
	json.RejectUnknownMembers(true),
	jsonv1.FormatDurationAsNano(true),
)

// refuseNulls is one more option, for objects that contain lists. It calls refuseNullInList.
var refuseNulls = json.WithUnmarshalers(json.UnmarshalFromFunc(refuseNullInList))

// refuseNullInList returns errNull for a list element that is null. It leaves any other value to the JSON library.
func refuseNullInList(d *jsontext.Decoder, _ any) error {
	if within, _ := d.StackIndex(d.StackDepth()); within == '[' && d.PeekKind() == 'n' {
		return errNull
	}
	return errors.ErrUnsupported
}

// decodeStrictly reads one JSON object, and nothing else, into the struct to which the parameter into points. Each
// field has to be known, in the same case, and must not be repeated. This holds for nested objects, too. Strings have
// to be Unicode.
func decodeStrictly(b []byte, into any, further ...json.Options) error {
	if err := oneObject(b); err != nil {
		return err
	}
	return rewordJSONError(json.Unmarshal(b, into, strictOptions, json.JoinOptions(further...)),
		reflect.TypeOf(into).Elem())
}

// rewordJSONError translates an error of the JSON library into the words of users who write the lines. The line was to
// be read into the type t.
func rewordJSONError(err error, t reflect.Type) error {
	var syntax *jsontext.SyntacticError
	var misfit *json.SemanticError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errTruncated
	case errors.As(err, &syntax):
		return rewordSyntax(syntax, t)
	case errors.As(err, &misfit):
		return rewordMisfit(misfit, t)
	}
	return err
}

// rewordSyntax translates an error about text that is not strict JSON.
func rewordSyntax(e *jsontext.SyntacticError, t reflect.Type) error {
	switch text := e.Err.Error(); {
	case errors.Is(e, jsontext.ErrDuplicateName):
		within, _ := placeOf(e.JSONPointer.Parent(), t, ": ")
		return fmt.Errorf("%sthe field %q appears twice: remove one", within, e.JSONPointer.LastToken())
	case strings.HasPrefix(text, "invalid UTF-8"), strings.HasPrefix(text, "invalid surrogate"):
		return fmt.Errorf("byte %d: %s: %s", e.ByteOffset+1, text, notUnicode)
	case strings.HasSuffix(text, "after top-level value"):
		return errors.New("there is more than one value: want one object a line")
	}
	return fmt.Errorf("%w: want one JSON object a line", e.Err)
}

// rewordMisfit translates an error about JSON that does not fit the type t.
func rewordMisfit(e *json.SemanticError, t reflect.Type) error {
	where, _ := placeOf(e.JSONPointer, t, "")
	switch {
	case errors.Is(e.Err, json.ErrUnknownName):
		within, parent := placeOf(e.JSONPointer.Parent(), t, ": ")
		return fmt.Errorf("%s%w", within, unknownField(e.JSONPointer.LastToken(), parent))
	case errors.Is(e.Err, errNull):
		return fmt.Errorf("%s %w", where, errNull)
	case where == "":
		return fmt.Errorf("want one object a line, in braces, not: %s", describeValue(e))
	case e.Err != nil && selfDescribed[e.GoType] == e.JSONKind:
		return errors.New(strings.TrimPrefix(e.Err.Error(), "harness: "))
	}
	return fmt.Errorf("%q: want %s, not: %s", where, describeType(e.GoType), describeValue(e))
}

// selfDescribed holds the types that read their own values, with the kind of JSON that they read. Their errors need no
// translation.
var selfDescribed = map[reflect.Type]jsontext.Kind{
	reflect.TypeFor[harness.Outcome](): '"',
	reflect.TypeFor[harness.Effects](): '[',
}

// placeOf returns the place in a line to which p points, such as meta.name or faults[0], followed by the given suffix.
// It also returns the type of the value there. The parameter t is the type of the whole line. If p points to the whole
// line, the place is empty.
func placeOf(p jsontext.Pointer, t reflect.Type, suffix string) (string, reflect.Type) {
	var place strings.Builder
	for token := range p.Tokens() {
		if t.Kind() == reflect.Slice {
			place.WriteString("[" + token + "]")
			t = t.Elem()
		} else {
			place.WriteString("." + token)
			t, _ = fieldOf(t, token)
		}
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
	}
	if place.Len() == 0 {
		return "", t
	}
	return strings.TrimPrefix(place.String(), ".") + suffix, t
}

// fieldOf returns the type of the field that JSON calls by the given name in an object of type t. If there is no such
// field, it returns the type of an empty struct.
func fieldOf(t reflect.Type, name string) (field reflect.Type, ok bool) {
	switch t.Kind() {
	case reflect.Map:
		return t.Elem(), true
	case reflect.Struct:
		for f := range t.Fields() {
			if nameOf(f) == name {
				return f.Type, true
			}
		}
	}
	return reflect.TypeFor[struct{}](), false
}

// nameOf returns the name that JSON uses for a field.
func nameOf(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

func unknownField(name string, t reflect.Type) error {
	var known []string
	for f := range t.Fields() {
		if n := nameOf(f); n != "" {
			known = append(known, n)
		}
	}
	return fmt.Errorf("unknown field %q: choose one of %s%s", name, strings.Join(known, ", "), whereItBelongs(name, t))
}

// whereItBelongs says on which line a field belongs that was found in an object of type t, which has no such field. It
// returns "" if no line has the field.
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

// describeType describes the values that a field of the given type takes.
func describeType(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == reflect.TypeFor[time.Duration]():
		return "a whole number of nanoseconds, below 2^63"
	case t == reflect.TypeFor[time.Time]():
		return `a time such as "2026-01-02T03:04:05Z"`
	case t == reflect.TypeFor[harness.Outcome]():
		return `"ok", "fail" or "info"`
	}
	switch t.Kind() {
	case reflect.String:
		return "text in quotes"
	case reflect.Int:
		return "a whole number, below 2^63"
	case reflect.Uint64:
		return "a whole number, 0 or more and below 2^64"
	case reflect.Slice:
		return "a list"
	case reflect.Bool:
		return "true or false"
	case reflect.Float64:
		return "a number"
	case reflect.Struct, reflect.Map:
		return "an object in braces"
	}
	return "something else"
}

// describeValue describes the value in the line. It quotes a number that is out of range or not whole.
func describeValue(e *json.SemanticError) string {
	switch e.JSONKind {
	case '0':
		return strings.TrimSpace("number " + string(e.JSONValue))
	case '{':
		return "object"
	case '[':
		return "array"
	case 't', 'f':
		return "bool"
	}
	return e.JSONKind.String() // "string" or "null"
}
