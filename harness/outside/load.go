package outside

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/workloads"
)

const (
	// patience bounds the time of an operation under load. After that its process is replaced, which may stand for ever.
	patience = 15 * time.Second
	// timeout is the time for which a program under load is asked to wait for an answer of Redis.
	timeout = time.Second
	// startAgainAfter bounds how often a process is started that cannot begin.
	startAgainAfter = time.Second
)

// On returns one more client whose masters are where the Redis clients lead. Clients with the same first one share processes, and
// addresses. A process that cannot be started is the error of each operation. Without any, or with a nil one, nothing is started.
func (p *Program) On(masters ...redis.UniversalClient) workloads.Operations {
	s := &seat{program: p, masters: masters}
	if len(masters) > 0 && masters[0] != nil {
		_ = s.sit() // ask says why
	}
	return operations{s.ask}
}

// Beside returns the client with which the harness itself looks, in the end of a schedule: one for each r. Its process is started with
// its first operation.
func (p *Program) Beside(r redis.UniversalClient) workloads.Operations {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.beside[r] == nil {
		p.beside[r] = &seat{program: p, masters: []redis.UniversalClient{r}, what: inSearch}
	}
	return operations{p.beside[r].ask}
}

// seat is one client under load, or the harness's own in a search. It does one operation at a time.
type seat struct {
	program *Program
	masters []redis.UniversalClient
	what    purpose
	group   *group
	child   *child
	number  int // of the client in its process, from 1
}

// ask asks the seat's process, and gives it another one in place of one that broke down.
func (s *seat) ask(ctx context.Context, r request) (answer, error) {
	if err := s.sit(); err != nil {
		return answer{}, fmt.Errorf("%w: no process: %w", errNothingDone, err)
	}
	r.Client = s.number
	s.group.watch(ctx)
	a, err := s.child.ask(ctx, r, patience)
	if err == nil && a.OK != nil && *a.OK && !s.group.hasHeard() {
		s.child.breakDown(errElsewhere(r.Do, s.group.to[0].address))
		return a, s.child.why
	}
	return a, err
}

// sit gives the seat a process, if it has none that lives.
func (s *seat) sit() (err error) {
	if s.child != nil && !s.child.isBroken() {
		return nil
	}
	if s.group, err = s.program.group(s.masters); err != nil {
		return err
	}
	s.child, s.number, err = s.group.sit(s.program, s.what)
	return err
}

// errElsewhere is the error of a program that succeeds without its Redis.
func errElsewhere(do, address string) error {
	return fmt.Errorf("%s was answered ok, and no command has come to %s: it talks to another Redis than the one that init names", do, urlOf(address))
}

// group holds the processes of one client group under load. They share addresses.
type group struct {
	to ways

	mu       sync.Mutex
	closed   bool
	all      []*child
	seats    map[*child]int // clients that a process has had
	failed   error          // why the last process could not begin; nil: it could
	failedAt time.Time

	struck strikes
}

// group returns the group of some Redis clients, new if it is the first time.
func (p *Program) group(masters []redis.UniversalClient) (_ *group, err error) {
	to := p.straightTo(masters)
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
	g := &group{to: to, seats: map[*child]int{}}
	p.groups[masters[0]] = g
	return g, nil
}

// hasHeard reports whether a command has come to one of the group's addresses. Of nodes' own addresses straightTo has made sure.
func (g *group) hasHeard() bool { return g.to[0].relay == nil || g.to.heard() > 0 }

// sit returns a process that has room for one more client, and the client's number in it.
func (g *group) sit(p *Program, what purpose) (*child, int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, 0, errClosed
	}
	if c := g.free(p.client.Processes); c != nil {
		g.seats[c]++
		return c, g.seats[c], nil
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
	g.seats[c] = 1
	return c, 1, nil
}

// free returns the process with the fewest clients that has room for one more; nil: it is time for another process. The caller holds
// the lock.
func (g *group) free(processes int) (best *child) {
	alive := 0
	for _, c := range g.all {
		if c.isBroken() {
			continue
		}
		alive++
		if room := c.ready.Clients; (room == 0 || g.seats[c] < room) && (best == nil || g.seats[c] < g.seats[best]) {
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
	alive := g.all[:0]
	for _, c := range g.all {
		if c.isBroken() {
			g.struck.drop(c)
			c.end()
			delete(g.seats, c)
			continue
		}
		alive = append(alive, c)
	}
	g.all = alive
}

// close ends the group's processes, and closes its address.
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
