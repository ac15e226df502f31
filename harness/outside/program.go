package outside

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/doublegrant/doublegrant/workloads"
)

// Program is a program outside this process. Under the explorer each client is a process of its own, which serves all schedules of its
// gate. Under load the clients of a group share processes. Each is started when it is first needed.
type Program struct {
	command []string
	family  workloads.Family

	mu      sync.Mutex
	closed  bool
	logs    string                           // the folder for what processes write to their standard error; empty: none
	started int                              // processes so far
	gates   map[string]*child                // of searches, by address of the gate
	groups  map[redis.UniversalClient]*group // of loads, and of the harness's own looks
	beside  map[redis.UniversalClient]*seat  // of the harness
}

var _ workloads.Outside = (*Program)(nil)

// New returns the program that the command starts, as an algorithm of the family. With an empty family the program says which it is.
func New(family workloads.Family, command ...string) *Program {
	return &Program{command: command, family: family, gates: map[string]*child{}, groups: map[redis.UniversalClient]*group{}, beside: map[redis.UniversalClient]*seat{}}
}

// Variant makes a variant of a client, with a program of its own. An error says what to change in the client's settings.
func Variant(c workloads.Client) (workloads.Variant, error) {
	return workloads.ClientVariant(c, New(c.As, c.Command...))
}

// LogTo keeps what processes that start from now on write to their standard error in the folder dir, a file each.
func (p *Program) LogTo(dir string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.logs = dir
}

// Close ends all processes, also those that are in the middle of something. It may be called twice.
func (p *Program) Close() {
	p.mu.Lock()
	p.closed = true
	gates, groups := p.gates, p.groups
	p.gates, p.groups = map[string]*child{}, map[redis.UniversalClient]*group{}
	p.mu.Unlock()
	var ending sync.WaitGroup
	for _, c := range gates {
		ending.Go(c.end)
	}
	for _, g := range groups {
		ending.Go(g.close)
	}
	ending.Wait()
}

// errClosed is the error of a program that was closed.
var errClosed = errors.New("the program is closed")

// start starts one more process, whose Redis is at url.
func (p *Program) start(url string, init request) (*child, error) {
	p.mu.Lock()
	dir, closed := p.logs, p.closed
	p.started++
	name := fmt.Sprintf("client-%d.log", p.started)
	p.mu.Unlock()
	if closed {
		return nil, errClosed
	}
	log, err := openLog(dir, name)
	if err != nil {
		return nil, err
	}
	init.Family, init.Redis = string(p.family), url
	return start(p.command, log, init)
}

// At returns the client of a search whose gate is at address, for one schedule. It panics with an error that wraps
// interleave.ErrOutside if the process cannot be started, ends or makes no sense; what it returns does the same.
func (p *Program) At(address string) workloads.Operations {
	c := p.atGate(address)
	begun := false
	return operations{func(ctx context.Context, r request) (answer, error) {
		if c.ready.Reset && !begun {
			mustAnswer(c.ask(ctx, request{Do: doReset}, 0))
		}
		begun = true
		r.Client = 1
		return mustAnswer(c.ask(ctx, r, 0)), nil
	}}
}

// atGate returns the process of a gate.
func (p *Program) atGate(address string) *child {
	p.mu.Lock()
	c, ok := p.gates[address]
	p.mu.Unlock()
	if ok {
		return c
	}
	c, err := p.start(urlOf(address), request{})
	if err != nil {
		panic(broken(err))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		c.end()
		panic(broken(errClosed))
	}
	p.gates[address] = c
	return c
}

// urlOf returns the URL of a gate: of a port, or of a Unix socket, whose address begins with a slash.
func urlOf(address string) string {
	if strings.HasPrefix(address, "/") {
		return "unix://" + address
	}
	return "redis://" + address
}

func mustAnswer(a answer, err error) answer {
	if err != nil {
		panic(broken(err))
	}
	return a
}

// broken makes the error with which a client of a search panics.
func broken(err error) error { return fmt.Errorf("%w: %w", interleave.ErrOutside, err) }
