package history

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/doublegrant/doublegrant/harness"
)

// head is the optional first line of the text form.
type head struct {
	Schema int             `json:"schema,omitempty"` // version of the text form; 0: the first version
	Kind   string          `json:"kind,omitempty"`   // always "history"
	Meta   *harness.Meta   `json:"meta"`
	Faults []harness.Fault `json:"faults,omitempty"`
	Cut    string          `json:"cut,omitempty"` // why the history is incomplete; empty: it is complete
}

const (
	schema   = 1         // version of the text form
	headKind = "history" // kind of document that the first line names

	defaultDrift = 0.01       // drift of the clocks if no other is given, see harness.Spec
	maxWorkers   = 10_000_000 // largest number of workers, groups or clients: checkers keep some bytes for each
	maxRate      = 1e9        // largest rate of a history, in operations a second
)

// headOf reads the first line b. If that line is an operation, isHead is false, and h has the given name and default
// values.
func headOf(b []byte, name string) (h head, isHead bool, err error) {
	h.Meta = &harness.Meta{Name: name, Drift: defaultDrift}
	if err := checkText(b); err != nil {
		return h, false, err
	}
	if err := oneObject(b); err != nil {
		return h, false, err
	}
	var keys map[string]jsontext.Value
	if err := json.Unmarshal(b, &keys); err != nil {
		return h, false, rewordJSONError(err, reflect.TypeOf(h))
	}
	for _, key := range []string{"schema", "meta", "faults", "cut"} {
		_, there := keys[key]
		isHead = isHead || there
	}
	if !isHead {
		return h, false, nil
	}
	if err := checkSchema(keys["schema"]); err != nil {
		return h, true, err
	}
	if err := decodeStrictly(b, &h, refuseNulls); err != nil {
		return h, true, err
	}
	return h, true, h.check()
}

// checkSchema refuses a version of the text form that is newer than this program's, since its fields may be unknown
// here.
func checkSchema(v jsontext.Value) error {
	var n float64
	if json.Unmarshal(v, &n) == nil && n > schema {
		return fmt.Errorf("its schema is %v, and this program reads %d: take a newer doublegrant", n, schema)
	}
	return nil
}

// notText maps the first bytes of files that are not text to a description.
var notText = map[string]string{
	"\x1f\x8b":         "compressed by gzip: unpack it and pass it as standard input, -",
	"\x28\xb5\x2f\xfd": "compressed by zstd: unpack it and pass it as standard input, -",
	"\xff\xfe":         "UTF-16: write it as UTF-8",
	"\xfe\xff":         "UTF-16: write it as UTF-8",
}

// checkText returns an error unless the first line is text.
func checkText(b []byte) error {
	for begin, what := range notText {
		if bytes.HasPrefix(b, []byte(begin)) {
			return errors.New("it is " + what)
		}
	}
	return nil
}

// checkFault returns an error if f is impossible. A time of 0 means that it was not recorded.
func checkFault(f harness.Fault) error {
	for _, at := range []struct {
		name string
		time.Duration
	}{{"start", f.Start}, {"bit", f.Active}, {"heal", f.Heal}, {"end", f.End}} {
		switch {
		case at.Duration < 0:
			return fmt.Errorf("its %s is %d: times are nanoseconds from the start, and cannot be negative", at.name,
				at.Duration)
		case at.Duration > 0 && at.Duration < f.Start:
			return fmt.Errorf("its %s at %d is before its start at %d", at.name, at.Duration, f.Start)
		}
	}
	if f.End > 0 && f.End < f.Heal {
		return fmt.Errorf("its end at %d is before its heal at %d", f.End, f.Heal)
	}
	for _, group := range slices.Concat(f.Groups, f.Frozen) {
		if group < 0 {
			return fmt.Errorf("groups of clients count from 0, and cannot be %d", group)
		}
	}
	return nil
}

// check returns an error if h is something that checkers cannot work with.
func (h head) check() error {
	for _, f := range h.Faults {
		if err := checkFault(f); err != nil {
			return fmt.Errorf("the fault %q: %w", f.Name, err)
		}
	}
	if h.Kind != "" && h.Kind != headKind {
		return fmt.Errorf("it is of kind %q, not %q", h.Kind, headKind)
	}
	switch m := h.Meta; {
	case m == nil:
		return errors.New("meta is null: leave the line out")
	case min(m.Workers, m.Groups, m.Clients) < 0 || m.Rate < 0:
		return fmt.Errorf("workers %d, groups %d, clients %d, rate %g: none of them can be negative", m.Workers,
			m.Groups, m.Clients, m.Rate)
	case max(m.Workers, m.Groups, m.Clients) > maxWorkers:
		return fmt.Errorf("%d workers, groups or clients: want at most %d", max(m.Workers, m.Groups, m.Clients),
			maxWorkers)
	case m.Rate > maxRate:
		return fmt.Errorf("a rate of %g operations a second: want at most %g", m.Rate, float64(maxRate))
	case m.Drift < 0 || m.Drift >= 1:
		return fmt.Errorf("a drift of %g: it has to be from 0 to less than 1", m.Drift)
	}
	for _, k := range h.Meta.Kinds {
		if !slices.Contains(kinds, k) {
			return unknownKind(k)
		}
	}
	return nil
}
