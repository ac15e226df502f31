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
	// Next draws a number from the sequence key: a decimal number that nobody else gets, larger than any drawn before.
	// proposed is a number that the caller would like; generators are free to ignore it.
	Next(ctx context.Context, key, proposed string) (string, error)
}

// SequenceOptions shape the load on a generator. Zero values mean the defaults.
type SequenceOptions struct {
	Name   string // of the workload in reports; default "sequence"
	Keys   int    // sequences; default 1
	Regime Regime // what callers propose; default Fixed
}

// Sequences lets clients draw numbers from generators that newSequencer makes.
func Sequences(c Connector, o SequenceOptions, newSequencer func(redis.UniversalClient) Sequencer) harness.Workload {
	o.Name = cmp.Or(o.Name, "sequence")
	o.Keys = cmp.Or(o.Keys, 1)
	o.Regime = cmp.Or(o.Regime, Fixed)
	return &sequences{pool: newPool(c), opts: o, newSequencer: newSequencer, propose: o.Regime.generator()}
}

type sequences struct {
	pool         *pool
	opts         SequenceOptions
	newSequencer func(redis.UniversalClient) Sequencer
	propose      proposals
}

func (q *sequences) Name() string          { return q.opts.Name }
func (q *sequences) Kinds() []harness.Kind { return []harness.Kind{harness.Next} }

func (q *sequences) Open(_ context.Context, group int) (harness.Client, error) {
	r, err := q.pool.client(group)
	if err != nil {
		return nil, err
	}
	return &sequenceClient{generator: q.newSequencer(r), load: q}, nil
}

type sequenceClient struct {
	generator Sequencer
	load      *sequences // where keys and proposals come from; nil where Step is not called
}

// Step draws one number.
func (c *sequenceClient) Step(ctx context.Context, s *harness.Session) {
	key := fmt.Sprintf("seq-%d", s.Rand.IntN(c.load.opts.Keys))
	if c.next(ctx, s, key, c.load.propose(s.Rand)).Outcome != harness.OK {
		s.Backoff()
	}
}

// next draws one number and records it.
func (c *sequenceClient) next(ctx context.Context, s *harness.Session, key, proposed string) harness.Op {
	return s.Invoke(harness.Op{Kind: harness.Next, Key: key, Arg: proposed}, func(op *harness.Op) {
		ctx, call := track(ctx)
		number, err := c.generator.Next(ctx, key, proposed)
		if call.settle(op, err) {
			op.Result = number
		}
	})
}

// flaws are those of several classes that one condition brings out.
func flaws(when Condition, classes ...harness.Class) (all []Flaw) {
	for _, c := range classes {
		all = append(all, Flaw{c, when})
	}
	return all
}

// forgottenNumbers are the flaws of every sequence here: a failover may forget numbers that were drawn, and they are
// drawn again.
func forgottenNumbers() []Flaw {
	return flaws(Failover, harness.DuplicateNumber, harness.Regression, harness.SequenceRestart)
}
