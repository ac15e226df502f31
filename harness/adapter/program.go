package adapter

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/doublegrant/doublegrant/workloads"
)

// Runner runs an adapter. In a search each client has a process of its own, for all schedules. Under load the clients
// of a group share processes. A process is started when it is first needed.
type Runner struct {
	command []string
	adapter workloads.Adapter
	// prepare makes the command before the first process starts, and the function that removes its files. It is nil if
	// command is already set.
	prepare func() (command []string, remove func() error, err error)

	mu     sync.Mutex
	remove func() error // removes what prepare has made; nil: prepare has made nothing
	closed bool
	// logs is the folder for the standard error of processes. Empty: nothing is kept.
	logs       string
	started    int                                   // number of processes started so far
	gates      map[string]*process                   // processes of searches, by address of the gate
	announcing map[string]*announcing                // processes that drive themselves, by address of the gate
	groups     map[redis.UniversalClient]*group      // groups by their first master, for loads and for Observer
	beside     map[redis.UniversalClient]*loadClient // the clients that Observer has returned
	clocks     clocks                                // preloaded clocks

	trying sync.Mutex // guards the field direct, also while the program is tried
	direct directRoute
}

var _ workloads.AdapterRunner = (*Runner)(nil)

// New returns a runner of the adapter c.
func New(c workloads.Adapter) *Runner {
	return &Runner{command: c.Command, adapter: c, gates: map[string]*process{}, announcing: map[string]*announcing{},
		groups: map[redis.UniversalClient]*group{}, beside: map[redis.UniversalClient]*loadClient{}}
}

// Variant makes a variant of an adapter, with a new runner. An error says what to change in the adapter's settings.
func Variant(c workloads.Adapter) (workloads.Variant, error) {
	return workloads.AdapterVariant(c, New(c))
}

// LogTo makes each process that is started from now on write its standard error to a file in the folder dir.
func (p *Runner) LogTo(dir string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.logs = dir
}

// Close ends all processes, also those in the middle of an operation. It may be called twice.
func (p *Runner) Close() {
	p.mu.Lock()
	p.closed = true
	gates, drives, groups := p.gates, p.announcing, p.groups
	p.gates, p.announcing, p.groups = map[string]*process{}, map[string]*announcing{},
		map[redis.UniversalClient]*group{}
	p.mu.Unlock()
	var ending sync.WaitGroup
	for _, c := range gates {
		ending.Go(c.end)
	}
	for _, d := range drives {
		ending.Go(d.kill)
	}
	for _, g := range groups {
		ending.Go(g.close)
	}
	ending.Wait()
	p.clocks.clear()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.remove != nil {
		_ = p.remove() // what stays does not outlive this process
		p.remove = nil
	}
}

// prepared returns the command, and makes it first if that was not done yet.
func (p *Runner) prepared() (command []string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed:
		return nil, errClosed
	case p.command == nil && p.prepare != nil:
		p.command, p.remove, err = p.prepare()
	}
	return p.command, err
}

var errClosed = errors.New("the adapter is closed")

// purpose says what a process is started for.
type purpose bool

const (
	underLoad purpose = false // for a load or a trial: the process's clock is the machine's
	inSearch  purpose = true  // for a search: the process's clock is the schedule's
)

// start starts one more process. In a search, a process may answer init with the wish for a preloaded clock. In that
// case start ends the process and starts another one with such a clock.
func (p *Runner) start(init request, what purpose) (*process, error) {
	preload := what == inSearch && p.adapter.Clock == workloads.PreloadedClock
	c, err := p.startOnce(init, preload)
	switch {
	case err != nil || what != inSearch:
		return c, err
	case c.ready.Clock == workloads.RealClock && p.adapter.Clock != workloads.RealClock:
		c.end()
		return nil, fmt.Errorf("it says now that its clock is real, and said %q before", p.adapter.Clock)
	case c.ready.Clock == workloads.PreloadedClock && !preload:
		c.end()
		return p.startOnce(init, true)
	}
	return c, nil
}

// startOnce starts one more process, with its clock preloaded or not.
func (p *Runner) startOnce(init request, preload bool) (*process, error) {
	command, err := p.prepared()
	if err != nil {
		return nil, err
	}
	init.Family = string(p.adapter.As)
	switch connects := p.adapter.Connect != ""; {
	case p.adapter.Announces:
		return nil, errAnnounces
	case connects && preload:
		return nil, fmt.Errorf("its clock cannot be preloaded, since %s was not started here: start it by its "+
			"command, or let it ask for the time, %s", p.adapter.Connect, page)
	case connects:
		return connect(p.adapter.Connect, init)
	}
	p.mu.Lock()
	dir := p.logs
	p.started++
	name := fmt.Sprintf("client-%d.log", p.started)
	p.mu.Unlock()
	log, err := openLog(dir, name)
	if err != nil {
		return nil, err
	}
	var clocks *clocks
	if preload {
		clocks = &p.clocks
	}
	return start(command, log, init, clocks)
}

// SearchClient returns the operations of the client whose gate is at address, for one schedule of a search. If the
// process cannot be started, it returns an error that wraps interleave.ErrAdapter. If the process ends later or breaks
// the protocol, the search is abandoned with an error that wraps interleave.ErrAdapter.
func (p *Runner) SearchClient(address string) (workloads.Operations, error) {
	c, err := p.atGate(address)
	if err != nil {
		return nil, broken(err)
	}
	begun := false
	return operations{func(ctx context.Context, r request) (a answer, err error) {
		ctx = context.WithValue(ctx, searched{}, true)
		if c.ready.Reset && !begun {
			_, err = c.ask(ctx, request{Do: doReset}, 0)
		}
		if begun = true; err == nil {
			r.Client = 1
			a, err = c.ask(ctx, r, 0)
		}
		if err != nil && !errors.Is(err, errKilled) {
			harness.Abandon(ctx, broken(err))
		}
		return a, err
	}}, nil
}

// errKilled is the error of a process that was killed because its client has crashed.
var errKilled = errors.New("the client has crashed, and its process was killed")

// Kill ends the process of the client whose gate is at address. The next schedule starts a new one.
func (p *Runner) Kill(address string) {
	p.mu.Lock()
	c, d := p.gates[address], p.announcing[address]
	delete(p.gates, address)
	delete(p.announcing, address)
	p.mu.Unlock()
	if d != nil {
		d.kill()
	}
	if c != nil {
		c.breakDown(errKilled)
		c.end()
	}
}

// atGate returns the process of the client whose gate is at address. It starts a process if there is none, or if the
// last one kept asking for the time after a crash (errStillAsks).
func (p *Runner) atGate(address string) (*process, error) {
	p.mu.Lock()
	c, ok := p.gates[address]
	p.mu.Unlock()
	switch {
	case ok && c.isBroken() && errors.Is(c.why, errStillAsks):
		c.end()
	case ok:
		return c, nil
	}
	c, err := p.start(request{Redis: urlOf(address)}, inSearch)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		c.end()
		return nil, errClosed
	}
	p.gates[address] = c
	return c, nil
}

// urlOf returns the URL of a server at address: a host and port, or the path of a Unix socket.
func urlOf(address string) string {
	if strings.HasPrefix(address, "/") {
		return "unix://" + address
	}
	return "redis://" + address
}

// broken returns err as an error that also wraps interleave.ErrAdapter.
func broken(err error) error { return fmt.Errorf("%w: %w", interleave.ErrAdapter, err) }
