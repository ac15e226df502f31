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

// Check tries everything that an adapter says that it can do. It calls say after each step, with a nil error if the
// step went well. It returns c completed by the adapter's description of itself, and the first error.
//
// The adapter first gets one Redis. If it says that it asks several masters, it is started again with as many. If a
// step fails and the adapter has sent WAIT, it is started again with replicas. The keys of the check begin with
// doublegrant-trial. If the adapter is right, none of them remain.
func Check(
	ctx context.Context, c workloads.Adapter, servers Servers, say func(step string, err error),
) (workloads.Adapter, error) {
	return New(c).tryOn(ctx, servers, say, (*trial).askEverything)
}

// Describe completes c by the adapter's description of itself. It asks for one operation, to see that the adapter uses
// the Redis that it is told, and does not check the algorithm.
func Describe(ctx context.Context, c workloads.Adapter, servers Servers) (workloads.Adapter, error) {
	return New(c).tryOn(ctx, servers, func(string, error) {}, (*trial).askOnce)
}

// tryOn runs the steps on one server, and again if the program needs more masters or replicas.
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

// try starts the program on the masters and runs the steps. awaits is true if the program has sent WAIT.
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

// trial asks a program for one thing after the other, until something is wrong.
type trial struct {
	ctx       context.Context
	processes []*process // one, or one for each of two clients
	to        endpoints  // all of them relays
	say       func(string, error)
	first     error // the first thing that was wrong
}

// begin starts the program. It starts a second process if a process serves only one client.
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

// clock tries to start the program with a preloaded clock, if a search would.
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

// checkHeard returns an error unless commands of the program have reached Redis, or a majority of the masters.
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

// checkAsks checks that a program that has subscribed has asked for messages.
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

// firstOperation claims key, draws a number of it, or acquires and releases it. The answer "not ok" is not an error.
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

// reconnects closes the program's connections, as a search does to lose an answer. The program may fail at first. The
// third operation at the latest has to reach Redis again.
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

// operations returns the operations of one client. Each fails if the program does not answer within answerWithin.
func (t *trial) operations(client int) workloads.Operations {
	return operations{func(ctx context.Context, r request) (answer, error) {
		r.Client = client
		return t.processOf(client).ask(ctx, r, answerWithin)
	}}
}

// withOperation returns another operation of the same client on the same name.
func withOperation(r request, do string) request {
	if r.Do = do; do == workloads.DoRelease {
		r.TTL = 0
	}
	return r
}

// want asks for an operation and checks the answer: ok if expected is true, not ok otherwise.
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

// withAddress adds the address of Redis to an error, if no command of the program has reached it.
func (t *trial) withAddress(err error) error {
	if err == nil || t.to.heard() > 0 {
		return err
	}
	return fmt.Errorf("%w; no command has come to %s, the Redis that init names", err, t.to.init().Redis)
}

// broken returns why a process has broken down, or nil. It waits a moment for what comes after the last answer.
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

// step does one step and reports it. Once a step has failed, it does nothing.
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

// ask asks for an operation, as one step. The step fails unless the answer is as expected, see want.
func (t *trial) ask(what string, expected bool, r request) {
	t.step(what, func() error { return t.want(expected, r) })
}
