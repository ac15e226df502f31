package workloads

import (
	"cmp"
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
)

// Sequencer is a number generator under test. One Sequencer serves one client, from one goroutine.
type Sequencer interface {
	// Next draws a number from the sequence called key: a decimal number that nobody else gets, larger than any drawn
	// before. proposed is a number that the caller would like; generators may ignore it.
	Next(ctx context.Context, key, proposed string) (string, error)
}

// Sequences lets clients draw numbers from generators that newSequencer makes. Without a regime in the options they
// propose numbers of every regime. Each regime has sequences of its own, named after it, such as "seq-growing".
func Sequences(c Connector, o Options, newSequencer func(redis.UniversalClient) Sequencer) harness.Workload {
	o.Name = cmp.Or(o.Name, "sequence")
	o.Keys = cmp.Or(o.Keys, 1)
	return &sequences{pool: newPool(c), opts: o, newSequencer: newSequencer, all: sequencesOf(o)}
}

// sequenceOf is one sequence and what callers propose to it.
type sequenceOf struct {
	key     string
	propose proposals
}

// sequencesOf lists the sequences of a load: o.Keys sequences for each regime.
func sequencesOf(o Options) (all []sequenceOf) {
	regimes := Regimes()
	var name func(Regime, int) string
	switch {
	case o.Regime != "":
		regimes = []Regime{o.Regime}
		name = func(_ Regime, i int) string { return fmt.Sprintf("seq-%d", i) }
	case o.Keys == 1:
		name = func(r Regime, _ int) string { return "seq-" + string(r) }
	default:
		name = func(r Regime, i int) string { return fmt.Sprintf("seq-%s-%d", r, i) }
	}
	for _, r := range regimes {
		for i := range o.Keys {
			all = append(all, sequenceOf{o.Prefix + name(r, i), r.generator()})
		}
	}
	return all
}

type sequences struct {
	pool         *pool
	opts         Options
	newSequencer func(redis.UniversalClient) Sequencer
	all          []sequenceOf
	turns        sequenceTurns // for a generator that knows only one sequence
}

func (q *sequences) Name() string          { return q.opts.Name }
func (q *sequences) Kinds() []harness.Kind { return []harness.Kind{harness.Next} }

func (q *sequences) Open(_ context.Context, group int) (harness.Client, error) {
	r, err := q.pool.client(group)
	if err != nil {
		return nil, err
	}
	return &sequenceClient{generator: q.newSequencer(r), load: q, redis: r}, nil
}

type sequenceClient struct {
	generator Sequencer

	// load gives out keys and proposals. It is nil for a client of a search.
	load *sequences
	// redis is the Redis client that the number generator uses.
	redis redis.UniversalClient
}

// Step draws one number.
func (c *sequenceClient) Step(ctx context.Context, s *harness.Session) {
	if c.load.opts.OneKey && c.load.opts.Regime == "" {
		c.drawFromTurn(ctx, s)
		return
	}
	c.draw(ctx, s, c.load.all[s.Rand.IntN(len(c.load.all))])
}

func (c *sequenceClient) draw(ctx context.Context, s *harness.Session, q sequenceOf) {
	if c.next(ctx, s, q.key, q.propose(s.Rand)).Outcome != harness.OK {
		s.Backoff()
	}
}

// next draws one number and records it.
func (c *sequenceClient) next(ctx context.Context, s *harness.Session, key, proposed string) harness.Op {
	return s.Invoke(harness.Op{Kind: harness.Next, Key: key, Arg: proposed}, func(op *harness.Op) {
		ctx, call := withCall(ctx)
		number, err := c.generator.Next(ctx, key, proposed)
		if call.finish(op, err) {
			op.Result = number
		}
	})
}

// flawsUnder returns a flaw of each class, all under one condition.
func flawsUnder(when Condition, classes ...harness.Class) (all []Flaw) {
	for _, c := range classes {
		all = append(all, Flaw{c, when})
	}
	return all
}

// forgottenNumbers returns the flaws of every sequence here: a failover may forget numbers that were drawn, and they
// are drawn again.
func forgottenNumbers() []Flaw {
	return flawsUnder(Failover, harness.DuplicateNumber, harness.Regression, harness.SequenceRestart)
}
