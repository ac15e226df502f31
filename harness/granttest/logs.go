package granttest

import (
	"bytes"
	"io"
	"log"
	"sync"

	"github.com/doublegrant/doublegrant/harness/units"
)

// This file keeps what the code under test logs from flooding the output: a library that logs each lost connection does so in every schedule
// with a crash. What goes to package log, and to package slog as it is by default, is bounded while a test runs.

// mostLogged is the number of lines that are let through.
const mostLogged = 20

// fewLines lets the first lines through, and counts the others.
type fewLines struct {
	to io.Writer

	mu            sync.Mutex
	passed, stays int
	over          bool // no test bounds it any more, and somebody may still write to it
}

// Write implements io.Writer.
func (f *fewLines) Write(b []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for line := range bytes.Lines(b) {
		if f.passed == mostLogged && !f.over {
			f.stays++
			continue
		}
		f.passed++
		if _, err := f.to.Write(line); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

// letThrough ends the bound.
func (f *fewLines) letThrough() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.over = true
}

// leftOut returns the number of lines that were not let through.
func (f *fewLines) leftOut() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stays
}

// bounded is the log of this process while tests bound it. Those that run side by side share it.
var bounded struct {
	mu    sync.Mutex
	tests int
	lines *fewLines
}

// boundLog bounds the log of this process until end is called, which says how many lines were left out meanwhile.
func boundLog(t TB) (end func()) {
	bounded.mu.Lock()
	defer bounded.mu.Unlock()
	if bounded.tests++; bounded.tests == 1 {
		bounded.lines = &fewLines{to: log.Writer()}
		log.SetOutput(bounded.lines)
	}
	lines, before := bounded.lines, bounded.lines.leftOut()
	return func() {
		t.Helper()
		bounded.mu.Lock()
		defer bounded.mu.Unlock()
		if bounded.tests--; bounded.tests == 0 {
			lines.letThrough()
			if log.Writer() == lines { // nobody has changed it meanwhile
				log.SetOutput(lines.to)
			}
		}
		if n := lines.leftOut() - before; n > 0 {
			t.Logf("%s lines of package log were left out, after the first %d", units.Count(int64(n)), mostLogged)
		}
	}
}
