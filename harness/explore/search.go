package explore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/doublegrant/doublegrant/harness/explore/internal/findings"
	"github.com/doublegrant/doublegrant/harness/explore/internal/frontier"
	"github.com/doublegrant/doublegrant/harness/explore/internal/model"
	"github.com/doublegrant/doublegrant/harness/explore/internal/strategy"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// This file is the search. A schedule is a list of choices. The source of a search has a queue of branches
// (frontier.Branches), each a prefix of choices and its sleep set. In the beginning it has one branch, with the empty
// prefix. Then each worker repeats (see goThrough):
//
//  1. next takes the branch with the fewest preemptions and faults (iterative context bounding: Musuvathi and Qadeer,
//     PLDI 2007), and of those the last that was planned. So it is a depth-first search within a cost.
//  2. explore (worker.go) runs one schedule: the choices of the prefix, then always the first move that is not asleep.
//     For every other such move that it meets after the prefix, it plans a branch (strategy.Exhaustive).
//  3. plan puts these branches into the queue, and judge has the checkers judge the schedule.
//
// The heart of this is strategy.Exhaustive, so read that first. This file goes from the whole search down to one
// schedule: its parts, its workers, their loop and its limits.
//
// Two rules leave out schedules that show nothing new. A move that was tried is asleep in later branches, until
// something happens that is not independent of it (sleep sets: Godefroid, LNCS 1032, 1996). A schedule that comes to a
// known state, with the same moves asleep, ends there (states.go).
//
// Invariants, whenever mu is free:
//
//   - Every schedule within the budget, or one that shows the same, was run, is under way, or belongs to a branch in
//     the queue. A branch that fails goes back into the queue as it was, so the queue of a stopped search is the work
//     that is left.
//   - The branches that leave a schedule are planned before its worker is free again. So when the queue is empty and no
//     worker is busy, every schedule of the part was run. The part is complete when the workers have also judged them
//     all: runSource waits for that.
//
// A search has several parts, one after the other, each with its own budget and queue (fewer.go). Random schedules have
// another source (random.go), and pieces hand parts of the queue to other processes (pieces.go). ending.go lists how a
// search ends.

// Search runs every schedule of spec's program within its budget, or an equivalent one, and has the checkers judge
// each. Violations are in Result.Counterexamples. If the search ends early, Result.Stopped says why. An error says that
// the harness or its environment failed, that the program or a checker panicked, or that spec cannot be searched
// (ErrSpec).
func Search(ctx context.Context, spec Spec) (interleave.Result, error) {
	return withReplicas(spec, func(spec Spec) (interleave.Result, error) { return searchOnce(ctx, spec) })
}

func searchOnce(ctx context.Context, spec Spec) (interleave.Result, error) {
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
	res, err := s.runToResult(ctx, worlds)
	for _, w := range worlds {
		err = errors.Join(err, w.stop())
	}
	return res, err
}

func newSearch(spec *Spec) *search {
	s := &search{spec: spec, seen: findings.New(), began: time.Now()}
	s.wake = sync.NewCond(&s.mu)
	s.draws.Make = func(number, known int) *strategy.Random { return spec.Random.draw(spec, s.budget, number, known) }
	return s
}

// search is a search under way. One goroutine, that of Search, goes through its parts. Workers run schedules meanwhile.
type search struct {
	spec  *Spec
	began time.Time

	// Shared with workers. While they run, mu guards these fields, and wake is signaled when one of them has changed.
	mu         sync.Mutex
	wake       *sync.Cond
	source     frontier.Source    // current source: branches or draws
	branches   *frontier.Branches // branches of the part that runs every schedule; nil: no such part has begun
	draws      frontier.Draws     // current round of random schedules
	busy       int                // number of workers that run a schedule
	seen       findings.Findings
	untilFirst time.Duration // real time to the first counterexample; 0: none
	ending                   // how the search ended early
	pieceState

	// Changed only while no worker runs. Progress reads the part and its budget meanwhile, so mu guards their changes.
	currentPart
	symmetryTest
	elapsed       time.Duration // real time of the whole search
	limitsClients bool          // the search uses fewer clients, since its clients wait or have threads: see budgets
}

// currentPart is the part of a search that is under way, and what earlier parts have left.
type currentPart struct {
	budget interleave.Budget
	part   int               // number of the part, from 1
	parts  []interleave.Part // earlier parts
	states *states           // states that were met; nil: states are not looked up
	// learned from live schedules, also of earlier parts; nil: no schedule is run from memory
	memory *model.Memory
}

// runToResult runs the search and returns its result, with counterexamples and situations.
func (s *search) runToResult(ctx context.Context, worlds []*world) (res interleave.Result, err error) {
	if err = s.run(ctx, worlds); err == nil {
		s.save(worlds)
		err = s.failure
	}
	background := ""
	if err == nil {
		background, err = s.backgroundWork(context.WithoutCancel(ctx), worlds[0])
	}
	res = s.result(worlds, background)
	if err == nil {
		err = s.addFindings(ctx, worlds[0], &res)
	}
	// the runners of pieces have met the WAIT, and have replicas
	if errors.Is(err, errAwaitsReplicas) && s.spec.Pieces != nil {
		s.spec.Program.Replicas = true
		if err = worlds[0].replace(ctx, s.spec, &worlds[0]); err == nil {
			err = s.addFindings(ctx, worlds[0], &res)
		}
	}
	return res, err
}

// run goes through the parts of the search.
func (s *search) run(ctx context.Context, worlds []*world) error {
	if s.spec.For > 0 {
		limit := time.AfterFunc(s.spec.For, s.stopInTime)
		defer limit.Stop()
	}
	interrupt := context.AfterFunc(ctx, func() { s.stop("interrupted") })
	defer interrupt()
	defer s.tellProgress()()
	s.runTwice(context.WithoutCancel(ctx), worlds[0])
	if s.spec.Random != nil {
		s.runAtRandom(ctx, worlds)
	} else if s.runParts(ctx, worlds) {
		s.beginAnew()
		s.runParts(ctx, worlds)
	}
	s.checkPieces(ctx)
	s.elapsed = time.Since(s.began)
	return s.failure
}

// runParts goes through the parts of a search of every schedule. The result asymmetric is true if clients turned out
// not to be interchangeable. In that case the parts so far do not count.
func (s *search) runParts(ctx context.Context, worlds []*world) (asymmetric bool) {
	s.limitsClients = s.mayLimitClients() && s.clientsWait(context.WithoutCancel(ctx), worlds[0])
	// A checkpoint may have some parts. There may be more budgets once the first part has run: see budgets.
	for i := len(s.parts); i < len(s.budgets()); i++ {
		s.runPart(ctx, s.budgets()[i], worlds)
		if !s.parts[i].Exhausted {
			break
		}
		if s.breaksSymmetry(ctx, worlds[0]) {
			return true
		}
	}
	return false
}

// runPart runs a part until its queue is empty or the part ends early.
func (s *search) runPart(ctx context.Context, b interleave.Budget, worlds []*world) {
	s.mu.Lock()
	s.budget, s.part = b, len(s.parts)+1
	s.mu.Unlock()
	ran, pruned := s.earlierCounts()
	s.beginPart()
	if s.spec.Pieces != nil {
		s.runPieces(context.WithoutCancel(ctx), s.remembers(worlds))
	} else {
		if s.memory == nil && s.remembers(worlds) {
			s.memory = model.New()
			s.memory.Broken = s.whyForgotten
		}
		s.runSource(ctx, worlds)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parts = append(s.parts, interleave.Part{
		Budget: b, Schedules: s.seen.Schedules - ran, Pruned: s.seen.Pruned - pruned, Exhausted: !s.isEndingLocked(),
		Role: s.spec.roleIn(b),
	})
}

// remembers reports whether the search may run schedules from memory. It may not if clients read the machine's clock,
// since they then depend on more than Redis and the harness.
func (s *search) remembers(worlds []*world) bool {
	p := s.spec.Program
	return !s.spec.WithoutMemory && !s.spec.forgetful && worlds[0].SetsClocks() && !p.RealClock &&
		s.spec.goroutines() <= 1
}

// runSource runs the source's schedules, with a worker in each world. While schedules can be run from memory, which
// sends nothing to Redis (recall.go), one worker runs them and the others judge what it has run. After that each worker
// runs schedules on its own Redis, and judges them.
func (s *search) runSource(ctx context.Context, worlds []*world) {
	var working sync.WaitGroup
	ctx = context.WithoutCancel(ctx)
	// schedules of the first worker that others judge; closed when it is done, or goes on without memory
	toJudge := make(chan jobRun, judgedAtOnce)
	for i, w := range worlds {
		working.Go(func() {
			if i == 0 {
				s.workFromMemory(ctx, w, toJudge, len(worlds) > 1)
			} else {
				for v := range toJudge {
					s.judge(ctx, v)
				}
			}
			s.goThrough(ctx, w, s.judge, func() bool { return true })
		})
	}
	working.Wait()
}

// judgedAtOnce is the number of schedules from memory that may wait to be judged.
const judgedAtOnce = 64

// workFromMemory runs schedules from memory as long as that works, in the first worker. With several workers, the order
// in which the search learns would depend on their speed. The other workers judge meanwhile, unless the search ends at
// its first counterexample or at a number of schedules.
func (s *search) workFromMemory(ctx context.Context, w *world, toJudge chan<- jobRun, others bool) {
	defer close(toJudge)
	judge := s.judge
	if others && !s.spec.First && s.spec.MaxSchedules == 0 {
		judge = func(_ context.Context, v jobRun) { toJudge <- v }
	}
	s.goThrough(ctx, w, judge, s.memory.Works)
}

// goThrough is the loop of a worker. It takes, runs and judges schedules in one world while the function more returns
// true.
func (s *search) goThrough(ctx context.Context, w *world, judge func(context.Context, jobRun), more func() bool) {
	k := worker{runner{spec: s.spec, w: w}, s}
	for more() {
		j, ok := s.next()
		if !ok {
			return
		}
		v := jobRun{job: j}
		if err := catchPanics(func() error { return k.explore(ctx, &v) }); err != nil {
			s.plan(j.PutBack)
			s.fail(err)
		} else {
			s.plan(j.Done)
			judge(ctx, v)
		}
		s.workerDone()
	}
}

// next takes the next schedule. If there is none, it waits as long as other workers may plan more. ok is false when the
// part, the round or the search is over.
func (s *search) next() (j frontier.Job, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if s.isEndingLocked() {
			return nil, false
		}
		switch planned := s.source.Planned(); {
		case planned == 0 && s.busy == 0:
			return nil, false
		case planned == 0:
			s.wake.Wait()
		case s.endAtLimitLocked():
			return nil, false
		case s.spec.MaxSchedules > 0 && s.seen.Schedules+s.busy >= s.spec.MaxSchedules:
			s.wake.Wait() // some of those under way may be pruned
		default:
			if j, ok = s.source.Next(); ok {
				s.busy++
			}
			return j, ok
		}
	}
}

// workerDone records that a worker has finished its schedule, or given it up.
func (s *search) workerDone() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy--
	s.wake.Broadcast()
}

// mostPlanned bounds the planned schedules, of about a kilobyte each. The whole catalogue needs less than a tenth of
// it.
const mostPlanned = 2_000_000

// plan calls a function that plans schedules, and ends the search if too many are planned.
func (s *search) plan(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	if planned := s.source.Planned(); planned > mostPlanned {
		s.endLocked(fmt.Sprintf("the search does not fit into memory: after %d schedules %d more were planned, each "+
			"of which plans others; ask for fewer clients, fewer faults in one schedule, or schedules at random "+
			"(--random)",
			s.seen.Schedules, planned))
	}
	s.wake.Broadcast()
}
