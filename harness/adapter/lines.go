package adapter

import (
	"encoding/json"
	"io"
	"runtime"
	"sync"
)

// lines writes lines to a process from many goroutines. Lines that come at the same time are written together, so that
// they wake the process once. The zero value is ready.
type lines struct {
	mu      sync.Mutex
	writing bool   // a goroutine is writing, and will also write the waiting lines
	waiting []byte // lines that are not written yet
	spare   []byte // the next buffer for waiting lines
}

// write passes a line to a process, or leaves it to a goroutine that is already writing. If the parameter others is
// true, other goroutines run first, so that one write takes all their lines. Errors are ignored: a process that has
// closed its input is about to end, and the process's output tells why.
func (l *lines) write(to io.Writer, line []byte, others bool) {
	if !l.add(line) {
		return
	}
	if others {
		runtime.Gosched()
	}
	for some := l.take(); some != nil; some = l.take() {
		_, _ = to.Write(some)
	}
}

// add appends a line to the waiting lines. It returns true if no goroutine is writing, so that the caller has to write
// them.
func (l *lines) add(line []byte) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = append(l.waiting, line...)
	first := !l.writing
	l.writing = true
	return first
}

// take returns the waiting lines to the goroutine that writes. They are valid until the next call of take. If no line
// waits, take returns nil, and that goroutine stops writing.
func (l *lines) take() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) == 0 {
		l.writing = false
		return nil
	}
	some := l.waiting
	l.waiting, l.spare = l.spare[:0], some
	return some
}

// send sends a request and returns the channel on which its answers come.
func (c *process) send(r request) (chan answer, error) {
	answers, others, err := c.register(&r)
	if err == nil {
		c.write(r, others)
	}
	return answers, err
}

// register makes the channel for the answers to r, and gives r the next id. A request for a thread keeps the thread's
// id. The second result says whether further requests wait for answers.
func (c *process) register(r *request) (answers chan answer, others bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.why != nil {
		return nil, false, c.why
	}
	if r.ID == 0 {
		c.asked++
		r.ID = c.asked
	}
	answers = make(chan answer, 1)
	c.waiting[r.ID] = answers
	if c.begun && c.clock != nil {
		c.over = make(chan struct{})
	}
	return answers, len(c.waiting) > 1, nil
}

// write writes a request to the process. For the argument others see lines.write.
func (c *process) write(r request, others bool) {
	line, _ := json.Marshal(r) // of strings and numbers
	c.lines.write(c.in, append(line, '\n'), others)
}
