package explore

import (
	"context"

	"github.com/doublegrant/doublegrant/harness/explore/internal/frontier"
	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// This file has workers go through the planned schedules.

// work runs schedules in one world.
func (s *search) work(ctx context.Context, w *world) {
	s.goThrough(ctx, w, s.judge, func() bool { return true })
}

// remembers reports whether the search may run schedules from memory.
func (s *search) remembers(worlds []*world) bool {
	p := s.spec.Program
	return !s.spec.Unremembered && !s.spec.forgetful && worlds[0].SetsClocks() && p.Gate == interleave.InProcess
}

// judgedAtOnce is the number of schedules run from memory that may wait for a judge.
const judgedAtOnce = 64

// workFromMemory runs schedules from memory, as long as that works. One worker does, so that what is known at what time does not depend
// on which of them is faster. Others judge, if there are any, and the search is not to end at an exact schedule.
func (s *search) workFromMemory(ctx context.Context, w *world, judged chan<- descent, others bool) {
	defer close(judged)
	judge := s.judge
	if others && !s.spec.First && s.spec.MaxSchedules == 0 {
		judge = func(_ context.Context, v descent) error {
			judged <- v
			return nil
		}
	}
	s.goThrough(ctx, w, judge, s.memory.Works)
}

// goThrough runs schedules in one world, as long as more is true and there are any.
func (s *search) goThrough(ctx context.Context, w *world, judge func(context.Context, descent) error, more func() bool) {
	k := worker{newRunner(s.spec, w), s}
	defer k.alarm.Stop()
	for more() {
		j, ok := s.next()
		if !ok {
			return
		}
		err := catchPanics(func() error { return k.explore(ctx, j, judge) })
		s.workerDone()
		if err != nil {
			s.plan(j.PutBack)
			s.fail(err)
			return
		}
	}
}

// judgeAll judges schedules until there are no more.
func (s *search) judgeAll(ctx context.Context, all <-chan descent) {
	for v := range all {
		if err := catchPanics(func() error { return s.judge(ctx, v) }); err != nil {
			s.fail(err)
		}
	}
}

// explore runs a schedule, and plans those that leave it.
func (k worker) explore(ctx context.Context, j frontier.Job, judge func(context.Context, descent) error) error {
	v := descent{job: j}
	_, err := k.undisturbed(ctx, k.search.budget, func() (*execution, error) { return k.attempt(ctx, &v) })
	if err != nil {
		if len(v.claimed) > 0 {
			k.search.states.Forget(v.claimed)
		}
		return err
	}
	k.search.plan(j.Done)
	return judge(ctx, v)
}

// worker runs the schedules of a search in one world.
type worker struct {
	runner
	search *search
}

// attempt runs a schedule. It returns what was really run, nil if the schedule was run from memory.
func (k worker) attempt(ctx context.Context, v *descent) (really *execution, err error) {
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
func (k worker) drive(ctx context.Context, v *descent) (err error) {
	isVisited := func(asleep []*schedule.Move) (bool, error) { return k.isVisited(ctx, v, asleep) }
	v.ended, err = v.ex.drive(ctx, v.job.Strategy(), stateView{v.ex, isVisited})
	return err
}

// stateView is what the strategy of a search sees that keeps states.
type stateView struct {
	*execution
	isVisited func(asleep []*schedule.Move) (bool, error)
}

// Visited reports whether another schedule has come to this state before.
func (v stateView) Visited(asleep []*schedule.Move) (bool, error) { return v.isVisited(asleep) }
