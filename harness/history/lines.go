package history

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/units"
)

const (
	maxLine  = 16 << 20  // longest line of the text form, in bytes
	readSize = 256 << 10 // bytes of one read, unless a line is longer
)

// batch holds the content of some consecutive lines.
type batch struct {
	head *head // description of the run, from the text or by default; only in the first batch
	ops  []harness.Op
	line int   // number of the first operation's line, counted from 1
	err  error // error of the line after the operations, or of the reader; set only in the last batch
}

// lines reads the text form in batches of whole lines.
type lines struct {
	r        io.Reader
	name     string
	n        int // number of lines read so far
	quick    *quickReader
	buf      []byte // bytes that were read and are in no batch yet
	headRead bool   // the first line has been read
}

// newLines returns the lines of r. Error messages call r by the given name.
func newLines(r io.Reader, name string) *lines {
	return &lines{r: r, name: name, quick: newQuick(), buf: make([]byte, 0, readSize)}
}

// next puts the available lines into b, and waits for at least one line. It returns false after the end and after an
// error.
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
		l.batch(l.buf[:whole], b, func() bool { return end || whole == len(l.buf) && l.atEOF() })
		l.buf = l.buf[:copy(l.buf, l.buf[whole:])]
		if b.err == nil {
			b.err = err
		}
		return b.err == nil && !end
	}
}

// fill reads from the input once. It returns how many bytes of the buffer are whole lines, and whether the input is at
// its end. At the end, all bytes count as whole lines.
func (l *lines) fill() (whole int, end bool, err error) {
	old := len(l.buf) // there is no line end before this
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

// atEOF reports whether the input is at its end. It may drop a byte of the input, so nothing can be read after it.
func (l *lines) atEOF() bool {
	for next := make([]byte, 1); ; {
		switch n, err := l.r.Read(next); {
		case n > 0:
			return false
		case err != nil:
			return errors.Is(err, io.EOF)
		}
	}
}

// batch parses the lines of a text into b, up to the first bad line. If that line is truncated and is the last of the
// text, batch calls the given function, which reports whether the input ends there, too.
func (l *lines) batch(text []byte, b *batch, last func() bool) {
	b.line = l.n + 1
	for len(text) > 0 && b.err == nil {
		line, rest, _ := bytes.Cut(text, []byte("\n"))
		text = rest
		l.n++
		if b.err = l.line(line, b); b.err != nil {
			if errors.Is(b.err, errTruncated) {
				b.err = brokenLine(len(line), len(text) == 0 && last())
			}
			b.err = badLine(l.name, l.n, b.err)
		}
	}
}

// brokenLine returns an error that says what to do about a line that breaks off after length bytes. If it is the last
// line, the history can declare that its end is missing, and checkers allow for that. A gap in the middle could explain
// any result, so a history with a gap is refused.
func brokenLine(length int, last bool) error {
	if last {
		return fmt.Errorf("%w after %s: want one JSON object a line; if the rest is lost, remove the line and give "+
			`the reason in the first line: {"cut":"the disk was full"}`, errTruncated, inBytes(length))
	}
	return fmt.Errorf("%w after %s: want one JSON object a line; a history with a gap cannot be judged, and cut is "+
		"only for a missing end", errTruncated, inBytes(length))
}

func inBytes(n int) string { return units.Plural(int64(n), "byte", "bytes") }

func (l *lines) line(line []byte, b *batch) error {
	if !l.headRead {
		l.headRead = true
		line = bytes.TrimPrefix(line, []byte("\ufeff")) // the byte-order mark that some programs write first
		h, isHead, err := headOf(line, l.name)
		if err != nil {
			return err
		}
		b.head = &h
		if isHead {
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
