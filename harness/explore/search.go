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
	own := ""
	if err == nil {
		own, err = s.ownWork(context.WithoutCancel(ctx), worlds[0])
	}
	res := s.result(worlds, own)
	if err == nil {
		err = s.tellFound(ctx, worlds[0], &res)
	}
	// the runners of pieces have met the WAIT, and have replicas
	if errors.Is(err, errAwaitsReplicas) && spec.Pieces != nil {
		spec.Program.Replicas = true
		if err = worlds[0].replace(ctx, &spec, &worlds[0]); err == nil {
			err = s.tellFound(ctx, worlds[0], &res)
		}
	}
	for _, w := range worlds {
		err = errors.Join(err, w.stop())
	}
	return res, err
}

// addFindings runs counterexamples and situations again and adds them to the result.
func (s *search) tellFound(ctx context.Context, w *world, res *interleave.Result) (err error) {
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

// search is a search under way.
type search struct {
	spec  *Spec
	began time.Time

	// mu guards the fields down to elapsed, which workers share.
	mu         sync.Mutex
	wake       *sync.Cond
	source     frontier.Source    // current source: branches or draws
	branches   *frontier.Branches // of the part that runs every schedule; nil: none has begun
	draws      frontier.Draws     // current round of random schedules
	busy       int                // workers that run a schedule
	seen       findings.Findings
	untilFirst time.Duration // real time to the first counterexample; 0: none

	// How the search ended early, if it did.
	over      bool
	stopped   string
	outOfTime bool // its time was up
	waits     bool // clients wait or have threads, and the user did not ask for a number of clients: see budgets
	failure   error
	elapsed   time.Duration
	timeUp    bool // the current part's time is up: see runPartFor

	// The current part. It changes only while no worker runs.
	budget interleave.Budget
	part   int               // its number, from 1
	parts  []interleave.Part // earlier parts
	states *states           // states that were met; nil: they are not looked up
	// learned from live schedules, also of earlier parts; nil: no schedule is run from memory
	memory *model.Memory

	// What became of the promise that clients are interchangeable. It changes only while no worker runs.
	unlike    string          // what shows that they are not; empty: nothing has
	exchanged map[string]bool // schedules of situations that were tried

	// Pieces and checkpoints.
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
	s.settle(ctx)
	s.elapsed = time.Since(s.began)
	return s.failure
}

// checkPieces asks whether the results of pieces are reliable.
func (s *search) settle(ctx context.Context) {
	if s.spec.Pieces == nil || s.spec.Pieces.Settled == nil {
		return
	}
	if err := s.spec.Pieces.Settled(ctx); err != nil && ctx.Err() == nil {
		s.stop(err.Error())
	}
}

// runParts goes through the parts of a search of every schedule. asymmetric is true if clients turned out not to be
// interchangeable, so that none of it counts.
func (s *search) runParts(ctx context.Context, worlds []*world) (unlike bool) {
	s.waits = s.fewerIfTheyWait() && s.clientsWait(context.WithoutCancel(ctx), worlds[0])
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
	ran, pruned := s.before()
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
		Budget: b, Schedules: s.seen.Schedules - ran, Pruned: s.seen.Pruned - pruned, Exhausted: !s.ends(),
	})
}

// runSource runs the source's schedules, with a worker in each world.
func (s *search) runSource(ctx context.Context, worlds []*world) {
	var working sync.WaitGroup
	ctx = context.WithoutCancel(ctx)
	// schedules of the first worker that others judge; closed when it is done, or goes on without memory
	toJudge := make(chan descent, judgedAtOnce)
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
	s.end(reason)
}

// stopInTime ends the search because its time is up.
func (s *search) stopInTime() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outOfTime = !s.over
	s.end(fmt.Sprintf("the time is up (%v%s)", s.spec.For, s.noPieceDone()))
}

// endLocked ends the search early, if it has not ended. The caller holds s.mu.
func (s *search) end(reason string) {
	if !s.over {
		s.over, s.stopped = true, reason
	}
	s.wake.Broadcast()
}

// isEndingLocked reports whether the current part ends early, alone or with the search. The caller holds s.mu.
func (s *search) ends() bool { return s.over || s.timeUp }

// What users can do about a nondeterministic client.
const (
	remedyInside = ". Let it act on what it reads alone: without goroutines and timers of its own, without time.Now " +
		"(harness.Now), " +
		"without random numbers that are not seeded, and without the order of a map"
	remedyOutside = ". Let it act on what it reads alone: one command at a time, nothing between an answer and the " +
		"next request, so no thread " +
		"or timer beside it, no random decisions, and no clock but those of workloads/clients/README.md; if it keeps " +
		"something from one schedule " +
		"to the next, let it ask for reset in its answer to init, and forget all then (keeps_state of lock.py)"
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
func (s *search) result(worlds []*world, own string) interleave.Result {
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
	if left := s.unfinished(); left != "" {
		r.Limits = append(r.Limits, left)
	}
	if s.waits {
		r.Limits = append(r.Limits, fmt.Sprintf("3 clients or more: these wait, or have goroutines of their own, so "+
			"the search is of %d (--clients 3 asks for more, and may take long)", fewerClients))
	}
	if why := s.vacuousAtRandom(worlds, own); why != "" {
		r.Stopped = why
	}
	r.Exhausted = r.Stopped == "" && s.failure == nil
	if r.Exhausted && len(s.seen.Found) == 0 {
		r.Stopped = s.vacuous(worlds, own)
		r.Exhausted = r.Stopped == ""
	}
	if own != "" && s.stopped != "" && len(s.seen.Found) == 0 {
		r.Stopped += " (it does something by itself: " + own + ")"
	}
	if limit := s.unlikeLimit(); limit != "" {
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
