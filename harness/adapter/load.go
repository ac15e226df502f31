package adapter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/workloads"
)

const (
	// patience bounds the time of an operation under load. A process that takes longer is replaced, since it may hang for
	// ever.
	patience = 15 * time.Second
	// timeout is how long init asks a program under load to wait for Redis.
	timeout = time.Second
	// startAgainAfter is how long a group waits after a process has failed to begin, before it starts another.
	startAgainAfter = time.Second
)

// LoadClient returns the operations of one more client under load, which uses the masters of the given Redis clients.
// Clients with the same first Redis client share processes and addresses. If a process cannot be started, each
// operation returns the error. Without a first Redis client LoadClient starts no process: the result only shows which
// operations exist.
func (p *Runner) LoadClient(masters ...redis.UniversalClient) workloads.Operations {
	s := &loadClient{program: p, masters: masters}
	if len(masters) > 0 && masters[0] != nil {
		_ = s.ensureProcess() // ask says why
	}
	return operations{s.ask}
}

// Observer returns the operations of the harness's own client of a search, which looks at Redis at the end of each
// schedule. Calls with the same r share one client. The client's process starts with the first operation.
func (p *Runner) Observer(r redis.UniversalClient) workloads.Operations {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.beside[r] == nil {
		p.beside[r] = &loadClient{program: p, masters: []redis.UniversalClient{r}, what: inSearch}
	}
	return operations{p.beside[r].ask}
}

// loadClient is a client under load, or the harness's own client of a search. It does one operation at a time.
type loadClient struct {
	program *Runner
	masters []redis.UniversalClient
	what    purpose
	group   *group
	process *process
	number  int // number of the client in its process, from 1
}

// ask sends a request to the client's process. A process that has broken down is replaced first.
func (s *loadClient) ask(ctx context.Context, r request) (answer, error) {
	if err := s.ensureProcess(); err != nil {
		return answer{}, fmt.Errorf("%w: no process: %w", errNothingDone, err)
	}
	r.Client = s.number
	s.group.watch(ctx)
	a, err := s.process.ask(ctx, r, patience)
	// of direct connections, directTo has checked that commands come
	if to := s.group.to; err == nil && a.OK != nil && *a.OK && to[0].relay != nil && to.heard() == 0 {
		s.process.breakDown(fmt.Errorf("%s was answered ok, and no command has come to %s: it talks to another Redis "+
			"than the one that init names", r.Do, urlOf(to[0].address)))
		return a, s.process.why
	}
	return a, err
}

// ensureProcess gives the client a process if it has none, or if its process has broken down.
func (s *loadClient) ensureProcess() (err error) {
	if s.process != nil && !s.process.isBroken() {
		return nil
	}
	if s.group, err = s.program.group(s.masters); err != nil {
		return err
	}
	s.process, s.number, err = s.group.assign(s.program, s.what)
	return err
}

// group holds the processes that the clients of one client group share, and the addresses that these processes use.
type group struct {
	to endpoints

	mu       sync.Mutex
	closed   bool
	all      []*process
	clients  map[*process]int // number of clients that each process has had
	failed   error            // why the latest process could not begin; nil: that process has begun
	failedAt time.Time

	struck strikes
}

// group returns the group of the clients whose first master is masters[0]. It makes the group if there is none.
func (p *Runner) group(masters []redis.UniversalClient) (_ *group, err error) {
	to := p.directTo(masters)
	p.mu.Lock()
	defer p.mu.Unlock()
	if g, ok := p.groups[masters[0]]; ok {
		return g, nil
	}
	if p.closed {
		return nil, errClosed
	}
	if to == nil {
		if to, err = relaysTo(masters, false); err != nil {
			return nil, err
		}
	}
	g := &group{to: to, clients: map[*process]int{}}
	p.groups[masters[0]] = g
	return g, nil
}

// assign returns a process that can take one more client, and the number of that client among the process's clients.
func (g *group) assign(p *Runner, what purpose) (*process, int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, 0, errClosed
	}
	if c := g.leastUsed(p.adapter.Processes); c != nil {
		g.clients[c]++
		return c, g.clients[c], nil
	}
	if g.failed != nil && time.Since(g.failedAt) < startAgainAfter {
		return nil, 0, g.failed
	}
	c, err := p.start(g.to.init(), what)
	if g.failed = err; err != nil {
		g.failedAt = time.Now()
		return nil, 0, err
	}
	g.removeBroken()
	g.all = append(g.all, c)
	g.struck.add(c)
	g.clients[c] = 1
	return c, 1, nil
}

// leastUsed returns the process with the fewest clients, among those that can take one more. It returns nil if another
// process has to be started: all are full, or fewer than the given number of processes live. The caller holds the lock.
func (g *group) leastUsed(processes int) (best *process) {
	alive := 0
	for _, c := range g.all {
		if c.isBroken() {
			continue
		}
		alive++
		if room := c.ready.Clients; (room == 0 || g.clients[c] < room) &&
			(best == nil || g.clients[c] < g.clients[best]) {
			best = c
		}
	}
	if alive < processes {
		return nil
	}
	return best
}

// removeBroken ends processes that broke down. The caller holds the lock.
func (g *group) removeBroken() {
	g.all = slices.DeleteFunc(g.all, func(c *process) bool {
		if !c.isBroken() {
			return false
		}
		g.struck.drop(c)
		c.end()
		delete(g.clients, c)
		return true
	})
}

// close ends the group's processes, and closes its addresses.
func (g *group) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	g.struck.end()
	var ending sync.WaitGroup
	for _, c := range g.all {
		c.breakDown(errors.New("the load is over"))
		ending.Go(c.end)
	}
	ending.Wait()
	g.all = nil
	g.to.close()
}
