package cluster

import (
	"bytes"
	"regexp"
	"strings"
	"sync"
)

// mostLastWords bounds what is kept of a process's last words, in bytes.
const mostLastWords = 4 << 10

// LastWords keeps the end of what a process writes, for the message about its end. It is the Stderr of a command. The zero value has
// kept nothing.
type LastWords struct {
	mu   sync.Mutex
	kept []byte
}

// Write implements io.Writer. It never fails.
func (l *LastWords) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept = append(l.kept, b...)
	l.kept = bytes.Clone(l.kept[max(0, len(l.kept)-mostLastWords):])
	return len(b), nil
}

// namesError finds a line that says why a process ends: an exception of most languages, or a panic of Go's.
var namesError = regexp.MustCompile(`Error|^panic: |^fatal error: `)

// String returns ": " and the last line that names an error, or else the last line. It is empty if nothing was written.
func (l *LastWords) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(l.kept)), "\n")
	last := lines[len(lines)-1]
	for _, line := range lines {
		if namesError.MatchString(line) {
			last = line
		}
	}
	if last = strings.TrimSpace(last); last != "" {
		return ": " + last
	}
	return ""
}
