package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness/coordinate"
	"github.com/doublegrant/doublegrant/harness/workqueue"
)

// slowEvery is the time between two lines of progress after the first minute. A line is printed even if nothing has
// changed, so that the user sees that the work goes on.
const slowEvery = time.Minute

// workView shows on standard error which worker does what, what remains, and which units failed and why.
type workView struct {
	app    *app
	work   *coordinate.Work
	failed map[string]int  // failed attempts reported so far, by unit
	barred map[string]bool // workers that get no more work, as was reported already
}

// watchWork shows the work of a queue until stop is called.
func (a *app) watchWork(q workqueue.Queue, work *coordinate.Work) (stop func()) {
	v := &workView{app: a, work: work, failed: map[string]int{}, barred: map[string]bool{}}
	stopped, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for began, shown := time.Now(), time.Now(); ; {
			select {
			case <-stopped:
				v.reportFailures(q.Watch())
				return
			case <-tick.C:
			}
			w := q.Watch()
			v.reportFailures(w)
			if d := time.Since(shown); d >= slowEvery || d >= plainEvery && time.Since(began) < slowEvery {
				shown = time.Now()
				v.show(w)
			}
		}
	}()
	return func() { close(stopped); <-ended }
}

// reportFailures prints each unit that failed since the last call and is tried again, and each worker that gets no more
// work.
func (v *workView) reportFailures(w workqueue.WorkState) {
	for _, u := range w.Begun {
		// the last failure is reported with the unit's outcome
		for n := v.failed[u.ID]; n < min(len(u.Failed), workqueue.Tries-1); n++ {
			v.app.say("%s is handed out again, try %d of %d: %s", v.work.Name(u.ID), n+2, workqueue.Tries, u.Failed[n])
			v.failed[u.ID] = n + 1
		}
	}
	for _, worker := range slices.Sorted(maps.Keys(w.Withdrawn)) {
		if !v.barred[worker] {
			v.barred[worker] = true
			v.app.say("worker %s gets no more work: %s", worker, w.Withdrawn[worker])
		}
	}
}

// show prints which worker does what, and what remains.
func (v *workView) show(w workqueue.WorkState) {
	var at []string
	for _, u := range w.Begun {
		if u.Worker != "" {
			at = append(at, fmt.Sprintf("%s: %s, %v", u.Worker, v.work.Name(u.ID),
				time.Since(u.Since).Round(time.Second)))
		}
	}
	of, takes := v.work.Size()
	remaining := max(0, of-w.Done)
	line := fmt.Sprintf("  %d of %d units done", of-remaining, of)
	if takes > 0 {
		takes = takes * time.Duration(remaining) / time.Duration(of) / time.Duration(max(1, len(at)))
		line += fmt.Sprintf(", about %v left", takes.Round(time.Second))
	}
	if len(at) == 0 && remaining > 0 {
		at = []string{"no worker is busy"}
	}
	line += "; " + strings.Join(at, "; ")
	if !v.app.err.say(strings.TrimSpace(line)) {
		v.app.sayPlain("%s", line)
	}
}
