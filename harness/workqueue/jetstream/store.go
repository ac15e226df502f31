package jetstream

import (
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/doublegrant/doublegrant/harness/workqueue"
)

// This file detects that the store of an embedded NATS can no longer be written, for example because its disk is full.
// From then on NATS acknowledges nothing until it is restarted, even if there is room again. It says so only in its
// log.

// storeLog is the log of an embedded NATS. It keeps the first line about an unwritable store, and the first about a
// failed start.
type storeLog struct {
	broken atomic.Pointer[string]
	fatal  atomic.Pointer[string]
}

// brokenStore lists texts with which the log says that the store cannot be written.
var brokenStore = []string{"Critical write error", "out of space", "out of resources"}

// storeLog is a server.Logger.

func (*storeLog) Noticef(string, ...any)             {}
func (*storeLog) Debugf(string, ...any)              {}
func (*storeLog) Tracef(string, ...any)              {}
func (l *storeLog) Warnf(format string, args ...any) { l.Errorf(format, args...) }
func (l *storeLog) Errorf(format string, args ...any) {
	line := strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", " ")
	for _, words := range brokenStore {
		if strings.Contains(line, words) {
			l.broken.CompareAndSwap(nil, &line)
		}
	}
}

func (l *storeLog) Fatalf(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	l.fatal.CompareAndSwap(nil, &line)
	l.Errorf("%s", line)
}

// broken returns an error that wraps workqueue.ErrFull if the store can no longer be written.
func (s *Server) broken() error {
	line := s.log.broken.Load()
	if line == nil {
		return nil
	}
	_, why, _ := strings.Cut(*line, "Critical write error: ")
	if why == "" {
		why = *line
	}
	return notWritten(s.dir, why)
}

// notWritten says that a state folder cannot be written, and what to do.
func notWritten(dir, why string) error {
	return fmt.Errorf("%w: cannot write to the state folder %s: %s: free some space, and run the same command again",
		workqueue.ErrFull, dir, why)
}
