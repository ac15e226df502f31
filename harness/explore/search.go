package explore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/await"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

const (
	// mostPlanned bounds the schedules that are planned at one time. Each takes about a kilobyte. The whole catalogue needs
	// less than a tenth of the bound.
	mostPlanned = 2_000_000

	attempts = 20 // runs of one schedule, if something disturbs it or the machine is slow
	slowness = 10 // with clocks that cannot be set, a schedule that takes longer than the lease/slowness is run again
)

// Search runs every schedule of spec's program within its budget, or one that shows the same, and has the checkers judge
// each. An error says that the harness or its environment failed, that the program or a checker panicked, or that spec cannot
// be searched (ErrSpec). Violations are no errors: they are in Result.Found. A search that ends early says why in
// Result.Stopped.
func Search(ctx context.Context, spec Spec) (interleave.Result, error) {
	spec, err := spec.withDefaults()
	if err != nil {
		return interleave.Result{}, err
	}
	worlds, err := startWorlds(ctx, &spec)
	if err != nil {
		return interleave.Result{}, err
	}
	s := &search{spec: &spec, found: map[harness.Class]*counter{}, seen: map[harness.Kind]bool{}, began: time.Now()}
	s.wake = sync.NewCond(&s.mu)
	err = s.run(ctx, worlds)
	own := ""
	if err == nil {
		own, err = s.ownWork(context.WithoutCancel(ctx), worlds[0])
	}
	res := s.result(worlds, own)
	if err == nil {
		err = s.tell(ctx, worlds[0], &res)
	}
	if err == nil {
		res.Situations, err = s.tellSituations(ctx, worlds[0])
	}
	for _, w := range worlds {
		err = errors.Join(err, w.stop())
	}
	return res, err
}

func startWorlds(ctx context.Context, spec *Spec) ([]*world, error) {
	worlds := make([]*world, spec.Workers)
	err := errors.Join(await.All(len(worlds), func(i int) (err error) {
		worlds[i], err = newWorld(ctx, spec)
		return err
	})...)
	if err == nil {
		return worlds, nil
	}
	for _, w := range worlds {
		if w != nil {
			err = errors.Join(err, w.stop())
		}
	}
	return nil, err
}

// item is a part of the search: every schedule that begins with prefix and does not go on with a move asleep.
type item struct {
	prefix []interleave.Choice
	print  uint64 // fingerprint that prefix had when it was planned
	asleep []*move
	cost   int // preemptions and interferences in prefix
}

// counter is the smallest counterexample of a class so far.
type counter struct {
	budget   interleave.Budget
	schedule []interleave.Choice
	length   int
	class    harness.Class
}

// smaller reports whether c comes before than. Counterexamples are ordered by length, then by their choices, so that the result
// does not depend on which worker was faster.
func (c *counter) smaller(than *counter) bool {
	if d := cmp.Compare(c.length, than.length); d != 0 {
		return d < 0
	}
	return slices.Compare(c.schedule, than.schedule) < 0
}

// search is the state that workers share.
type search struct {
	spec   *Spec
	budget interleave.Budget // budget of the part that is under way
	began  time.Time

	mu      sync.Mutex
	wake    *sync.Cond
	queue   [][]item // planned items, indexed by their cost
	planned int      // items in queue
	busy    int      // workers on an item
	over    bool
	stopped string
	doubt   string // why some schedule could not be judged; empty: all could
	failure error
	first   time.Duration // real time to the first counterexample; 0: none
	elapsed time.Duration

	schedules, pruned, steps int
	parts                    []interleave.Part
	found                    map[harness.Class]*counter
	seen                     map[harness.Kind]bool // kinds of which at least one operation was ok
	met                      met
	encounters               encounters
}

// run goes through the parts of the search, one after the other.
func (s *search) run(ctx context.Context, worlds []*world) error {
	if s.spec.For > 0 {
		limit := time.AfterFunc(s.spec.For, func() { s.stop(fmt.Sprintf("the time is up (%v)", s.spec.For)) })
		defer limit.Stop()
	}
	interrupt := context.AfterFunc(ctx, func() { s.stop("interrupted") })
	defer interrupt()
	for i, b := range s.spec.parts() {
		if i > 0 {
			b = fitted(b, s.parts[0].Schedules)
		}
		s.runPart(ctx, b, worlds)
		if !s.parts[i].Exhausted {
			break
		}
	}
	s.elapsed = time.Since(s.began)
	return s.failure
}

// runPart lets every world's worker go through the queue until it is empty, or something ends the search.
func (s *search) runPart(ctx context.Context, b interleave.Budget, worlds []*world) {
	s.budget = b
	ran, pruned := s.schedules, s.pruned
	s.push([]item{{}})
	var working sync.WaitGroup
	for _, w := range worlds {
		working.Go(func() { s.work(context.WithoutCancel(ctx), w) })
	}
	working.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parts = append(s.parts, interleave.Part{
		Budget: b, Schedules: s.schedules - ran, Pruned: s.pruned - pruned, Exhausted: !s.over,
	})
}

// stop ends the search early.
func (s *search) stop(reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over {
		s.over, s.stopped = true, reason
	}
	s.wake.Broadcast()
}

// remedy tells users what to do about a client that does not do the same each time.
const remedy = ". Let it act on what it reads alone: without goroutines and timers of its own, without time.Now (harness.Now), " +
	"without random numbers that are not seeded, and without the order of a map"

func (s *search) fail(err error) {
	if errors.Is(err, errStopped) {
		why := err.Error()[len(errStopped.Error())+2:]
		if errors.Is(err, errDiverged) {
			why += remedy
		}
		s.stop(why)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over, s.failure = true, cmp.Or(s.failure, err)
	s.wake.Broadcast()
}

// push plans items.
func (s *search) push(items []item) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, it := range items {
		for len(s.queue) <= it.cost {
			s.queue = append(s.queue, nil)
		}
		s.queue[it.cost] = append(s.queue[it.cost], it)
	}
	if s.planned += len(items); s.planned > mostPlanned && !s.over {
		s.over = true
		s.stopped = fmt.Sprintf("the budget multiplies to more than fits into memory: after %d schedules %d more were planned, which plan others in turn; "+
			"ask for fewer clients, or for less in one schedule", s.schedules, s.planned)
	}
	s.wake.Broadcast()
}

// pop takes the last planned of the cheapest items. It waits while other workers may still plan some. ok is false when the
// part or the search is over.
func (s *search) pop() (it item, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if s.over {
			return it, false
		}
		cost := slices.IndexFunc(s.queue, func(items []item) bool { return len(items) > 0 })
		switch {
		case cost < 0 && s.busy == 0:
			return it, false
		case cost < 0:
			s.wake.Wait()
		case s.enough():
			return it, false
		case s.spec.MaxSchedules > 0 && s.schedules+s.busy >= s.spec.MaxSchedules:
			s.wake.Wait() // some of those under way may be given up
		default:
			n := len(s.queue[cost]) - 1
			it, s.queue[cost] = s.queue[cost][n], s.queue[cost][:n]
			s.planned--
			s.busy++
			return it, true
		}
	}
}

// enough reports whether the search ends here although more is planned. The caller holds s.mu.
func (s *search) enough() bool {
	switch {
	case s.spec.First && len(s.found) > 0:
		s.stopped = "a counterexample was found"
	case s.spec.MaxSchedules > 0 && s.schedules >= s.spec.MaxSchedules:
		s.stopped = fmt.Sprintf("%d schedules were run", s.spec.MaxSchedules)
	default:
		return false
	}
	s.over = true
	s.wake.Broadcast()
	return true
}

func (s *search) done() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy--
	s.wake.Broadcast()
}

// work runs items in one world.
func (s *search) work(ctx context.Context, w *world) {
	alarm := time.NewTimer(stall)
	defer alarm.Stop()
	for {
		it, ok := s.pop()
		if !ok {
			return
		}
		err := s.guarded(ctx, w, it, alarm)
		s.done()
		if err != nil {
			s.fail(err)
			return
		}
	}
}

// guarded does what explore does, and returns a panic of the program's or a checker's code as an error.
func (s *search) guarded(ctx context.Context, w *world, it item, alarm *time.Timer) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("explore: the program or a checker panicked: %v\n%s", p, debug.Stack())
		}
	}()
	return s.explore(ctx, w, it, alarm)
}

// explore runs the first schedule of an item and plans the others.
func (s *search) explore(ctx context.Context, w *world, it item, alarm *time.Timer) error {
	for range attempts {
		v := visit{search: s, item: it, cost: it.cost}
		again, err := v.run(ctx, w, alarm)
		if err != nil {
			return err
		}
		if again {
			continue
		}
		s.push(v.plan)
		return s.judge(ctx, v)
	}
	return fmt.Errorf("explore: a schedule took more than a tenth of the lease, %d times in a row: this machine is too busy, or a client waits by itself (time.Sleep) where harness.Sleep would do", attempts)
}

// judge has the checkers look at a schedule that has ended.
func (s *search) judge(ctx context.Context, v visit) error {
	ex := v.ex
	var seen verdict
	if !v.prune {
		seen = check(ctx, s.spec.Checkers, ex.history())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steps += len(ex.path)
	if v.prune {
		s.pruned++
		return nil
	}
	s.schedules++
	s.doubt = cmp.Or(s.doubt, seen.doubt)
	s.met.add(ex)
	s.encounters.add(s.budget, ex, seen.situations)
	for _, op := range ex.ops {
		if op.Outcome == harness.OK {
			s.seen[op.Kind] = true
		}
	}
	if ex.idle != "" { // something was granted without a command, so nobody knows when: the history shows nothing
		return nil
	}
	for _, a := range seen.found {
		c := &counter{budget: s.budget, schedule: ex.path, class: a.Class, length: ex.until(a.To)}
		if old := s.found[a.Class]; old == nil || c.smaller(old) {
			s.found[a.Class] = c
		}
		s.first = cmp.Or(s.first, time.Since(s.began))
	}
	return nil
}

// verdict holds the checkers' findings in one schedule.
type verdict struct {
	found      []harness.Anomaly
	situations []harness.Situation
	doubt      string // why a checker has no answer although there was something to judge; empty: all have one
}

// check has the checkers look at a history.
func check(ctx context.Context, checkers []harness.Checker, h harness.History) (v verdict) {
	for _, c := range checkers {
		g := c.Check(ctx, h, func(a harness.Anomaly) { v.found = append(v.found, a) })
		v.situations = append(v.situations, g.Situations...)
		if g.Doubt() && !g.Absent {
			v.doubt = cmp.Or(v.doubt, c.Name()+": "+g.Reason)
		}
	}
	return v
}

// until counts the steps and probes up to t.
func (ex *execution) until(t time.Duration) int {
	n := 0
	for _, at := range ex.times {
		if at <= t {
			n++
		}
	}
	return n
}

// result returns the result so far, without counterexamples and situations.
func (s *search) result(worlds []*world, own string) interleave.Result {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := interleave.Result{
		Schedules: s.schedules, Pruned: s.pruned, Steps: s.steps, Stopped: s.stopped,
		First: s.first, Elapsed: s.elapsed, Budget: s.parts[0].Budget, Parts: s.parts,
	}
	r.Exhausted = r.Stopped == "" && s.failure == nil
	if r.Exhausted && len(s.found) == 0 {
		r.Stopped = s.vacuous(worlds, own)
		r.Exhausted = r.Stopped == ""
	}
	if own != "" && s.stopped != "" && len(s.found) == 0 {
		r.Stopped += " (it does something by itself: " + own + ")"
	}
	if why := worlds[0].unset; why != "" {
		r.Limits = append(r.Limits, "the servers' clocks could not be set ("+why+"): leases end early to an eighth, and none was in its last millisecond")
	}
	return r
}
