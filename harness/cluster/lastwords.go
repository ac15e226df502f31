package cluster

import (
	"bytes"
	"cmp"
	"regexp"
	"strings"
	"sync"
)

// mostLastWords bounds what is kept of a process's last words, in bytes.
const mostLastWords = 4 << 10

// LastWords keeps the end of what a process writes, for the message about its end. It is the Stderr of a command. The
// zero value has kept nothing.
type LastWords struct {
	mu    sync.Mutex
	kept  []byte
	cause string // the first line that says why a Go program ends; empty: none has come
}

// Write implements io.Writer. It never fails.
func (l *LastWords) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept = append(l.kept, b...)
	if l.cause == "" {
		l.cause = string(ofGo.Find(l.kept))
	}
	l.kept = bytes.Clone(l.kept[max(0, len(l.kept)-mostLastWords):])
	return len(b), nil
}

// ofGo finds a whole line with which a Go program says why it ends. The trace that follows may be long, and name
// errors.
var ofGo = regexp.MustCompile(`(?m)^(?:panic|fatal error): .*\n`)

// String returns ": " and the line that says why the process ended: the first of a Go program's panic, or else the last
// line that names an error, as most languages do for an exception, or else the last line. It is empty if nothing was
// written.
func (l *LastWords) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(l.kept)), "\n")
	last := lines[len(lines)-1]
	for _, line := range lines {
		if strings.Contains(line, "Error") {
			last = line
		}
	}
	last = cmp.Or(l.cause, last)
	if last = strings.TrimSpace(last); last != "" {
		return ": " + last
	}
	return ""
}
