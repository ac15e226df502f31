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

// On returns one more client whose Redis is where r leads. Clients with the same r share processes, and an address. A process that
// cannot be started is the error of each operation. With a nil r nothing is started.
func (p *Program) On(r redis.UniversalClient) workloads.Operations {
	s := &seat{program: p, redis: r}
	if r != nil {
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
		p.beside[r] = &seat{program: p, redis: r, what: inSearch}
	}
	return operations{p.beside[r].ask}
}

// seat is one client under load, or the harness's own in a search. It does one operation at a time.
type seat struct {
	program *Program
	redis   redis.UniversalClient
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
		s.child.breakDown(errElsewhere(r.Do, s.group.address))
		return a, s.child.why
	}
	return a, err
}

// sit gives the seat a process, if it has none that lives.
func (s *seat) sit() (err error) {
	if s.child != nil && !s.child.isBroken() {
		return nil
	}
	if s.group, err = s.program.group(s.redis); err != nil {
		return err
	}
	s.child, s.number, err = s.group.sit(s.program, s.what)
	return err
}

// errElsewhere is the error of a program that succeeds without its Redis.
func errElsewhere(do, address string) error {
	return fmt.Errorf("%s was answered ok, and no command has come to %s: it talks to another Redis than the one that init names", do, urlOf(address))
}

// group holds the processes of one client group under load. They share one address.
type group struct {
	address string
	relay   *relay // whose address it is; nil: the address is a node's own

	mu       sync.Mutex
	closed   bool
	all      []*child
	seats    map[*child]int // clients that a process has had
	failed   error          // why the last process could not begin; nil: it could
	failedAt time.Time

	struck strikes
}

// group returns the group of a Redis client, new if it is the first time.
func (p *Program) group(r redis.UniversalClient) (_ *group, err error) {
	straight := p.straightTo(r)
	p.mu.Lock()
	defer p.mu.Unlock()
	if g, ok := p.groups[r]; ok {
		return g, nil
	}
	if p.closed {
		return nil, errClosed
	}
	g := &group{address: straight, seats: map[*child]int{}}
	if straight == "" {
		if g.relay, err = newRelay(r, false); err != nil {
			return nil, err
		}
		g.address = g.relay.address()
	}
	p.groups[r] = g
	return g, nil
}

// hasHeard reports whether a command has come to the group's address. Of a node's own address straightTo has made sure.
func (g *group) hasHeard() bool { return g.relay == nil || g.relay.heard.Load() }

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
	c, err := p.start(urlOf(g.address), request{Timeout: timeout.Milliseconds()}, what)
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
	if g.relay != nil {
		g.relay.close()
	}
}
