package explore

import (
	"context"
	"sync"
)

// This file runs a source's schedules by workers. If schedules can be run from memory, one worker does so, and the
// others judge. When memory stops working, all run schedules live.

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

// work runs schedules in one world.
func (s *search) work(ctx context.Context, w *world) {
	s.goThrough(ctx, w, s.judge, func() bool { return true })
}

// remembers reports whether the search may run schedules from memory. It may not if clients read the machine's clock,
// since they then depend on more than Redis and the harness.
func (s *search) remembers(worlds []*world) bool {
	p := s.spec.Program
	return !s.spec.WithoutMemory && !s.spec.forgetful && worlds[0].SetsClocks() && !p.RealClock &&
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

// judgeAll judges schedules until the channel is closed.
func (s *search) judgeAll(ctx context.Context, all <-chan jobRun) {
	for v := range all {
		if err := s.judgeSafely(ctx, v, s.judge); err != nil {
			s.fail(err)
		}
	}
}
