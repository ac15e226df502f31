package history

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/doublegrant/doublegrant/harness"
)

const (
	maxLine = 16 << 20  // the longest line of the text form that is read, in bytes
	atOnce  = 256 << 10 // bytes that are read at once, unless a line is longer
	ahead   = 4         // batches that are read before they are wanted
)

// batch holds what some lines in a row say.
type batch struct {
	head *head // the description of the run; in the first batch only, whether a line gives it or not
	ops  []harness.Op
	line int   // of the first operation, counted from 1
	err  error // of the line after the operations, or of the reader; nothing follows
}

// batches hands over what a reader of the text form has read ahead.
type batches struct {
	next chan batch
	used chan []harness.Op // slices of batches that nobody needs any more, for the next ones
	stop chan struct{}     // closed when no more are wanted
}

// readAhead starts to read r in a goroutine. Errors call it name.
func readAhead(r io.Reader, name string) *batches {
	a := &batches{make(chan batch, ahead), make(chan []harness.Op, ahead), make(chan struct{})}
	go a.read(&lines{r: r, name: name, quick: newQuick(), buf: make([]byte, 0, atOnce)})
	return a
}

func (a *batches) read(l *lines) {
	defer close(a.next)
	for more := true; more; {
		var b batch
		select {
		case b.ops = <-a.used:
		default:
		}
		more = l.next(&b)
		select {
		case a.next <- b:
		case <-a.stop:
			return
		}
	}
}

// reuse takes back the operations of a batch, for the next one.
func (a *batches) reuse(ops []harness.Op) {
	select {
	case a.used <- ops[:0]:
	default:
	}
}

// lines reads the text form line by line.
type lines struct {
	r     io.Reader
	name  string
	n     int // lines that were read
	quick *quickReader
	buf   []byte // bytes that were read and belong to no batch yet
	begun bool   // the head is known
}

// next reads the lines that are there into b, and waits for one at least. more is false after the end and after an error.
func (l *lines) next(b *batch) (more bool) {
	for {
		whole, end, err := l.fill()
		if err == nil && whole == 0 && len(l.buf) >= maxLine {
			l.n++
			err = badLine(l.name, l.n, fmt.Errorf("it is longer than %d bytes: want one operation a line", maxLine))
		}
		if err == nil && whole == 0 && !end {
			continue
		}
		l.batch(l.buf[:whole], b, func() bool { return end || whole == len(l.buf) && l.ended() })
		l.buf = l.buf[:copy(l.buf, l.buf[whole:])]
		if b.err == nil {
			b.err = err
		}
		return b.err == nil && !end
	}
}

// fill reads once more, and returns how many bytes are whole lines. At the end of the input all of them are.
func (l *lines) fill() (whole int, end bool, err error) {
	old := len(l.buf) // the bytes so far hold no end of a line
	if old == cap(l.buf) {
		l.buf = append(make([]byte, 0, min(2*old, maxLine+1)), l.buf...)
	}
	n, err := l.r.Read(l.buf[old:cap(l.buf)])
	l.buf = l.buf[:old+n]
	if i := bytes.LastIndexByte(l.buf[old:], '\n'); i >= 0 {
		whole = old + i + 1
	}
	switch {
	case errors.Is(err, io.EOF):
		return len(l.buf), true, nil
	case err != nil:
		return whole, false, fmt.Errorf("history: read %s: %w", l.name, err)
	}
	return whole, false, nil
}

// ended reports whether there is nothing more to read. It may read a byte, which is lost then.
func (l *lines) ended() bool {
	for next := make([]byte, 1); ; {
		switch n, err := l.r.Read(next); {
		case n > 0:
			return false
		case err != nil:
			return errors.Is(err, io.EOF)
		}
	}
}

// batch parses whole lines into b, up to the first bad one. If the last line breaks off it calls last, which reports
// whether nothing comes after text.
func (l *lines) batch(text []byte, b *batch, last func() bool) {
	b.line = l.n + 1
	for len(text) > 0 && b.err == nil {
		line, rest, _ := bytes.Cut(text, []byte("\n"))
		text = rest
		l.n++
		if b.err = l.line(line, b); b.err != nil {
			if errors.Is(b.err, errBreaksOff) {
				b.err = brokenLine(len(text) == 0 && last())
			}
			b.err = badLine(l.name, l.n, b.err)
		}
	}
}

// brokenLine returns an error that says what to do about a line that breaks off. A history can say that its end is missing, and
// checkers allow for that; a gap in the middle could explain anything.
func brokenLine(last bool) error {
	if last {
		return fmt.Errorf("%w; if the rest is lost, take the line out and say so as cut in the first line", errBreaksOff)
	}
	return fmt.Errorf("%w; a history with a hole in it cannot be judged, nor said to be cut, which is about its end", errBreaksOff)
}

func (l *lines) line(line []byte, b *batch) error {
	if !l.begun {
		l.begun = true
		line = bytes.TrimPrefix(line, []byte("\ufeff")) // which some programs begin files with
		h, is, err := headOf(line, l.name)
		if err != nil {
			return err
		}
		b.head = &h
		if is {
			b.line++
			return nil
		}
	}
	op, ok := l.quick.op(line)
	if !ok {
		var err error
		if op, err = strictOp(line); err != nil {
			return err
		}
	}
	if err := checkOp(op); err != nil {
		return err
	}
	b.ops = append(b.ops, op)
	return nil
}
