package outside

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// longestLog bounds what is kept of a process's standard error, in bytes: a library may log each connection that a fault breaks.
var longestLog = 1 << 20

// errorLog is the file of what one process writes to its standard error.
type errorLog struct {
	file *os.File

	mu      sync.Mutex
	kept    int // bytes
	leftOut int // lines
}

// openLog opens the file for what a process writes to its standard error. It returns nil if dir is empty.
func openLog(dir, name string) (*errorLog, error) {
	if dir == "" {
		return nil, nil
	}
	file, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	return &errorLog{file: file}, nil
}

// Write keeps what there is room for, to the end of its line.
func (l *errorLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	keep := b
	switch {
	case l.leftOut > 0 || l.kept >= longestLog:
		keep = nil
	case l.kept+len(b) > longestLog:
		keep = b[:longestLog-l.kept]
		if end := bytes.IndexByte(b[len(keep):], '\n'); end >= 0 {
			keep = b[:len(keep)+end+1]
		}
	}
	l.kept += len(keep)
	l.leftOut += bytes.Count(b[len(keep):], []byte("\n"))
	if _, err := l.file.Write(keep); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Close closes the file, and says in its last line how much was left out.
func (l *errorLog) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.leftOut > 0 {
		fmt.Fprintf(l.file, "... and %d lines more, which were left out\n", l.leftOut) // as far as there is room
	}
	return l.file.Close()
}
