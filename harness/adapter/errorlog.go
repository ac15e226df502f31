package adapter

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// longestLog is how many bytes of a process's standard error are kept. There may be far more: some libraries log each
// connection that a fault breaks.
var longestLog = 1 << 20

// errorLog is the file for the standard error of one process.
type errorLog struct {
	file *os.File

	mu      sync.Mutex
	kept    int  // number of bytes kept
	leftOut int  // number of bytes left out
	inLine  bool // the bytes that are kept end in the middle of a line
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

// Write writes b to the file. Once the file has longestLog bytes, Write leaves b out and counts its bytes.
func (l *errorLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.kept >= longestLog {
		l.leftOut += len(b)
		return len(b), nil
	}
	l.kept += len(b)
	l.inLine = !bytes.HasSuffix(b, []byte("\n"))
	if _, err := l.file.Write(b); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Close closes the file. If Write has left bytes out, the file's last line says how many.
func (l *errorLog) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.leftOut > 0 {
		if l.inLine {
			fmt.Fprintln(l.file)
		}
		fmt.Fprintf(l.file, "... and %d bytes more, which were left out\n", l.leftOut) // as far as there is room
	}
	return l.file.Close()
}
