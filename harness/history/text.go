package history

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// ErrText marks a text form that is not one. The message names the line.
var ErrText = errors.New("not a history")

// maxLine is the longest line of the text form that is read, in bytes.
const maxLine = 16 << 20

// head is the optional first line of the text form.
type head struct {
	Meta   *harness.Meta   `json:"meta"`
	Faults []harness.Fault `json:"faults,omitempty"`
	Cut    string          `json:"cut,omitempty"` // why this is not all of the run; empty: it is
}

// Print writes h in the text form: a first line about the run, then one operation a line. It stops at the first error.
func Print(w io.Writer, h harness.History) error {
	b := bufio.NewWriterSize(w, 64<<10)
	out := json.NewEncoder(b)
	out.SetEscapeHTML(false)
	first := head{Meta: &h.Meta, Faults: h.Faults}
	switch {
	case h.End == nil:
		first.Cut = "the record stops before the run did"
	case h.End.Reason != "":
		first.Cut = h.End.Reason
	}
	if err := out.Encode(first); err != nil {
		return fmt.Errorf("history: print: %w", err)
	}
	for op, err := range h.Ops {
		if err == nil {
			err = out.Encode(op)
		}
		if err != nil {
			return errors.Join(fmt.Errorf("history: print: %w", err), b.Flush())
		}
	}
	if err := b.Flush(); err != nil {
		return fmt.Errorf("history: print: %w", err)
	}
	return nil
}

// Parse reads a history in the text form and stores it in dir, so that it can be ranged over again, whatever r is. What
// r calls the file is name, in errors. Memory is bounded by the number of clients. The history ends at the last Return,
// with the reason if it says that it was cut. An error that wraps ErrText names the line that cannot be.
func Parse(r io.Reader, name, dir string) (harness.History, error) {
	store, err := create(dir)
	if err != nil {
		return harness.History{}, err
	}
	p := parser{name: name, store: store}
	if err := errors.Join(p.lines(r), store.Close()); err != nil {
		return harness.History{}, err
	}
	return store.History()
}

// parser reads the text form line by line.
type parser struct {
	name    string
	store   *Store
	n       int // of the line, from 1
	ops     int
	last    time.Duration // the latest Return
	cut     string
	started bool // the meta data are written
	clients *clients
}

func (p *parser) errorf(format string, args ...any) error {
	return fmt.Errorf("%s, line %d: %w: %w", p.name, p.n, ErrText, fmt.Errorf(format, args...))
}

func (p *parser) lines(r io.Reader) error {
	s := bufio.NewScanner(r)
	s.Buffer(nil, maxLine)
	for s.Scan() {
		p.n++
		if err := p.line(s.Bytes()); err != nil {
			return err
		}
	}
	if errors.Is(s.Err(), bufio.ErrTooLong) {
		p.n++
		return p.errorf("it is longer than %d bytes: want one operation a line", maxLine)
	}
	if s.Err() != nil {
		return fmt.Errorf("history: read %s: %w", p.name, s.Err())
	}
	if p.ops == 0 {
		return fmt.Errorf("%s: %w: it holds no operation", p.name, ErrText)
	}
	return p.store.WriteEnd(harness.End{At: p.last, Reason: p.cut})
}

func (p *parser) line(b []byte) error {
	if !p.started {
		p.started = true
		b = bytes.TrimPrefix(b, []byte("\ufeff")) // which some programs begin files with
		first, err := p.head(b)
		if err != nil || first {
			return err
		}
	}
	op, err := p.op(b)
	if err != nil {
		return err
	}
	p.ops++
	return p.store.WriteOps([]harness.Op{op})
}

// head reads the first line, if it is about the run, and begins the store.
func (p *parser) head(b []byte) (is bool, err error) {
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(b, &keys); err != nil {
		return false, p.errorf("%w", readable(err, b))
	}
	h := head{Meta: &harness.Meta{Name: p.name, Drift: defaultDrift}}
	for _, key := range headFields {
		_, there := keys[key]
		is = is || there
	}
	if is {
		if err := strictly(b, &h, headFields); err != nil {
			return true, p.errorf("%w", err)
		}
		if err := usable(h); err != nil {
			return true, p.errorf("%w", err)
		}
	}
	p.cut, p.clients = h.Cut, newClients(*h.Meta)
	err = p.store.WriteMeta(*h.Meta)
	for _, f := range h.Faults {
		err = errors.Join(err, p.store.WriteFault(f))
	}
	return is, err
}

// defaultDrift is that of a run: see harness.Spec.
const defaultDrift = 0.01

const (
	maxWorkers = 10_000_000 // that a history may say it is of: checkers keep some bytes for each
	maxRate    = 1e9        // that it may say was asked for
)

// usable asks for what the checkers reckon with.
func usable(h head) error {
	for _, f := range h.Faults {
		if min(f.Start, f.Bit, f.Heal, f.End) < 0 {
			return fmt.Errorf("the fault %q: times are nanoseconds from the start, and cannot be negative", f.Name)
		}
	}
	switch m := h.Meta; {
	case m == nil:
		return errors.New("meta is null: leave the line out")
	case m.Workers < 0 || m.Groups < 0 || m.Clients < 0 || m.Rate < 0:
		return errors.New("workers, groups, clients and rate cannot be negative")
	case max(m.Workers, m.Groups, m.Clients) > maxWorkers:
		return fmt.Errorf("%d workers, groups or clients: want at most %d", max(m.Workers, m.Groups, m.Clients), maxWorkers)
	case m.Rate > maxRate:
		return fmt.Errorf("a rate of %g operations a second: want at most %g", m.Rate, float64(maxRate))
	case m.Drift < 0 || m.Drift >= 1:
		return errors.New("drift has to be from 0 to less than 1")
	}
	return nil
}

// opLine is an operation in the text form. Fields that an operation cannot do without are apart, to see whether they are
// there.
type opLine struct {
	harness.Op
	Client  *int             `json:"client"`
	Kind    *harness.Kind    `json:"kind"`
	Call    *time.Duration   `json:"call"`
	Return  *time.Duration   `json:"return"`
	Outcome *harness.Outcome `json:"outcome"`
}

func (p *parser) op(b []byte) (harness.Op, error) {
	var l opLine
	if err := strictly(b, &l, opFields); err != nil {
		return l.Op, p.errorf("%w", err)
	}
	for _, f := range []struct {
		name string
		none bool
	}{
		{"client", l.Client == nil}, {"kind", l.Kind == nil}, {"call", l.Call == nil}, {"return", l.Return == nil},
		{"outcome", l.Outcome == nil},
	} {
		if f.none {
			return l.Op, p.errorf("an operation needs %q", f.name)
		}
	}
	op := l.Op
	op.Client, op.Kind, op.Call, op.Return, op.Outcome = *l.Client, *l.Kind, *l.Call, *l.Return, *l.Outcome
	if err := possible(op); err != nil {
		return op, p.errorf("%w", err)
	}
	return op, p.follows(op)
}

// possible asks whether there can be such an operation.
func possible(op harness.Op) error {
	switch op.Kind {
	case harness.Acquire, harness.Extend, harness.Release, harness.Claim, harness.Deliver, harness.Confirm, harness.Next,
		harness.Inspect, harness.Add, harness.Read:
	default:
		return fmt.Errorf("unknown kind %q", op.Kind)
	}
	switch {
	case op.Client < harness.HarnessClient:
		return fmt.Errorf("client %d: want 0 or more, or %d for what looks at the end", op.Client, harness.HarnessClient)
	case op.Call < 0 || op.TTL < 0 || op.Until < 0 || op.Due < 0:
		return errors.New("times are nanoseconds from the start, and cannot be negative")
	case op.Return < op.Call:
		return fmt.Errorf("it returned at %d, before its call at %d", op.Return, op.Call)
	case op.Kind == harness.Claim && op.Outcome == harness.OK && op.Result != harness.ResultFirst && op.Result != harness.ResultSeen:
		return fmt.Errorf("a claim that is ok has the result %q or %q, not %q", harness.ResultFirst, harness.ResultSeen, op.Result)
	}
	return nil
}

// follows asks whether op can come after the operations before it: in order of Return, and by clients that do one thing
// after the other and are not heard again after they did not know what came of one.
func (p *parser) follows(op harness.Op) error {
	if op.Return < p.last {
		return p.errorf("it returned at %d, and the line before it at %d: sort the operations by return", op.Return, p.last)
	}
	p.last = op.Return
	if err := p.clients.hear(op, p.n); err != nil {
		return p.errorf("%w", err)
	}
	return nil
}
