package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// The fields of the lines of the text form, in the order of its table.
var (
	headFields = []string{"meta", "faults", "cut"}
	opFields   = []string{
		"client", "kind", "key", "arg", "result", "ttl", "until", "due", "call", "return", "outcome", "err",
	}
)

// strictly reads one JSON object and nothing else, of which it knows every field and finds none twice.
func strictly(b []byte, into any, fields []string) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		if unknown := once(b, fields); unknown != nil && strings.HasPrefix(err.Error(), "json: unknown field") {
			return unknown // which says as well what there is
		}
		return readable(err, b)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more than one value")
	}
	return once(b, fields)
}

// once asks that each field of b, which is an object, is one of fields to the letter, and there once: encoding/json takes
// other cases too, and of several the last.
func once(b []byte, fields []string) error {
	seen := 0
	for key := range keys(b) {
		i := slices.Index(fields, string(key))
		switch {
		case i < 0:
			return unknownField(string(key), fields)
		case seen&(1<<i) != 0:
			return fmt.Errorf("the field %q is there twice", key)
		}
		seen |= 1 << i
	}
	return nil
}

// keys ranges over the keys of the object b, which is JSON, as they are written. Those of objects inside of it are left out.
func keys(b []byte) func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		depth, begin, key := 0, -1, []byte(nil)
		for i := 0; i < len(b); i++ {
			switch c := b[i]; {
			case begin >= 0 && c == '\\':
				i++
			case begin >= 0 && c == '"':
				key, begin = b[begin:i], -1
			case begin >= 0:
			case c == '"':
				begin = i + 1
			case c == '{' || c == '[':
				depth++
			case c == '}' || c == ']':
				depth--
			case c == ':' && depth == 1 && !yield(key):
				return
			}
		}
	}
}

func unknownField(name string, fields []string) error {
	return fmt.Errorf("unknown field %q: choose of %s", name, strings.Join(fields, ", "))
}

// readable is err, of encoding/json about the line b, in words of those who write such lines.
func readable(err error, b []byte) error {
	var typed *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the line is empty or breaks off")
	case errors.As(err, &typed) && typed.Field == "":
		return fmt.Errorf("want one object a line, in braces, not: %s", typed.Value)
	case errors.As(err, &typed):
		return fmt.Errorf("%q: want %s, not: %s", strings.TrimPrefix(typed.Field, "Op."), wanted(typed.Type), typed.Value)
	case errors.As(err, &syntax) && bytes.HasPrefix(b, []byte("\x1f\x8b")):
		return errors.New("it is compressed: unpack it first, and hand it over as standard input, -")
	case errors.As(err, &syntax):
		return fmt.Errorf("%w: want one JSON object a line", err)
	}
	return errors.New(strings.TrimPrefix(strings.TrimPrefix(err.Error(), "json: "), "harness: "))
}

// wanted says what a field of that type holds.
func wanted(t reflect.Type) string {
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
		return "a whole number"
	case t.Kind() == reflect.Slice:
		return "a list"
	case t.Kind() == reflect.Bool:
		return "true or false"
	case t.Kind() == reflect.Float64:
		return "a number"
	case t.Kind() == reflect.Struct:
		return "an object in braces"
	}
	return "something else"
}
