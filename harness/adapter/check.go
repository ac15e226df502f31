package adapter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/workloads"
)

// trialTTL is the lease and the window of a check. Neither ends during the check.
const trialTTL = 10 * time.Second

// answerWithin is how long a check waits for each answer. Tests shorten it.
var answerWithin = 3 * time.Second

// Servers returns Redis clients of count independent servers. If replicated is true, each server has replicas.
type Servers func(count int, replicated bool) ([]redis.UniversalClient, error)

// Check tries everything that the adapter c says that it can do. It calls the parameter say after each step, with a nil
// error if the step went well. It returns c completed by the adapter's description of itself, and the first error.
//
// The first try is on one Redis. If the adapter needs several masters, Check tries it again on that many. If a step
// failed after the adapter had sent WAIT, Check tries it again with replicas. The keys of the check begin with
// doublegrant-trial. A correct adapter leaves none of them behind.
func Check(
	ctx context.Context, c workloads.Adapter, servers Servers, say func(step string, err error),
) (workloads.Adapter, error) {
	return New(c).tryOn(ctx, servers, say, (*trial).askEverything)
}

// Describe completes c by the adapter's description of itself. It does not check the algorithm. It asks for one
// operation only, to see whether the adapter uses the Redis that it was told to use.
func Describe(ctx context.Context, c workloads.Adapter, servers Servers) (workloads.Adapter, error) {
	return New(c).tryOn(ctx, servers, func(string, error) {}, (*trial).askOnce)
}

// tryOn starts the program on one server and calls the parameter all, a function that does the steps. It tries again on
// more servers if the program needs more masters, and with replicas if a step failed after a WAIT. It reports only the
// steps of the last try.
func (p *Runner) tryOn(ctx context.Context, servers Servers, say func(string, error),
	all func(*trial, workloads.Adapter)) (workloads.Adapter, error) {
	one, err := servers(1, false)
	if err != nil {
		return p.adapter, err
	}
	var told []func() // the steps of the first try, which count unless there is a second
	c, awaits, err := p.try(ctx, one,
		func(step string, wrong error) { told = append(told, func() { say(step, wrong) }) }, all)
	replicated := err != nil && awaits
	if !replicated && !errors.Is(err, errAsksMore) {
		for _, tell := range told {
			tell()
		}
		return c, err
	}
	more, err := servers(max(c.Masters, 1), replicated)
	if err != nil {
		return c, err
	}
	c, _, err = p.try(ctx, more, say, all)
	return c, err
}

// errAsksMore is the error of a trial on fewer masters than the program needs.
var errAsksMore = errors.New("it asks more masters than there are")

// try starts the program on the masters and calls the parameter all, a function that does the steps. The second result
// is true if the program has sent WAIT or WAITAOF.
func (p *Runner) try(ctx context.Context, masters []redis.UniversalClient, say func(string, error),
	all func(*trial, workloads.Adapter)) (c workloads.Adapter, awaits bool, err error) {
	to, err := relaysTo(masters, true)
	if err != nil {
		return p.adapter, false, err
	}
	defer to.close()
	t := &trial{ctx: ctx, to: to, say: say}
	defer func() {
		for _, c := range t.processes {
			c.end()
		}
	}()
	began := time.Now()
	c, err = t.begin(p)
	if err == nil && c.Masters > len(to) {
		return c, false, errAsksMore
	}
	say(fmt.Sprintf("init: it begins within %v (took %v)", startWithin, time.Since(began).Round(time.Millisecond)), err)
	if err != nil {
		return c, false, err
	}
	all(t, c)
	return c, to.awaited(), t.first
}

// trial asks a program for operations, one after the other, until something is wrong.
type trial struct {
	ctx       context.Context
	processes []*process // one process, or one for each of two clients
	to        endpoints  // addresses of the masters, all with relays
	say       func(string, error)
	first     error // the first thing that was wrong
}

// begin starts the program, in two processes if one process serves only one client. It returns the adapter completed by
// the program's description of itself.
func (t *trial) begin(p *Runner) (workloads.Adapter, error) {
	for len(t.processes) == 0 || len(t.processes) == 1 && t.processes[0].ready.Clients == 1 {
		one, err := p.start(t.to.init(), underLoad)
		if err != nil {
			return p.adapter, err
		}
		t.processes = append(t.processes, one)
	}
	ready := t.processes[0].ready
	return p.adapter.WithDescription(ready.Can, ready.Symmetric, ready.Clock, ready.Masters)
}

func (t *trial) askEverything(c workloads.Adapter) {
	so := ", so it is a " + string(c.As)
	if c.Masters > 0 {
		so += fmt.Sprintf(" on %d masters or more", c.Masters)
	}
	t.step("it can "+strings.Join(c.Can, ", ")+so, func() error { return nil })
	switch c.As {
	case workloads.Lock:
		t.lock(slices.Contains(c.Can, workloads.DoExtend))
	case workloads.Dedup:
		t.dedup(slices.Contains(c.Can, workloads.DoConfirm))
	default:
		t.sequence()
	}
	t.checkHeard()
	t.checkAsks()
	t.step("its clock: "+string(cmp.Or(c.Clock, workloads.AskedClock)), func() error { return t.clock(c) })
	if t.processes[0].ready.Reset {
		t.ask("reset: answered ok", true, request{Do: doReset})
	}
	t.reconnects(c.As)
	t.step("it writes nothing but answers", t.broken)
}

// clock returns an error if the program asks for a preloaded clock, but cannot be started with one.
func (t *trial) clock(c workloads.Adapter) error {
	if c.Clock != workloads.PreloadedClock {
		return nil
	}
	p := New(c)
	defer p.Close()
	one, err := p.start(t.to.init(), inSearch)
	if err == nil {
		one.end()
	}
	return err
}

func (t *trial) askOnce(c workloads.Adapter) {
	t.step("the first operation", func() error { return t.withAddress(t.firstOperation(c.As, workloads.TrialKey)) })
	t.checkHeard()
}

// checkHeard is a step that fails unless commands of the program have reached Redis. If there are several masters,
// commands must have reached most of them.
func (t *trial) checkHeard() {
	names := "its commands come to the Redis that init names"
	if len(t.to) > 1 {
		names = "its commands come to most of the masters that init names"
	}
	t.step(names, func() error {
		heard := t.to.heard()
		switch {
		case heard == 0:
			return fmt.Errorf("none has come to %s: it talks to another Redis", t.to.init().Redis)
		case heard <= len(t.to)/2:
			return fmt.Errorf("they have come to %d of %d: a lock on fewer than most is none", heard, len(t.to))
		}
		return nil
	})
}

// checkAsks is a step for programs that have subscribed to a channel. It fails if the program has not asked for
// messages.
func (t *trial) checkAsks() {
	if !slices.ContainsFunc(t.to, func(w endpoint) bool { return w.relay.subscribed.Load() }) {
		return
	}
	t.step("it has subscribed, and asks before it reads a message", func() error {
		if !slices.ContainsFunc(t.processes, func(c *process) bool { return c.hears.Load() }) {
			return fmt.Errorf("it has never asked for a message, and in a search nobody sees when it reads: let it "+
				"ask before, %s", page)
		}
		return nil
	})
}

// firstOperation does the first operation of the family f, with key as the name. It claims a message, draws a number,
// or acquires and releases a lock. The answer "not ok" is not an error.
func (t *trial) firstOperation(f workloads.Family, key string) (err error) {
	ops := t.operations(1)
	switch f {
	case workloads.Lock:
		if _, err = ops.Acquire(t.ctx, key, key, trialTTL); err == nil {
			_, err = ops.Release(t.ctx, key, key)
		}
	case workloads.Dedup:
		_, err = ops.First(t.ctx, key, trialTTL)
	default:
		_, err = ops.Next(t.ctx, key, "23")
	}
	return err
}

func (t *trial) lock(extends bool) {
	acquire := request{Do: workloads.DoAcquire, Client: 1, Key: workloads.TrialKey, Owner: workloads.TrialKey + "-1",
		TTL: milliseconds(trialTTL)}
	other := acquire
	other.Client, other.Owner = 2, workloads.TrialKey+"-2"
	t.ask("acquire: ok, for the lock is free", true, acquire)
	t.ask("acquire by another client: not ok, for it is taken", false, other)
	if extends {
		t.ask("extend: ok, for the lock is the caller's", true, withOperation(acquire, workloads.DoExtend))
	}
	t.ask("release: ok, for the lock is the caller's", true, withOperation(acquire, workloads.DoRelease))
	t.ask("acquire by another client: ok, for it was released", true, other)
	t.ask("release: ok", true, withOperation(other, workloads.DoRelease))
}

func (t *trial) dedup(confirms bool) {
	claim := request{Do: workloads.DoClaim, Client: 1, Key: workloads.TrialKey, TTL: milliseconds(trialTTL)}
	other := claim
	other.Client = 2
	t.ask("claim: ok, for the message is new", true, claim)
	t.ask("claim by another client: not ok, for it is claimed", false, other)
	if confirms {
		t.ask("confirm: ok, for the claim is the caller's", true, withOperation(claim, workloads.DoConfirm))
	}
}

func (t *trial) sequence() {
	var last string
	for _, n := range []string{"the first", "the second"} {
		t.step("next: "+n+" number", func() error {
			number, err := t.operations(1).Next(t.ctx, workloads.TrialKey, "23")
			number = strings.TrimLeft(number, "0")
			if err == nil && number == last {
				err = fmt.Errorf("it is %s again", number)
			}
			last = number
			return err
		})
	}
}

// reconnects is a step that closes the program's connections, as a search does to lose an answer. The step fails unless
// one of the next three operations succeeds.
func (t *trial) reconnects(f workloads.Family) {
	t.step("it connects again when its connections were closed", func() (err error) {
		t.to.cut()
		for i := range 3 {
			if err = t.firstOperation(f, fmt.Sprintf("%s-again-%d", workloads.TrialKey, i)); err == nil ||
				t.processOf(1).isBroken() {
				return err
			}
		}
		return fmt.Errorf("three operations after it were not answered by ok, the last with: %w", err)
	})
}

func (t *trial) processOf(client int) *process {
	return t.processes[max(0, min(client, len(t.processes))-1)]
}

// operations returns the operations of the given client. Each operation fails if the program does not answer within
// answerWithin.
func (t *trial) operations(client int) workloads.Operations {
	return operations{func(ctx context.Context, r request) (answer, error) {
		r.Client = client
		return t.processOf(client).ask(ctx, r, answerWithin)
	}}
}

// withOperation returns a request for another operation by the same client on the same name.
func withOperation(r request, do string) request {
	if r.Do = do; do == workloads.DoRelease {
		r.TTL = 0
	}
	return r
}

// want asks for an operation. The parameter expected says whether the answer has to be ok or not ok. Any other answer
// is an error.
func (t *trial) want(expected bool, r request) error {
	a, err := t.processOf(r.Client).ask(t.ctx, r, answerWithin)
	if err != nil {
		return err
	}
	got, err := a.result()
	if err == nil && got != expected {
		return fmt.Errorf("it answered ok: %t", got)
	}
	return t.withAddress(err)
}

// withAddress adds the address of Redis to err if no command of the program has reached Redis.
func (t *trial) withAddress(err error) error {
	if err == nil || t.to.heard() > 0 {
		return err
	}
	return fmt.Errorf("%w; no command has come to %s, the Redis that init names", err, t.to.init().Redis)
}

// broken returns why a process of the program has broken down, or nil. It waits for up to 50 ms, since a program may
// write something wrong after its last answer.
func (t *trial) broken() error {
	select {
	case <-t.processOf(1).broken:
		return t.processOf(1).why
	case <-t.processOf(2).broken:
		return t.processOf(2).why
	case <-time.After(50 * time.Millisecond): // there is no way to await that nothing comes
		return nil
	}
}

// step does one step and reports its outcome. It does nothing if an earlier step has failed.
func (t *trial) step(what string, do func() error) {
	if t.first != nil {
		return
	}
	began := time.Now()
	if err := do(); err != nil {
		t.first = fmt.Errorf("%s: %w", what, err)
		t.say(what, err)
		return
	}
	t.say(what+slowness(time.Since(began)), nil)
}

// slowness returns a remark on a step that took long, or "".
func slowness(took time.Duration) string {
	if took < slowAnswer {
		return ""
	}
	return fmt.Sprintf(" (slow: %v, and a search asks thousands of times: let it ask for each sleep, %s)",
		took.Round(time.Millisecond), page)
}

// slowAnswer is the duration from which a step counts as slow. Most steps take a millisecond.
const slowAnswer = 300 * time.Millisecond

// ask is a step that asks for an operation. It fails unless the answer is the expected one: see want.
func (t *trial) ask(what string, expected bool, r request) {
	t.step(what, func() error { return t.want(expected, r) })
}
