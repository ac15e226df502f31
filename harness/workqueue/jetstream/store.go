package jetstream

import (
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/doublegrant/doublegrant/harness/workqueue"
)

// This file tells that the store of an own NATS cannot be written any more, as when its disk is full. From then on NATS
// acknowledges nothing, also when there is room again, until it is started anew. It tells so in its log alone.

// storeLog is the log of an own NATS. It keeps the first line about a store that cannot be written, and the first about
// a server that cannot begin.
type storeLog struct {
	broken atomic.Pointer[string]
	fatal  atomic.Pointer[string]
}

// brokenStore lists what such lines have.
var brokenStore = []string{"Critical write error", "out of space", "out of resources"}

// Errorf is server.Logger's.
func (l *storeLog) Errorf(format string, args ...any) {
	line := strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", " ")
	for _, words := range brokenStore {
		if strings.Contains(line, words) {
			l.broken.CompareAndSwap(nil, &line)
		}
	}
}

// Fatalf is server.Logger's.
func (l *storeLog) Fatalf(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	l.fatal.CompareAndSwap(nil, &line)
	l.Errorf("%s", line)
}

// Warnf is server.Logger's.
func (l *storeLog) Warnf(format string, args ...any) { l.Errorf(format, args...) }

// Noticef is server.Logger's.
func (*storeLog) Noticef(string, ...any) {}

// Debugf is server.Logger's.
func (*storeLog) Debugf(string, ...any) {}

// Tracef is server.Logger's.
func (*storeLog) Tracef(string, ...any) {}

// broken returns an error that wraps workqueue.ErrFull if the store cannot be written any more.
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
	return fmt.Errorf("%w: the state folder %s cannot be written: %s: make room, and give the same command again",
		workqueue.ErrFull, dir, why)
}
