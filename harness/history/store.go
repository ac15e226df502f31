package history

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/doublegrant/doublegrant/harness"
)

const (
	runFile     = "run.seg"
	reserveFile = "reserve"
	segmentName = "ops-%06d.seg"

	frameEvery  = 50 * time.Millisecond // longest time that an operation waits to be written
	frameAt     = 512 << 10             // bytes of operations, before compression, that are written without waiting
	segmentSize = 64 << 20              // maximum bytes of a segment with more than one frame
)

// ErrFull says that the disk is full. What was stored earlier can be read. The space that the store had reserved for
// the end of the run is free again.
var ErrFull = errors.New("no space left on the disk: free some, or put the results on another disk")

// Store writes a history into a folder. It implements harness.Store. WriteOps may be called while another method runs.
// The other Write methods must be called one after the other.
type Store struct {
	dir       string
	run       *file
	runFrames *compressor // makes the frames of the run's file

	mu         sync.Mutex // guards the fields below, since a timer writes frames too
	ops        *file
	segment    int   // number of the current segment, from 1
	maxSegment int64 // largest size of a segment, in bytes
	frames     *compressor
	enc        *encoder
	timer      *time.Timer // nil: no operations are waiting
	oldest     time.Time   // when the oldest waiting operation arrived
	stored     int64       // number of operations in segments
	err        error       // first error of writing a segment; after it no segment is written
	reported   bool        // err was returned to a caller
	closed     bool
}

var _ harness.Store = (*Store)(nil)

// Create makes the folder dir and an empty history in it. It refuses a folder that already has a history. The error
// wraps ErrFull if the disk has no room for the reserve, which is kept for the end of the run.
func Create(dir string) (*Store, error) {
	s, err := create(dir, zstd.SpeedDefault)
	if isDiskFull(err) {
		return nil, fmt.Errorf("%w (%w)", ErrFull, err)
	}
	if err != nil {
		return nil, err
	}
	if err := newReserve(s.path(reserveFile)); err != nil {
		s.releaseReserve()
		return nil, errors.Join(fmt.Errorf("history: keep space for the end of the run: %w", err), s.run.remove(),
			s.ops.remove())
	}
	return s, nil
}

// create makes a store without a reserve. The parameter level is the compression of its segments.
func create(dir string, level zstd.EncoderLevel) (s *Store, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	s = &Store{dir: dir, enc: newEncoder(), segment: 1, maxSegment: segmentSize}
	if s.runFrames, err = newCompressor(zstd.SpeedDefault); err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	if s.frames, err = newCompressor(level); err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	if s.run, err = newFile(s.path(runFile)); err != nil {
		return nil, err
	}
	if s.ops, err = newFile(s.path(segment(1))); err != nil {
		return nil, errors.Join(err, s.run.remove())
	}
	return s, nil
}

func (s *Store) path(name string) string { return filepath.Join(s.dir, name) }

func segment(n int) string { return fmt.Sprintf(segmentName, n) }

// WriteMeta writes the description of the run.
func (s *Store) WriteMeta(m harness.Meta) error { return s.write(record{Meta: &m}) }

// WriteEvent writes an event immediately.
func (s *Store) WriteEvent(e harness.Event) error { return s.write(record{Event: &e}) }

// WriteFault writes a fault immediately. A later fault with the same Number replaces it when the history is read.
func (s *Store) WriteFault(f harness.Fault) error { return s.write(record{Fault: &f}) }

// WriteEnd writes the waiting operations and the end of the run. If operations were lost and e has no reason, WriteEnd
// adds one.
func (s *Store) WriteEnd(e harness.End) error {
	s.mu.Lock()
	s.flush()
	if s.err != nil && e.Reason == "" {
		e.Reason = s.err.Error()
	}
	stored, lost := s.stored, s.takeError()
	s.mu.Unlock()
	return errors.Join(lost, s.write(record{End: &e, Ops: stored}))
}

// takeError returns the error of the segments, or nil if an earlier call has returned it. The caller holds s.mu.
func (s *Store) takeError() error {
	if s.reported || s.err == nil {
		return nil
	}
	s.reported = true
	return s.err
}

// write adds a record to the run's file. If the disk is full, it releases the reserve and tries again. If the second
// try succeeds, write still returns ErrFull, so that the run ends; it returns nil only for the record of the run's end.
func (s *Store) write(r record) error {
	frame, err := r.frame(s.runFrames)
	if err != nil {
		return err
	}
	if err = s.run.add(frame); !isDiskFull(err) {
		return err
	}
	s.releaseReserve()
	if again := s.run.add(frame); again != nil {
		return fmt.Errorf("%w (%w)", ErrFull, again)
	}
	if r.End != nil {
		return nil
	}
	return ErrFull
}

// WriteOps stores operations, without keeping the slice ops. After at most 50 ms they are passed to the kernel. If
// writing fails, this call or the next returns the error, and so does every later call: no further operation is stored.
// After Close the error wraps os.ErrClosed.
func (s *Store) WriteOps(ops []harness.Op) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return fmt.Errorf("history: %w", os.ErrClosed)
	}
	var refused error
	for i := range ops {
		if refused = s.enc.add(&ops[i]); refused != nil {
			break // the operations before it are written
		}
		if len(s.enc.buf) >= frameAt {
			s.flush()
		}
	}
	switch {
	case s.enc.n == 0:
	case s.timer == nil:
		s.oldest, s.timer = time.Now(), time.AfterFunc(frameEvery, s.flushDue)
	case time.Since(s.oldest) >= frameEvery: // the timer is late, as on a busy machine
		s.flush()
	}
	if s.err != nil {
		s.reported = true
	}
	return errors.Join(refused, s.err)
}

// flushDue writes the waiting operations when the timer fires.
func (s *Store) flushDue() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flush()
}

// flush writes the waiting operations as one frame. The caller holds s.mu.
func (s *Store) flush() {
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
	if s.enc.n > 0 && s.err == nil && !s.closed {
		if s.err = s.flushFrame(); isDiskFull(s.err) {
			s.releaseReserve()
			_ = s.flushFrame() // a second try: callers may have been told that these are stored
			s.err = fmt.Errorf("%w (%w)", ErrFull, s.err)
		}
	}
	s.enc.reset()
}

func (s *Store) flushFrame() error {
	frame, err := s.frames.frame(s.enc.buf)
	if err != nil {
		return err
	}
	if s.ops.size > int64(len(magic)) && s.ops.size+int64(len(frame)) > s.maxSegment {
		if err := s.rotate(); err != nil {
			return err
		}
	}
	if err := s.ops.add(frame); err != nil {
		return err
	}
	s.stored += int64(s.enc.n)
	return nil
}

// rotate starts the next segment.
func (s *Store) rotate() error {
	next, err := newFile(s.path(segment(s.segment + 1)))
	if err != nil {
		return err
	}
	old := s.ops
	s.ops, s.segment = next, s.segment+1
	return old.Close()
}

// releaseReserve removes the reserve, if it is still there.
func (s *Store) releaseReserve() {
	_ = os.Remove(s.path(reserveFile)) // a full disk allows nothing better
}

// Close writes the waiting operations, removes the reserve and closes the files. A second call does nothing.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.flush()
	s.closed = true
	s.releaseReserve()
	return errors.Join(s.takeError(), s.ops.Close(), s.run.Close())
}

// History opens the stored history, as Open does.
func (s *Store) History() (harness.History, error) { return Open(s.dir) }

// file is a file that only grows, by whole frames.
type file struct {
	*os.File
	size int64
}

func newFile(path string) (*file, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	out := &file{File: f}
	if err := out.add([]byte(magic)); err != nil {
		return nil, errors.Join(err, out.remove()) // the next try finds none
	}
	return out, nil
}

// remove closes and deletes the file.
func (f *file) remove() error { return errors.Join(f.Close(), os.Remove(f.Name())) }

// add appends b in one write. If that fails, it cuts the file back to the size it had before.
func (f *file) add(b []byte) error {
	if _, err := f.WriteAt(b, f.size); err != nil {
		return errors.Join(fmt.Errorf("history: %w", err), f.Truncate(f.size))
	}
	f.size += int64(len(b))
	return nil
}
