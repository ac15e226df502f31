package cli

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// plainEvery is how often progress is printed where there is no terminal.
const plainEvery = 5 * time.Second

// progress shows a run under way: one line that changes on a terminal, a line now and then elsewhere. It goes to
// standard error, so that standard output holds results only.
type progress struct {
	w        io.Writer
	terminal bool
	last     time.Duration
	fault    string
}

func (a *app) newProgress() *progress {
	f, ok := a.err.(*os.File)
	if !ok {
		return &progress{w: a.err}
	}
	info, err := f.Stat()
	return &progress{w: a.err, terminal: err == nil && info.Mode()&os.ModeCharDevice != 0}
}

func (p *progress) show(at harness.Progress) {
	line := fmt.Sprintf("  %4.0fs  %9d ok  %9d refused or failed  %7d unknown  %s",
		at.Elapsed.Seconds(), at.OK, at.Fail, at.Info, at.Fault)
	if p.terminal {
		fmt.Fprintf(p.w, "\r\x1b[K%s", line)
		return
	}
	if at.Elapsed-p.last < plainEvery && at.Fault == p.fault {
		return
	}
	p.last, p.fault = at.Elapsed, at.Fault
	fmt.Fprintln(p.w, line)
}

// clear removes the line from a terminal.
func (p *progress) clear() {
	if p.terminal {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
