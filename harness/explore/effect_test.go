package explore

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/checkers"
	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// operates returns a client with one operation of that kind, which runs do. The outcome is OK unless do changes it.
func operates(kind harness.Kind, do func(ctx context.Context, r redis.UniversalClient, op *harness.Op)) client {
	return func(ctx context.Context, s *harness.Session, r redis.UniversalClient) {
		s.Invoke(harness.Op{Kind: kind, Key: "k", Arg: "me", TTL: lease}, func(op *harness.Op) {
			op.Outcome = harness.OK
			do(ctx, r, op)
		})
	}
}

// An operation counts from the first step that can have begun its effect.
func TestAnOperationCountsFromItsFirstEffect(t *testing.T) {
	saying := func(result string, commands ...string) func(context.Context, redis.UniversalClient, *harness.Op) {
		return func(ctx context.Context, r redis.UniversalClient, op *harness.Op) {
			for _, c := range commands {
				if c == "clock" {
					harness.Now(ctx)
				} else if c == "sleep" {
					_ = harness.Sleep(ctx, time.Millisecond)
				} else {
					_, _ = say(ctx, r, c)
				}
			}
			op.Result = result
		}
	}
	refused := func(_ context.Context, r redis.UniversalClient, op *harness.Op) {
		saying("", "GET k", "SETNX k 1")(t.Context(), r, op)
		op.Outcome = harness.Fail
	}
	for name, c := range map[string]struct {
		kind harness.Kind
		does func(context.Context, redis.UniversalClient, *harness.Op)
		from int // the step, from 0
	}{
		"a read before the write":      {harness.Acquire, saying("", "GET k", "SET k 1 PX 10000"), 1},
		"reads only":                   {harness.Acquire, saying("", "GET k", "GET k"), 0},
		"a write before the lease":     {harness.Acquire, saying("", "INCR n", "SET k 1 PX 10000"), 0},
		"what is left of a lease":      {harness.Acquire, saying("", "PTTL k", "SET k 1 PX 10000"), 0},
		"the server's clock":           {harness.Acquire, saying("", "TIME", "SET k 1 PX 10000"), 0},
		"a client's clock":             {harness.Acquire, saying("", "clock", "SET k 1 PX 10000"), 0},
		"a clock after a read":         {harness.Acquire, saying("", "GET k", "clock"), 1},
		"a sleep after a read":         {harness.Acquire, saying("", "GET k", "sleep", "SET k 1 PX 10000"), 0},
		"a condition that was not met": {harness.Acquire, saying("", "SET k 1 XX", "SET k 1 PX 10000"), 1},
		"a script that Redis lacks": {harness.Acquire,
			saying("", "EVALSHA 0123456789012345678901234567890123456789 0", "SET k 1 PX 10000"), 1},
		"a script":                       {harness.Acquire, saying("", "EVAL return{} 0", "SET k 1 PX 10000"), 0},
		"an extension":                   {harness.Extend, saying("", "GET k", "PEXPIRE n 5", "SET k 1 PX 10000"), 2},
		"a release is given up at once":  {harness.Release, saying("", "GET k", "DEL k"), 0},
		"a refusal may come of the read": {harness.Acquire, refused, 0},
		"a number may be what was read":  {harness.Next, saying("1", "GET k", "SET k 1"), 0},
		"a message that is new": {harness.Claim,
			saying(harness.ResultFirst, "EXISTS k", "SET k 1 PX 10000"), 1},
		"a message that was seen": {harness.Claim,
			saying(harness.ResultSeen, "EXISTS k", "SET k 1 PX 10000"), 0},
		"a confirmation": {harness.Confirm, saying("", "EXISTS k", "SET k 1 PX 10000"), 1},
	} {
		p := program(operates(c.kind, c.does))
		p.Kinds = []harness.Kind{harness.Acquire, harness.Claim, harness.Next}
		s := newScheduler(t, timed(p, 1))
		ex := s.run(interleave.Run(0), interleave.Run(0))
		require.GreaterOrEqual(t, len(ex.ops), 1, name)
		require.Equal(t, ex.stepTimes[c.from], ex.ops[0].Call, name)
	}
}

// An operation may count from a command that only reads how long a lease still runs: a PTTL in a transaction, or a
// PEXPIRE whose condition is not met.
func TestWhatIsLeftOfALeaseIsAnEffect(t *testing.T) {
	for name, asks := range map[string]func(ctx context.Context, r redis.UniversalClient){
		"in a transaction": func(ctx context.Context, r redis.UniversalClient) {
			_, _ = transaction(ctx, r, []string{"GET k", "PTTL k"})
		},
		"by a condition that was not met": func(ctx context.Context, r redis.UniversalClient) {
			_, _ = say(ctx, r, "PEXPIRE k 10 GT")
		},
	} {
		p := program(operates(harness.Extend, func(ctx context.Context, r redis.UniversalClient, _ *harness.Op) {
			asks(ctx, r)
			_, _ = say(ctx, r, "SET other 1")
		}))
		p.Kinds = []harness.Kind{harness.Acquire}
		ex := newScheduler(t, timed(p, 1)).run(interleave.Run(0), interleave.Run(0))
		write := slices.IndexFunc(ex.trace.Steps, func(s interleave.Step) bool {
			return strings.HasPrefix(s.Command, "SET other")
		})
		require.Less(t, ex.ops[0].Call, ex.trace.Steps[write].At, name)
	}
}

// claimsLate returns a program that claims and confirms messages. If looks is true, a client looks for a confirmation
// only before it claims, so it may deliver a confirmed message again.
func claimsLate(looks bool) interleave.Program {
	p := program(func(ctx context.Context, s *harness.Session, r redis.UniversalClient) {
		claimed := s.Invoke(harness.Op{Kind: harness.Claim, Key: "k", TTL: lease}, func(op *harness.Op) {
			op.Outcome, op.Result = harness.OK, harness.ResultSeen
			if looks && r.Exists(ctx, "done").Val() > 0 {
				return
			}
			if r.SetNX(ctx, "k", "1", lease).Val() && (looks || r.Exists(ctx, "done").Val() == 0) {
				op.Result = harness.ResultFirst
			}
		})
		if claimed.Result == harness.ResultFirst {
			s.Invoke(harness.Op{Kind: harness.Confirm, Key: "k", TTL: 10 * lease}, func(op *harness.Op) {
				op.Outcome = harness.OK
				r.Set(ctx, "done", "1", 10*lease)
			})
		}
	})
	p.Kinds = []harness.Kind{harness.Claim, harness.Confirm}
	return p
}

// A claim that succeeds after a confirmation is a duplicate, even if it was asked for before. Only in a schedule is it
// known when the claim was executed.
func TestAClaimAfterAConfirmationIsADuplicateHoweverEarlyItWasAskedFor(t *testing.T) {
	for _, c := range []struct {
		looks bool
		found int
	}{{true, 1}, {false, 0}} {
		spec := timed(claimsLate(c.looks), 2)
		spec.Checkers = []harness.Checker{checkers.Dedup()}
		require.Len(t, searched(t, spec).Counterexamples, c.found, "looks first: %v", c.looks)
	}
}
