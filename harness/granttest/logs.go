package granttest

import (
	"bytes"
	"io"
	"log"
	"sync"

	"github.com/doublegrant/doublegrant/harness/units"
)

// This file keeps logs of the code under test from flooding the output. A library may log each lost connection, and
// every schedule with a crash has some. While a test runs, output to package log, and to package slog by default, is
// bounded.

// mostLogged is the number of lines that reach the log. The others are only counted.
const mostLogged = 20

// limitedWriter passes the first lines on, and counts the others.
type limitedWriter struct {
	to io.Writer

	mu              sync.Mutex
	passed, dropped int
	unbounded       bool // every line is passed on, since no test is running; the writer may still be in use
}

// Write implements io.Writer.
func (f *limitedWriter) Write(b []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for line := range bytes.Lines(b) {
		if f.passed == mostLogged && !f.unbounded {
			f.dropped++
			continue
		}
		f.passed++
		if _, err := f.to.Write(line); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

func (f *limitedWriter) removeBound() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.unbounded = true
}

func (f *limitedWriter) droppedLines() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.dropped
}

// bounded is this process's log while tests run. Parallel tests share it.
var bounded struct {
	mu    sync.Mutex
	tests int
	lines *limitedWriter
}

// boundLog bounds this process's log until the returned function is called, which logs how many lines were dropped in
// the meantime.
func boundLog(t TB) (end func()) {
	bounded.mu.Lock()
	defer bounded.mu.Unlock()
	if bounded.tests++; bounded.tests == 1 {
		bounded.lines = &limitedWriter{to: log.Writer()}
		log.SetOutput(bounded.lines)
	}
	lines, before := bounded.lines, bounded.lines.droppedLines()
	return func() {
		t.Helper()
		bounded.mu.Lock()
		defer bounded.mu.Unlock()
		if bounded.tests--; bounded.tests == 0 {
			lines.removeBound()
			if log.Writer() == lines { // unless somebody else has replaced it
				log.SetOutput(lines.to)
			}
		}
		if n := lines.droppedLines() - before; n > 0 {
			t.Logf("%s lines of package log were left out, after the first %d", units.Count(int64(n)), mostLogged)
		}
	}
}
