package adapter

import (
	"context"
	"slices"
	"sync"
	"syscall"

	"github.com/doublegrant/doublegrant/harness"
)

// strikes does to the processes of a group what a nemesis does to the group's clients: it stops, continues and kills
// them.
type strikes struct {
	begin   sync.Once // lets watch act only once
	mu      sync.Mutex
	stop    func() // ends what watch has begun; nil: watch has begun nothing
	stopped bool
	alive   []*process // the processes that have not been waited for
}

// watch lets nemeses of clients strike the group's processes too. The client of ctx stands for its group: whenever a
// nemesis stops, continues or kills it, the processes get the same signal. Further calls of watch do nothing.
func (g *group) watch(ctx context.Context) {
	s := &g.struck
	s.begin.Do(func() {
		stop := harness.OnStrike(ctx, s.strike) // which takes the lock
		s.mu.Lock()
		defer s.mu.Unlock()
		s.stop = stop
	})
}

func (s *strikes) strike(how harness.Strike) {
	s.mu.Lock()
	defer s.mu.Unlock()
	signal := map[harness.Strike]syscall.Signal{harness.Freezes: syscall.SIGSTOP, harness.Thaws: syscall.SIGCONT,
		harness.Kills: syscall.SIGKILL}[how]
	s.stopped = how == harness.Freezes || how == harness.Kills && s.stopped
	for _, c := range s.alive {
		c.signal(signal)
	}
}

// add adds a new process. It stops the process if the group's clients are stopped.
func (s *strikes) add(c *process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.alive = append(s.alive, c)
	if s.stopped {
		c.signal(syscall.SIGSTOP)
	}
}

// drop removes a process that is about to be waited for. After that, its pid may belong to another process.
func (s *strikes) drop(c *process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.alive = slices.DeleteFunc(s.alive, func(a *process) bool { return a == c })
}

func (s *strikes) end() {
	s.mu.Lock()
	stop := s.stop
	s.alive = nil
	s.mu.Unlock()
	if stop != nil {
		stop() // it waits for a strike that is under way, which takes the lock
	}
}
