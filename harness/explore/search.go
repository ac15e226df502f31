package explore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/doublegrant/doublegrant/harness/await"
	"github.com/doublegrant/doublegrant/harness/explore/internal/findings"
	"github.com/doublegrant/doublegrant/harness/explore/internal/frontier"
	"github.com/doublegrant/doublegrant/harness/explore/internal/model"
	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
	"github.com/doublegrant/doublegrant/harness/explore/internal/strategy"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// Search runs every schedule of spec's program within its budget, or an equivalent one, and has the checkers judge
// each. Violations are in Result.Found. If the search ends early, Result.Stopped says why. An error says that the
// harness or its environment failed, that the program or a checker panicked, or that spec cannot be searched (ErrSpec).
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
	err = s.run(ctx, worlds)
	if err == nil {
		s.save(worlds)
		err = s.failure
	}
	background := ""
	if err == nil {
		background, err = s.backgroundWork(context.WithoutCancel(ctx), worlds[0])
	}
	res := s.result(worlds, background)
	if err == nil {
		err = s.addFindings(ctx, worlds[0], &res)
	}
	// the runners of pieces have met the WAIT, and have replicas
	if errors.Is(err, errAwaitsReplicas) && spec.Pieces != nil {
		spec.Program.Replicas = true
		if err = worlds[0].replace(ctx, &spec, &worlds[0]); err == nil {
			err = s.addFindings(ctx, worlds[0], &res)
		}
	}
	for _, w := range worlds {
		err = errors.Join(err, w.stop())
	}
	return res, err
}

// addFindings runs counterexamples and situations again and adds them to the result.
func (s *search) addFindings(ctx context.Context, w *world, res *interleave.Result) (err error) {
	if err = s.shrinkFound(ctx, w); err != nil {
		return err
	}
	if err = s.orderFound(ctx, w); err != nil {
		return err
	}
	if err = s.addCounterexamples(ctx, w, res); err != nil {
		return err
	}
	res.Situations, err = s.rerunSituations(ctx, w)
	return err
}

func newSearch(spec *Spec) *search {
	s := &search{spec: spec, seen: findings.New(), began: time.Now()}
	s.wake = sync.NewCond(&s.mu)
	s.draws.Make = func(number, known int) *strategy.Random { return spec.Random.draw(spec, s.budget, number, known) }
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

// search is a search under way. Workers share the fields from wake to ending, and pieceState: mu guards these. The
// others change only while no worker runs.
type search struct {
	spec  *Spec
	began time.Time

	mu         sync.Mutex
	wake       *sync.Cond         // signaled when a field that mu guards has changed
	source     frontier.Source    // current source: branches or draws
	branches   *frontier.Branches // of the part that runs every schedule; nil: none has begun
	draws      frontier.Draws     // current round of random schedules
	busy       int                // workers that run a schedule
	seen       findings.Findings
	untilFirst time.Duration // real time to the first counterexample; 0: none
	ending

	currentPart
	symmetryTest
	pieceState

	elapsed       time.Duration // real time of the whole search
	limitsClients bool          // use fewer clients, since they wait or have threads: see budgets
}

// ending is how a search ended early. The zero value: it has not.
type ending struct {
	over       bool   // for the reason in stopped, or with failure
	stopped    string // see interleave.Result.Stopped
	outOfTime  bool   // the search's time is up
	partTimeUp bool   // the current part's time is up, but not the search's: see runPartFor
	failure    error  // of the harness, its environment, the program or a checker; nil: none
}

// currentPart is the part of a search that is under way, and what earlier parts have left.
type currentPart struct {
	budget interleave.Budget
	part   int               // number of the part, from 1
	parts  []interleave.Part // earlier parts
	states *states           // states that were met; nil: they are not looked up
	// learned from live schedules, also of earlier parts; nil: no schedule is run from memory
	memory *model.Memory
}

// symmetryTest is what became of the promise that clients are interchangeable.
type symmetryTest struct {
	asymmetry      string          // what shows that they are not; empty: nothing has
	triedExchanges map[string]bool // schedules of situations that were tried
}

// pieceState is the state of a search in pieces, of a piece, and of checkpoints.
type pieceState struct {
	resumed *savedPart // the next part's state in a checkpoint; nil: none
	// why later pieces, or a resumed search, do not use memory; empty: they may
	whyForgotten string
	round        *round    // current round of pieces; nil: none
	added        int       // pieces whose results were merged
	mostRuns     int       // schedules after which a piece ends, including pruned ones; 0: no limit
	savedAt      time.Time // time of the last checkpoint
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

// checkPieces asks whether the results of pieces are reliable.
func (s *search) checkPieces(ctx context.Context) {
	if s.spec.Pieces == nil || s.spec.Pieces.Settled == nil {
		return
	}
	if err := s.spec.Pieces.Settled(ctx); err != nil && ctx.Err() == nil {
		s.stop(err.Error())
	}
}

// runParts goes through the parts of a search of every schedule. asymmetric is true if clients turned out not to be
// interchangeable, so that none of it counts.
func (s *search) runParts(ctx context.Context, worlds []*world) (asymmetric bool) {
	s.limitsClients = s.mayLimitClients() && s.clientsWait(context.WithoutCancel(ctx), worlds[0])
	for i := len(s.parts); i < len(s.budgets()); i++ { // a checkpoint may have some
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
	})
}

// runSource runs the source's schedules, with a worker in each world.
func (s *search) runSource(ctx context.Context, worlds []*world) {
	var working sync.WaitGroup
	ctx = context.WithoutCancel(ctx)
	// schedules of the first worker that others judge; closed when it is done, or goes on without memory
	toJudge := make(chan jobRun, judgedAtOnce)
	for i, w := range worlds {
		working.Go(func() {
			if i > 0 {
				s.judgeAll(ctx, toJudge)
				s.work(ctx, w)
				return
			}
			s.workFromMemory(ctx, w, toJudge, len(worlds) > 1)
			s.work(ctx, w)
		})
	}
	working.Wait()
}

// stop ends the search early.
func (s *search) stop(reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endLocked(reason)
}

// stopInTime ends the search because its time is up.
func (s *search) stopInTime() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outOfTime = !s.over
	s.endLocked(fmt.Sprintf("the time is up (%v%s)", s.spec.For, s.noPieceDone()))
}

// endLocked ends the search early, if it has not ended. The caller holds s.mu.
func (s *search) endLocked(reason string) {
	if !s.over {
		s.over, s.stopped = true, reason
	}
	s.wake.Broadcast()
}

// isEndingLocked reports whether the current part ends early, alone or with the search. The caller holds s.mu.
func (s *search) isEndingLocked() bool { return s.over || s.partTimeUp }

// What users can do about a nondeterministic client.
const (
	remedyInside = ". Let it act on what it reads alone: without goroutines and timers of its own, without time.Now " +
		"(harness.Now), without random numbers that are not seeded, and without the order of a map"
	remedyOutside = ". Let it act on what it reads alone: one command at a time, nothing between an answer and the " +
		"next request, so no thread or timer beside it, no random decisions, and no clock but those of " +
		"workloads/adapters/README.md; if it keeps something from one schedule to the next, let it ask for reset in " +
		"its answer to init, and forget all then (keeps_state of lock.py)"
)

// remedy returns what the author of a program can do about a nondeterministic client.
func remedy(p interleave.Program) string {
	if p.Gate == interleave.TCP {
		return remedyOutside
	}
	return remedyInside
}

func (s *search) fail(err error) {
	if errors.Is(err, schedule.ErrStopped) {
		why := schedule.Why(err)
		if errors.Is(err, schedule.ErrNotRepeated) {
			why += remedy(s.spec.Program)
		}
		s.stop(why)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over, s.failure = true, cmp.Or(s.failure, err)
	s.wake.Broadcast()
}

// result returns the result so far, without counterexamples and situations.
func (s *search) result(worlds []*world, background string) interleave.Result {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := interleave.Result{
		Schedules: s.seen.Schedules, Pruned: s.seen.Pruned, Steps: s.seen.Steps, Stopped: s.stopped,
		First: s.untilFirst, Elapsed: s.elapsed, Budget: s.parts[0].Budget, Parts: s.parts,
	}
	s.promise(&r)
	if s.seen.Coverage.WakesCut {
		r.Limits = append(r.Limits, "in one schedule at most one time-out, or sleep of a client with goroutines, "+
			"ended while others could go on")
	}
	if unfinished := s.unfinished(); unfinished != "" {
		r.Limits = append(r.Limits, unfinished)
	}
	if s.limitsClients {
		r.Limits = append(r.Limits, fmt.Sprintf("3 clients or more: these wait, or have goroutines of their own, so "+
			"the search is of %d (--clients 3 asks for more, and may take long)", fewerClients))
	}
	if why := s.vacuousAtRandom(worlds, background); why != "" {
		r.Stopped = why
	}
	r.Exhausted = r.Stopped == "" && s.failure == nil
	if r.Exhausted && len(s.seen.Found) == 0 {
		r.Stopped = s.vacuous(worlds, background)
		r.Exhausted = r.Stopped == ""
	}
	if background != "" && s.stopped != "" && len(s.seen.Found) == 0 {
		r.Stopped += " (it does something by itself: " + background + ")"
	}
	if limit := s.asymmetryLimit(); limit != "" {
		r.Limits = append(r.Limits, limit)
	}
	if s.spec.Program.RealClock {
		r.Limits = append(r.Limits, "the clients read the machine's clock, so time did not pass, and nobody looked "+
			"whether all is free in the end")
	}
	if why := worlds[0].WhyNoClock; why != "" {
		r.Limits = append(r.Limits, "the servers' clocks could not be set ("+why+"): leases end early to an eighth, "+
			"and none was in its last millisecond")
	}
	return r
}
