package explore

import (
	"context"
	"fmt"

	"github.com/doublegrant/doublegrant/harness/explore/internal/frontier"
	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
)

// This file hands planned schedules out to workers, which run them.

// mostPlanned bounds the planned schedules, of about a kilobyte each. The whole catalogue needs less than a tenth of
// it.
const mostPlanned = 2_000_000

// plan calls change, which plans schedules, and ends the search if there are too many.
func (s *search) plan(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	if planned := s.source.Planned(); planned > mostPlanned {
		s.endLocked(fmt.Sprintf("the budget multiplies to more than fits into memory: after %d schedules %d more were "+
			"planned, which plan others in turn; "+
			"ask for fewer clients, for less in one schedule, or for schedules at random (--random)",
			s.seen.Schedules, planned))
	}
	s.wake.Broadcast()
}

// next takes the next schedule. It waits while other workers may plan some. ok is false when the part, the round or the
// search is over.
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

// endAtLimitLocked ends the search at a limit, and reports whether it has ended. The caller holds s.mu.
func (s *search) endAtLimitLocked() bool {
	switch {
	case s.spec.First && len(s.seen.Found) > 0:
		s.endLocked("a counterexample was found")
	case s.spec.MaxSchedules > 0 && s.seen.Schedules >= s.spec.MaxSchedules:
		s.endLocked(fmt.Sprintf("%d schedules were run", s.spec.MaxSchedules))
	case s.mostRuns > 0 && s.seen.Schedules+s.seen.Pruned >= s.mostRuns:
		s.endLocked(pieceOver)
	}
	return s.over
}

// isEnding reports whether the current part ends early.
func (s *search) isEnding() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.isEndingLocked()
}

// workerDone records that a worker has finished its schedule, or given it up.
func (s *search) workerDone() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy--
	s.wake.Broadcast()
}

// work runs schedules in one world.
func (s *search) work(ctx context.Context, w *world) {
	s.goThrough(ctx, w, s.judge, func() bool { return true })
}

// remembers reports whether the search may run schedules from memory. It may not if clients read the machine's clock,
// since they then depend on more than Redis and the harness.
func (s *search) remembers(worlds []*world) bool {
	p := s.spec.Program
	return !s.spec.Unremembered && !s.spec.forgetful && worlds[0].SetsClocks() && !p.RealClock &&
		s.spec.goroutines() <= 1
}

// judgedAtOnce is the number of schedules from memory that may wait to be judged.
const judgedAtOnce = 64

// workFromMemory runs schedules from memory as long as that works. Only one worker does so, so that the order of
// learning does not depend on their speed. Others judge, if there are any, unless the search has to end at an exact
// schedule.
func (s *search) workFromMemory(ctx context.Context, w *world, toJudge chan<- jobRun, others bool) {
	defer close(toJudge)
	judge := s.judge
	if others && !s.spec.First && s.spec.MaxSchedules == 0 {
		judge = func(_ context.Context, v jobRun) { toJudge <- v }
	}
	s.goThrough(ctx, w, judge, s.memory.Works)
}

// goThrough runs schedules in one world while more returns true.
func (s *search) goThrough(ctx context.Context, w *world, judge func(context.Context, jobRun), more func() bool) {
	k := worker{newRunner(s.spec, w), s}
	defer k.alarm.Stop()
	for more() {
		j, ok := s.next()
		if !ok {
			return
		}
		v := jobRun{job: j}
		err := catchPanics(func() error { return k.explore(ctx, &v) })
		if err == nil {
			s.plan(j.Done)
			err = s.judgeSafely(ctx, v, judge)
		} else {
			s.plan(j.PutBack)
		}
		s.workerDone()
		if err != nil {
			s.fail(err)
			return
		}
	}
}

// judgeSafely judges a schedule. An error says that a checker panicked.
func (s *search) judgeSafely(ctx context.Context, v jobRun, judge func(context.Context, jobRun)) error {
	return catchPanics(func() error {
		judge(ctx, v)
		return nil
	})
}

// judgeAll judges schedules until the channel is closed.
func (s *search) judgeAll(ctx context.Context, all <-chan jobRun) {
	for v := range all {
		if err := s.judgeSafely(ctx, v, s.judge); err != nil {
			s.fail(err)
		}
	}
}

// explore runs a schedule, again if it was disturbed.
func (k worker) explore(ctx context.Context, v *jobRun) error {
	_, err := k.undisturbed(ctx, k.search.budget, func() (*execution, error) { return k.attempt(ctx, v) })
	if err != nil && len(v.claimed) > 0 {
		k.search.states.Forget(v.claimed)
	}
	return err
}

// worker runs a search's schedules in one world.
type worker struct {
	runner
	search *search
}

// attempt runs a schedule. It returns the live execution, or nil if the schedule was run from memory.
func (k worker) attempt(ctx context.Context, v *jobRun) (liveRun *execution, err error) {
	if v.restart(); k.search.memory.Works() {
		if done, err := k.runFromMemory(ctx, v); done || err != nil {
			return nil, err
		}
	}
	ex, err := beginSchedule(ctx, k.spec, k.search.budget, k.w, k.alarm)
	if err != nil {
		return nil, err
	}
	if k.search.states != nil && k.search.followsTrails(k.w) {
		ex.beginTrails()
	}
	v.ex = ex.execution
	return v.ex, k.drive(ctx, v)
}

// drive runs a schedule that has begun.
func (k worker) drive(ctx context.Context, v *jobRun) (err error) {
	isVisited := func(asleep []*schedule.Move) (bool, error) { return k.isVisited(ctx, v, asleep) }
	v.ended, err = v.ex.drive(ctx, v.job.Strategy(), stateView{v.ex, isVisited})
	return err
}

// stateView is the strategy's view in a search that looks up states.
type stateView struct {
	*execution
	isVisited func(asleep []*schedule.Move) (bool, error)
}

// Visited reports whether another schedule was in this state before.
func (v stateView) Visited(asleep []*schedule.Move) (bool, error) { return v.isVisited(asleep) }
