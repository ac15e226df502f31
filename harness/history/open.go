package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"

	"github.com/doublegrant/doublegrant/harness"
)

// record is one frame of the run's file. Exactly one of Meta, Event, Fault and End is set.
type record struct {
	Meta  *harness.Meta  `json:"meta,omitempty"`
	Event *harness.Event `json:"event,omitempty"`
	Fault *harness.Fault `json:"fault,omitempty"`
	End   *harness.End   `json:"end,omitempty"`
	Ops   int64          `json:"ops,omitempty"` // only if End is set: number of stored operations
}

func (r record) frame(c *compressor) ([]byte, error) {
	b, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	return c.frame(b)
}

// Open opens the history in dir. Its operations are read from disk each time they are ranged over, and several ranges
// may run at once. A history whose writer died is read up to its last complete frame, and has no End. A damaged frame
// or a missing segment is an error that names the file. An error within the operations ends their range.
func Open(dir string) (harness.History, error) {
	h := harness.History{}
	if _, err := os.Stat(filepath.Join(dir, "ops.jsonl.gz")); err == nil {
		return h, fmt.Errorf("history: %s has the format of an older doublegrant: check it with the version that "+
			"wrote it, or run again", dir)
	}
	stored, err := openRun(filepath.Join(dir, runFile), &h)
	if err != nil {
		return h, err
	}
	files, torn, err := segments(dir)
	if err != nil {
		return h, err
	}
	if torn {
		h.End = nil
	}
	if h.End == nil {
		stored = unknown
	}
	h.Ops = func(yield func(harness.Op, error) bool) { readOps(files, stored, yield) }
	return h, nil
}

// openRun reads the run's file. It also returns the number of operations that the file's last record declares.
func openRun(path string, h *harness.History) (stored int64, err error) {
	dec, err := newDecoder()
	if err != nil {
		return 0, fmt.Errorf("history: %w", err)
	}
	defer dec.Close()
	file, f, err := openFrames(path, dec)
	if file != nil {
		defer file.Close()
	}
	switch {
	case errors.Is(err, os.ErrNotExist):
		return 0, fmt.Errorf("history: %s contains no history: %w", filepath.Dir(path), err)
	case errors.Is(err, errTorn):
		return 0, fmt.Errorf("history: %s has no header: the run was cut short before it began", path)
	case err != nil:
		return 0, err
	}
	return readRun(f, h)
}

func readRun(f *frames, h *harness.History) (stored int64, err error) {
	for hasMeta := false; ; {
		raw, err := f.read()
		if errors.Is(err, io.EOF) || errors.Is(err, errTorn) {
			if !hasMeta {
				return 0, fmt.Errorf("history: %s has no header: the run was cut short before it began",
					f.name)
			}
			return stored, nil
		}
		if err != nil {
			return 0, err
		}
		var r record
		if err := json.Unmarshal(raw, &r); err != nil {
			return 0, f.damage("%v", err)
		}
		switch {
		case r.Meta != nil:
			h.Meta, hasMeta = *r.Meta, true
		case r.Event != nil:
			h.Events = append(h.Events, *r.Event)
		case r.Fault != nil:
			h.Faults = harness.WithFault(h.Faults, *r.Fault)
		case r.End != nil:
			h.End, stored = r.End, r.Ops
		}
	}
}

// segments lists the files of operations in dir. It also reports whether the last of them ends inside a frame.
func segments(dir string) (files []string, torn bool, err error) {
	found, err := filepath.Glob(filepath.Join(globEscape(dir), "ops-*.seg"))
	if err != nil {
		return nil, false, fmt.Errorf("history: %w", err)
	}
	for i := range max(1, len(found)) {
		path := filepath.Join(dir, segment(i+1))
		if _, err := os.Stat(path); err != nil {
			return nil, false, fmt.Errorf("history: a segment is missing: %w", err)
		}
		files = append(files, path)
	}
	torn, err = endsTorn(files[len(files)-1])
	return files, torn, err
}

// globEscape returns a pattern that matches only dir itself.
func globEscape(dir string) string {
	var out []rune
	for _, r := range dir {
		switch r {
		case '*', '?', '[', '\\':
			out = append(out, '\\')
		}
		out = append(out, r)
	}
	return string(out)
}

// endsTorn reports whether a file ends inside a frame. It does not unpack frames: any damage within them is found when
// they are read.
func endsTorn(path string) (torn bool, err error) {
	file, f, err := openFrames(path, nil)
	if file != nil {
		defer file.Close()
	}
	for err == nil {
		err = f.readBlock()
	}
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) {
		return false, err
	}
	return errors.Is(err, errTorn), nil
}

// unknown stands for the number of operations of a history without an end.
const unknown = -1

// readOps yields the operations in files. The parameter stored is the number of operations that they must have, or the
// constant unknown.
func readOps(files []string, stored int64, yield func(harness.Op, error) bool) {
	dec, err := newDecoder()
	if err != nil {
		yield(harness.Op{}, fmt.Errorf("history: %w", err))
		return
	}
	defer dec.Close()
	r := reader{decoder: newOpDecoder(), zstd: dec, yield: yield}
	for i, path := range files {
		err := r.segment(path)
		switch {
		case r.stopped:
			return
		case err == nil, errors.Is(err, errTorn) && i == len(files)-1:
		case errors.Is(err, errTorn):
			yield(harness.Op{}, fmt.Errorf("history: %s is damaged: it ends inside a frame although later segments "+
				"exist", path))
			return
		default:
			yield(harness.Op{}, err)
			return
		}
	}
	if stored != unknown && r.n != stored {
		yield(harness.Op{}, fmt.Errorf("history: %d operations were stored and %d were read: some are missing after "+
			"%s", stored, r.n, files[len(files)-1]))
	}
}

// reader yields the operations of one pass.
type reader struct {
	*decoder
	zstd    *zstd.Decoder
	yield   func(harness.Op, error) bool
	n       int64
	stopped bool // the caller ended the range
}

// segment yields the operations of one file. It returns errTorn if the file ends inside a frame.
func (r *reader) segment(path string) error {
	file, f, err := openFrames(path, r.zstd)
	if file != nil {
		defer file.Close()
	}
	if err != nil {
		return err
	}
	return r.frames(f)
}

func (r *reader) frames(f *frames) error {
	for {
		raw, err := f.read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for r.frame(raw); r.more(); r.n++ {
			op, err := r.op()
			if err != nil {
				return f.damage("%v", err)
			}
			if !r.yield(op, nil) {
				r.stopped = true
				return nil
			}
		}
	}
}
