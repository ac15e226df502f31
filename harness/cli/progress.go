package cli

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/texttable"
)

// plainEvery is how often progress is printed where there is no terminal.
const plainEvery = 5 * time.Second

// progress shows a run under way: one line that changes on a terminal, a line now and then elsewhere. It goes to
// standard error, so that standard output holds results only.
type progress struct {
	w        io.Writer
	terminal bool
	total    time.Duration // about how long the run takes; 0: not known

	mu    sync.Mutex // found is called by others than show
	last  time.Duration
	fault string
	seen  map[harness.Class]bool
}

func (a *app) newProgress() *progress {
	return &progress{w: a.err, terminal: texttable.Terminal(a.err)}
}

func (p *progress) show(at harness.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	line := fmt.Sprintf("  %4.0fs  %9d ok  %9d refused or failed  %7d unknown  %s",
		at.Elapsed.Seconds(), at.OK, at.Fail, at.Info, at.Fault)
	if at.Found > 0 {
		line = fmt.Sprintf("%s  %d violations", line, at.Found)
	}
	if p.terminal {
		if left := p.total - at.Elapsed; left > 0 {
			line = fmt.Sprintf("%s  about %.0fs left", line, left.Seconds())
		}
		fmt.Fprintf(p.w, "\r\x1b[K%s", line)
		return
	}
	if at.Elapsed-p.last < plainEvery && at.Fault == p.fault {
		return
	}
	p.last, p.fault = at.Elapsed, at.Fault
	fmt.Fprintln(p.w, line)
}

// found prints the first violation of each class as soon as it is found. What is printed here may have another class in
// the end, when all faults are on record.
func (p *progress) found(a harness.Anomaly, at time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.seen[a.Class] {
		return
	}
	if p.seen == nil {
		p.seen = map[harness.Class]bool{}
	}
	p.seen[a.Class] = true
	if p.terminal {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
	fmt.Fprintf(p.w, "  %4.0fs  the first %s: %s\n", at.Seconds(), a.Class, a.Note)
}

// clear removes the line from a terminal.
func (p *progress) clear() {
	if p.terminal {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
