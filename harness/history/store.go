// Package history keeps a run on disk while it goes on, and reads it back as a stream.
//
// A history is a folder with two files: ops.jsonl.gz, one operation a line in order of Return, and run.jsonl, with the
// run's meta data, events, faults and end, one a line, written as they happen.
package history

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/doublegrant/doublegrant/harness"
)

const (
	opsFile = "ops.jsonl.gz"
	runFile = "run.jsonl"
)

// line is one line of run.jsonl: exactly one field is set.
type line struct {
	Meta  *harness.Meta  `json:"meta,omitempty"`
	Event *harness.Event `json:"event,omitempty"`
	Fault *harness.Fault `json:"fault,omitempty"`
	End   *harness.End   `json:"end,omitempty"`
}

// Store writes a history into a folder. It is a harness.Store.
type Store struct {
	dir string

	run  *os.File
	runJ *json.Encoder

	ops  *os.File
	gz   *gzip.Writer
	buf  *bufio.Writer
	opsJ *json.Encoder
}

var _ harness.Store = (*Store)(nil)

// Create makes the folder dir and an empty history in it. It refuses a folder that holds one.
func Create(dir string) (*Store, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	run, err := newFile(filepath.Join(dir, runFile))
	if err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	ops, err := newFile(filepath.Join(dir, opsFile))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("history: %w", err), run.Close())
	}
	s := &Store{dir: dir, run: run, runJ: json.NewEncoder(run), ops: ops}
	s.gz, err = gzip.NewWriterLevel(ops, gzip.BestSpeed)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("history: %w", err), run.Close(), ops.Close())
	}
	s.buf = bufio.NewWriterSize(s.gz, 64<<10)
	s.opsJ = json.NewEncoder(s.buf)
	return s, nil
}

func newFile(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
}

// WriteMeta writes what the run is.
func (s *Store) WriteMeta(m harness.Meta) error { return s.runJ.Encode(line{Meta: &m}) }

// WriteEvent writes an event at once.
func (s *Store) WriteEvent(e harness.Event) error { return s.runJ.Encode(line{Event: &e}) }

// WriteFault writes a fault at once.
func (s *Store) WriteFault(f harness.Fault) error { return s.runJ.Encode(line{Fault: &f}) }

// WriteEnd writes why and when the run ended.
func (s *Store) WriteEnd(e harness.End) error { return s.runJ.Encode(line{End: &e}) }

// WriteOps appends operations, through a buffer.
func (s *Store) WriteOps(ops []harness.Op) error {
	for i := range ops {
		if err := s.opsJ.Encode(&ops[i]); err != nil {
			return err
		}
	}
	return nil
}

// Close writes what is buffered and closes the files.
func (s *Store) Close() error {
	return errors.Join(s.buf.Flush(), s.gz.Close(), s.ops.Close(), s.run.Close())
}

// History reads the folder back.
func (s *Store) History() (harness.History, error) { return Open(s.dir) }

// Open reads the history in dir. Its operations are read from disk each time they are ranged over. A history whose
// writer died is read up to its last complete line, and has no End.
func Open(dir string) (harness.History, error) {
	h := harness.History{Ops: func(yield func(harness.Op, error) bool) { readOps(filepath.Join(dir, opsFile), yield) }}
	f, err := os.Open(filepath.Join(dir, runFile))
	if err != nil {
		return h, fmt.Errorf("history: %s holds none: %w", dir, err)
	}
	defer f.Close()
	if err := readRun(f, &h); err != nil {
		return h, fmt.Errorf("history: %s: %w", f.Name(), err)
	}
	if h.Meta.Workers == 0 {
		return h, fmt.Errorf("history: %s does not say what was run", f.Name())
	}
	return h, nil
}

func readRun(r io.Reader, h *harness.History) error {
	dec := json.NewDecoder(r)
	for n := 1; ; n++ {
		var l line
		err := dec.Decode(&l)
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return nil
		case err != nil:
			return fmt.Errorf("record %d: %w", n, err)
		case l.Meta != nil:
			h.Meta = *l.Meta
		case l.Event != nil:
			h.Events = append(h.Events, *l.Event)
		case l.Fault != nil:
			h.Faults = append(h.Faults, *l.Fault)
		case l.End != nil:
			h.End = l.End
		}
	}
}

// readOps yields the operations in path. A file that breaks off ends the range without an error: the missing End of the
// history says that it is cut short.
func readOps(path string, yield func(harness.Op, error) bool) {
	fail := func(err error) { yield(harness.Op{}, fmt.Errorf("history: %s: %w", path, err)) }
	f, err := os.Open(path)
	if err != nil {
		fail(err)
		return
	}
	defer f.Close()
	gz, err := gzip.NewReader(bufio.NewReaderSize(f, 64<<10))
	if err != nil {
		if !cutShort(err) {
			fail(err)
		}
		return
	}
	dec := json.NewDecoder(gz)
	for n := 1; ; n++ {
		var op harness.Op
		if err := dec.Decode(&op); err != nil {
			if !cutShort(err) {
				fail(fmt.Errorf("operation %d: %w", n, err))
			}
			return
		}
		if !yield(op, nil) {
			return
		}
	}
}

func cutShort(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }
