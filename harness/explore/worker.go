package explore

import (
	"context"
	"time"
)

// This file has workers go through the planned branches.

// work runs items in one world.
func (s *search) work(ctx context.Context, w *world) {
	s.goThrough(ctx, w, s.judge, func() bool { return true })
}

// judgedAtOnce is the number of schedules run from memory that may wait for a judge.
const judgedAtOnce = 64

// workFromMemory runs items from memory, as long as that works. One worker does, so that what is known at what time does not depend
// on which of them is faster. Others judge, if there are any, and the search is not to end at an exact schedule.
func (s *search) workFromMemory(ctx context.Context, w *world, judged chan<- visit, others bool) {
	defer close(judged)
	judge := s.judge
	if others && !s.spec.First && s.spec.MaxSchedules == 0 {
		judge = func(_ context.Context, v visit) error {
			judged <- v
			return nil
		}
	}
	s.goThrough(ctx, w, judge, s.memory.works)
}

// goThrough runs items in one world, as long as more is true and there are any.
func (s *search) goThrough(ctx context.Context, w *world, judge func(context.Context, visit) error, more func() bool) {
	alarm := time.NewTimer(parkWithin)
	defer alarm.Stop()
	for more() {
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
	err := attempts{s.spec, s.budget, w, alarm}.run(ctx, func() (*execution, error) {
		v = visit{search: s, item: it, cost: it.cost, looked: v.looked, claimed: v.claimed}
		return v.run(ctx, w, alarm)
	})
	if err != nil {
		s.states.Forget(v.claimed)
		return err
	}
	s.push(v.plan)
	return judge(ctx, v)
}
