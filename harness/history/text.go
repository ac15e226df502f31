package history

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/doublegrant/doublegrant/harness"
)

// ErrText marks errors about a text that is not a history. The messages name the line, unless the text has no
// operations.
var ErrText = errors.New("not a history")

// Print writes h in the text form: a first line that describes the run, then one operation a line. It stops at the
// first error.
func Print(w io.Writer, h harness.History) error {
	b := bufio.NewWriterSize(w, 64<<10)
	out := json.NewEncoder(b)
	out.SetEscapeHTML(false)
	first := head{Schema: schema, Kind: headKind, Meta: &h.Meta, Faults: h.Faults}
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

// Parse reads a history as [ParseEach] does, and accepts every operation.
func Parse(r io.Reader, name, dir string) (harness.History, error) {
	return ParseEach(r, name, dir, func(harness.Op) error { return nil })
}

// ParseEach reads a history in the text form from r. It stores the history in dir, so that it can be ranged over more
// than once. Error messages call r by the given name. ParseEach passes every operation, in order, to the given
// function. An error of that function becomes an error about the operation's line. Memory grows with the number of
// clients and of the locks that they hold, not with the number of operations. The history's End is at the last Return,
// and its Reason is the text's field cut, or empty. Errors about the text wrap ErrText.
func ParseEach(r io.Reader, name, dir string, each func(harness.Op) error) (harness.History, error) {
	store, err := create(dir, zstd.SpeedFastest) // callers read it soon and do not keep it
	if err != nil {
		return harness.History{}, err
	}
	p := parser{name: name, store: store, each: each}
	if err := errors.Join(p.read(r), store.Close()); err != nil {
		return harness.History{}, err
	}
	return store.History()
}

// parser checks that operations can follow each other, and stores them.
type parser struct {
	name       string
	store      *Store
	each       func(harness.Op) error
	ops        int
	lastReturn time.Duration
	cut        string
	clients    *clients
}

// read processes the lines of r, in batches. It returns the error of the first bad line.
func (p *parser) read(r io.Reader) error {
	l := newLines(r, p.name)
	var ops []harness.Op // each batch reuses the slice of the one before
	for more := true; more; {
		b := batch{ops: ops[:0]}
		more = l.next(&b)
		if err := p.batch(b); err != nil {
			return err
		}
		ops = b.ops
	}
	if p.ops == 0 {
		return fmt.Errorf("%s: %w: it has no operations: write one a line, as JSON",
			p.name, ErrText)
	}
	return p.store.WriteEnd(harness.End{At: p.lastReturn, Reason: p.cut})
}

func (p *parser) batch(b batch) error {
	if b.head != nil {
		if err := p.begin(*b.head); err != nil {
			return err
		}
	}
	for i, op := range b.ops {
		if err := p.op(op, b.line+i); err != nil {
			return badLine(p.name, b.line+i, err)
		}
	}
	p.ops += len(b.ops)
	return errors.Join(p.store.WriteOps(b.ops), b.err)
}

func (p *parser) begin(h head) error {
	p.cut, p.clients = h.Cut, newClients(*h.Meta)
	err := p.store.WriteMeta(*h.Meta)
	for _, f := range h.Faults {
		err = errors.Join(err, p.store.WriteFault(f))
	}
	return err
}

// op passes an operation to p.each. It returns an error if the operation cannot follow the operations before it.
// Operations have to be in order of Return. A client does one thing at a time, and its id does not appear again after
// an info.
func (p *parser) op(op harness.Op, line int) error {
	if op.Return < p.lastReturn {
		return fmt.Errorf("it returned at %d, before the previous line's %d: sort the operations by return", op.Return,
			p.lastReturn)
	}
	p.lastReturn = op.Return
	if err := p.clients.checkNext(op, line); err != nil {
		return err
	}
	return p.each(op)
}

func badLine(name string, line int, err error) error {
	return fmt.Errorf("%s, line %d: %w: %w", name, line, ErrText, err)
}
