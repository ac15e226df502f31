package explore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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

	maxAttempts = 20 // runs of one schedule, if something disturbs it or the machine is slow
	slowness    = 10 // with clocks that cannot be set, a schedule that takes longer than the lease/slowness is run again
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
	s := newSearch(&spec)
	s.resume(spec.Resume)
	err = s.run(ctx, worlds)
	if err == nil {
		s.save(worlds)
		err = s.failure
	}
	own := ""
	if err == nil {
		own, err = s.ownWork(context.WithoutCancel(ctx), worlds[0])
	}
	res := s.result(worlds, own)
	if err == nil {
		err = s.shrinkFound(ctx, worlds[0])
	}
	if err == nil {
		err = s.orderFound(ctx, worlds[0])
	}
	if err == nil {
		err = s.addCounterexamples(ctx, worlds[0], &res)
	}
	if err == nil {
		res.Situations, err = s.rerunSituations(ctx, worlds[0])
	}
	for _, w := range worlds {
		err = errors.Join(err, w.stop())
	}
	return res, err
}

func newSearch(spec *Spec) *search {
	s := &search{spec: spec, found: map[harness.Class]*smallestFound{}, okKinds: map[harness.Kind]bool{}, began: time.Now()}
	s.wake = sync.NewCond(&s.mu)
	return s
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

// item is a branch of the search: every schedule that begins with prefix and does not go on with a move of its sleep set.
type item struct {
	prefix      []interleave.Choice
	fingerprint uint64 // fingerprint that prefix had when it was planned
	sleepSet    []*move
	cost        int // preemptions and interferences in prefix
}

// smallestFound is the smallest counterexample of a class so far.
type smallestFound struct {
	budget   interleave.Budget
	schedule []interleave.Choice
	length   int
	class    harness.Class
	shrunk   *interleave.Shrunk // nil: it is as it was found
}

// smaller reports whether c comes before than. Counterexamples are ordered by length, by the faults in them, then by their choices,
// so that the result does not depend on which worker was faster.
func (c *smallestFound) smaller(than *smallestFound) bool {
	return cmp.Or(
		cmp.Compare(c.length, than.length),
		cmp.Compare(faultsIn(c.schedule), faultsIn(than.schedule)),
		slices.Compare(c.schedule, than.schedule),
	) < 0
}

// faultsIn counts the choices of a schedule that are no step of a client.
func faultsIn(schedule []interleave.Choice) (n int) {
	for _, c := range schedule {
		if c.Kind() != interleave.Runs {
			n++
		}
	}
	return n
}

// search is the state that workers share.
type search struct {
	spec   *Spec
	budget interleave.Budget // budget of the part that is under way
	part   int               // number of that part, from 1
	began  time.Time

	mu         sync.Mutex
	wake       *sync.Cond
	queue      [][]item // planned items, indexed by their cost
	planned    int      // items in queue
	busy       int      // workers on an item
	over       bool
	stopped    string
	doubt      string // why some schedule could not be judged; empty: all could
	failure    error
	untilFirst time.Duration // real time to the first counterexample; 0: none
	elapsed    time.Duration

	memory *memory // what is known from schedules that were really run; nil: every schedule is
	states *states // of the part that is under way

	resumed      *savedPart // what a checkpoint left of the part that comes next; nil: nothing
	whyForgotten string     // why no schedule of later pieces, or after a checkpoint, is run from memory; empty: they may be
	round        *round     // of pieces; nil: none is under way
	mostRuns     int        // of a piece: schedules after which it ends, pruned ones included; 0: no limit
	strays       int64      // commands that clients sent outside of their turns in other processes
	savedAt      time.Time  // time of the last checkpoint

	random  randomState // of a search at random
	drawing drawing     // its round under way

	schedules, pruned, steps int
	parts                    []interleave.Part
	found                    map[harness.Class]*smallestFound
	okKinds                  map[harness.Kind]bool // kinds of which at least one operation was ok
	coverage                 coverage
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
	defer s.tellProgress()()
	s.runTwice(context.WithoutCancel(ctx), worlds[0])
	if s.spec.Random != nil {
		s.runAtRandom(ctx, worlds)
	} else {
		s.runParts(ctx, worlds)
	}
	s.elapsed = time.Since(s.began)
	return s.failure
}

// runParts goes through the parts of a search that runs every schedule.
func (s *search) runParts(ctx context.Context, worlds []*world) {
	for i, b := range s.spec.budgets() {
		if i < len(s.parts) { // a checkpoint has it
			continue
		}
		if i > 0 {
			b = fitToFirstPart(b, s.parts[0].Schedules)
		}
		s.runPart(ctx, b, worlds)
		if !s.parts[i].Exhausted {
			break
		}
	}
}

// runPart goes through a part until its queue is empty, or something ends the search.
func (s *search) runPart(ctx context.Context, b interleave.Budget, worlds []*world) {
	s.mu.Lock()
	s.budget, s.part = b, len(s.parts)+1
	s.mu.Unlock()
	ran, pruned := s.before()
	s.beginPart()
	if s.spec.Pieces != nil {
		s.runPieces(context.WithoutCancel(ctx), s.remembers(worlds))
	} else {
		s.runItems(ctx, worlds)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parts = append(s.parts, interleave.Part{
		Budget: b, Schedules: s.schedules - ran, Pruned: s.pruned - pruned, Exhausted: !s.over,
	})
}

// runItems lets every world's worker go through the queue.
func (s *search) runItems(ctx context.Context, worlds []*world) {
	if s.memory == nil && s.remembers(worlds) {
		s.memory = newMemory()
		s.memory.broken = s.whyForgotten
	}
	var working sync.WaitGroup
	ctx = context.WithoutCancel(ctx)
	remembering := make(chan visit, judgedAtOnce) // schedules of the first worker that are to be judged; closed when it is done, or goes on without memory
	for i, w := range worlds {
		working.Go(func() {
			if i > 0 {
				s.judgeAll(ctx, remembering)
				s.work(ctx, w)
				return
			}
			s.workFromMemory(ctx, w, remembering, len(worlds) > 1)
			s.work(ctx, w)
		})
	}
	working.Wait()
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
			"ask for fewer clients, for less in one schedule, or for schedules at random (--random)", s.schedules, s.planned)
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
		case s.reachedLimit():
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

// reachedLimit reports whether the search ends here although more is planned. The caller holds s.mu.
func (s *search) reachedLimit() bool {
	switch {
	case s.spec.First && len(s.found) > 0:
		s.stopped = "a counterexample was found"
	case s.spec.MaxSchedules > 0 && s.schedules >= s.spec.MaxSchedules:
		s.stopped = fmt.Sprintf("%d schedules were run", s.spec.MaxSchedules)
	case s.mostRuns > 0 && s.schedules+s.pruned >= s.mostRuns:
		s.stopped = pieceOver
	default:
		return false
	}
	s.over = true
	s.wake.Broadcast()
	return true
}

// putBack plans an item again that could not be gone through, so that a checkpoint has it.
func (s *search) putBack(it item) { s.push([]item{it}) }

func (s *search) itemDone() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy--
	s.wake.Broadcast()
}

// work runs items in one world.
func (s *search) work(ctx context.Context, w *world) {
	alarm := time.NewTimer(parkWithin)
	defer alarm.Stop()
	for {
		it, ok := s.pop()
		if !ok {
			return
		}
		err := catchPanics(func() error { return s.explore(ctx, w, it, alarm, s.judge) })
		s.itemDone()
		if err != nil {
			s.putBack(it)
			s.fail(err)
			return
		}
	}
}

// judgedAtOnce is the number of schedules run from memory that may wait for a judge.
const judgedAtOnce = 64

// workFromMemory runs items from memory, as long as that works. One worker does, so that what is known at what time does not depend
// on which of them is faster. Others judge, if there are any, and the search is not to end at an exact schedule.
func (s *search) workFromMemory(ctx context.Context, w *world, judged chan<- visit, others bool) {
	defer close(judged)
	alarm := time.NewTimer(parkWithin)
	defer alarm.Stop()
	judge := s.judge
	if others && !s.spec.First && s.spec.MaxSchedules == 0 {
		judge = func(_ context.Context, v visit) error {
			judged <- v
			return nil
		}
	}
	for s.memory.works() {
		it, ok := s.pop()
		if !ok {
			return
		}
		err := catchPanics(func() error { return s.explore(ctx, w, it, alarm, judge) })
		s.itemDone()
		if err != nil {
			s.putBack(it)
			s.fail(err)
			return
		}
	}
}

// judgeAll judges schedules until there are no more.
func (s *search) judgeAll(ctx context.Context, all <-chan visit) {
	for v := range all {
		if err := catchPanics(func() error { return s.judge(ctx, v) }); err != nil {
			s.fail(err)
		}
	}
}

// explore runs the first schedule of an item and plans the others.
func (s *search) explore(ctx context.Context, w *world, it item, alarm *time.Timer, judge func(context.Context, visit) error) error {
	var v visit
	for range maxAttempts {
		v = visit{search: s, item: it, cost: it.cost, looked: v.looked, claimed: v.claimed}
		again, err := v.run(ctx, w, alarm)
		if err != nil {
			s.states.forget(v.claimed)
			return err
		}
		if again {
			continue
		}
		s.push(v.plan)
		return judge(ctx, v)
	}
	return fmt.Errorf("explore: a schedule took more than a tenth of the lease, %d times in a row: this machine is too busy, or a client waits by itself (time.Sleep) where harness.Sleep would do", maxAttempts)
}

// judge has the checkers look at a schedule that has ended.
func (s *search) judge(ctx context.Context, v visit) error {
	ex := v.ex
	var seen findings
	if !v.prune {
		seen = ex.withDeadlock(check(ctx, s.spec.Checkers, ex.history()))
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
	s.coverage.add(ex)
	s.encounters.add(s.budget, ex, seen.situations)
	for _, op := range ex.ops {
		if op.Outcome == harness.OK {
			s.okKinds[op.Kind] = true
		}
	}
	if ex.grantedFree != "" { // something was granted without a command, so nobody knows when: the history shows nothing
		return nil
	}
	for _, a := range seen.found {
		c := &smallestFound{budget: s.budget, schedule: ex.path, class: a.Class, length: ex.lengthUntil(a.To)}
		if old := s.found[a.Class]; old == nil || c.smaller(old) {
			s.found[a.Class] = c
		}
		s.random.note(a.Class, v.number)
		s.untilFirst = cmp.Or(s.untilFirst, time.Since(s.began))
	}
	return nil
}

// findings holds the checkers' findings in one schedule.
type findings struct {
	found      []harness.Anomaly
	situations []harness.Situation
	doubt      string // why a checker has no answer although there was something to judge; empty: all have one
}

// check has the checkers look at a history.
func check(ctx context.Context, checkers []harness.Checker, h harness.History) (v findings) {
	for _, c := range checkers {
		g := c.Check(ctx, h, func(a harness.Anomaly) { v.found = append(v.found, a) })
		v.situations = append(v.situations, g.Situations...)
		if g.Doubt() && !g.Absent {
			v.doubt = cmp.Or(v.doubt, c.Name()+": "+g.Reason)
		}
	}
	return v
}

// lengthUntil counts the steps and probes up to t.
func (ex *execution) lengthUntil(t time.Duration) int {
	n := 0
	for _, at := range ex.stepTimes {
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
		First: s.untilFirst, Elapsed: s.elapsed, Budget: s.parts[0].Budget, Parts: s.parts,
	}
	s.promise(&r)
	if s.coverage.wakesCut {
		r.Limits = append(r.Limits, "in one schedule at most one time-out, or sleep of a client with goroutines, ended while others could go on")
	}
	if why := s.vacuousAtRandom(worlds, own); why != "" {
		r.Stopped = why
	}
	r.Exhausted = r.Stopped == "" && s.failure == nil
	if r.Exhausted && len(s.found) == 0 {
		r.Stopped = s.vacuous(worlds, own)
		r.Exhausted = r.Stopped == ""
	}
	if own != "" && s.stopped != "" && len(s.found) == 0 {
		r.Stopped += " (it does something by itself: " + own + ")"
	}
	if why := worlds[0].whyNoClock; why != "" {
		r.Limits = append(r.Limits, "the servers' clocks could not be set ("+why+"): leases end early to an eighth, and none was in its last millisecond")
	}
	return r
}
