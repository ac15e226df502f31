package cli

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/explore"
	"github.com/doublegrant/doublegrant/harness/units"
)

// plainEvery is the time between two lines of progress without a terminal.
const plainEvery = 5 * time.Second

// progress shows the progress of a run: beside the bar on a terminal, otherwise in a line every plainEvery. It goes to
// standard error, so that standard output has only results.
type progress struct {
	w *screen

	mu    sync.Mutex // needed because different goroutines call the methods found and show
	last  time.Duration
	fault string
	seen  bool // whether a violation was printed
}

func (a *app) newProgress() *progress { return &progress{w: a.err} }

func (p *progress) show(at harness.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	violations := ""
	if at.Violations > 0 {
		violations = fmt.Sprintf("  %s violations", units.Count(at.Violations))
	}
	if p.w.say(strings.TrimSpace(fmt.Sprintf("%s ok%s  %s", units.Count(at.OK), violations, at.Fault))) {
		return
	}
	if at.Elapsed-p.last < plainEvery && at.Fault == p.fault {
		return
	}
	p.last, p.fault = at.Elapsed, at.Fault
	fmt.Fprintf(p.w, "  %4.0fs  %9d ok  %9d refused or failed  %7d unknown  %s%s\n",
		at.Elapsed.Seconds(), at.OK, at.Fail, at.Info, at.Fault, violations)
}

// found prints the first violation as soon as it is found, without its class: operations and faults that are recorded
// later may change the class.
func (p *progress) found(a harness.Anomaly, at time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.seen {
		return
	}
	p.seen = true
	note, _, _ := strings.Cut(a.Note, "; ") // what follows says what caused it
	fmt.Fprintf(p.w, "  %4.0fs  the first violation: %s\n", at.Seconds(), note)
}

// searchProgress returns a function that shows the progress of a search: beside the bar on a terminal, otherwise in a
// line every plainEvery.
func (a *app) searchProgress() func(explore.Progress) {
	last := time.Now()
	return func(p explore.Progress) {
		if a.err.say(searchLine(p)) || time.Since(last) < plainEvery {
			return
		}
		last = time.Now()
		fmt.Fprintf(a.err, "  schedules: %s\n", searchLine(p))
	}
}

// searchLine counts the schedules of a search: "12,345 run, 67 planned, 2 found, part 2 of 4, 89 pruned". The most
// important counts come first, since a terminal may be too narrow for all.
func searchLine(p explore.Progress) string {
	line := units.Count(int64(p.Schedules)) + " run"
	if p.Planned > 0 || !p.Endless {
		line += fmt.Sprintf(", %s planned", units.Count(int64(p.Planned)))
	}
	if p.Classes > 0 {
		line += fmt.Sprintf(", %d found", p.Classes)
	}
	if p.Parts > 1 {
		line += fmt.Sprintf(", part %d of %d", p.Part, p.Parts)
	}
	return line + fmt.Sprintf(", %s pruned", units.Count(int64(p.Pruned)))
}
