package cluster

import (
	"bytes"
	"cmp"
	"regexp"
	"strings"
	"sync"
)

// mostLastWords bounds how many bytes of a process's output are kept.
const mostLastWords = 4 << 10

// LastWords keeps the end of a process's output, for the message about the process's end. Use it as the Stderr of a
// command. The zero value is empty.
type LastWords struct {
	mu    sync.Mutex
	kept  []byte
	cause string // the first line that says why a Go program ends; empty: none yet
}

// Write implements io.Writer. It never fails.
func (l *LastWords) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept = append(l.kept, b...)
	if l.cause == "" {
		l.cause = string(goPanicLine.Find(l.kept))
	}
	l.kept = bytes.Clone(l.kept[max(0, len(l.kept)-mostLastWords):])
	return len(b), nil
}

// goPanicLine finds the line in which a Go program says why it ends. The stack trace after that line may be long, and
// may contain the word Error.
var goPanicLine = regexp.MustCompile(`(?m)^(?:panic|fatal error): .*\n`)

// String returns ": " and the line that says why the process ended: the first line of a Go panic, else the last line
// that contains "Error", as exceptions of most languages do, else the last line. The result is empty if nothing was
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
