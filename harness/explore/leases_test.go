package explore

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// asks returns a client with an operation of each kind that asks for 10.5 s and runs some commands.
func asks(commands []string, kinds ...harness.Kind) client {
	return func(ctx context.Context, s *harness.Session, r redis.UniversalClient) {
		for _, kind := range kinds {
			s.Invoke(harness.Op{Kind: kind, Key: "lock", TTL: 10500 * time.Millisecond}, func(op *harness.Op) {
				op.Outcome, op.Result = harness.OK, harness.ResultFirst
				for _, c := range commands {
					if _, err := say(ctx, r, c); err != nil {
						op.Outcome = harness.Info
					}
				}
			})
		}
	}
}

// If a lock's key gets another lease than was asked for, its step says so. Further keys may have any lease.
func TestALeaseThatWasNotAskedForIsToldAtItsStep(t *testing.T) {
	const acquire, claim, confirm = harness.Acquire, harness.Claim, harness.Confirm
	s := newScheduler(t, quiet(program(sends())))
	for _, c := range []struct {
		name     string
		commands []string
		kinds    []harness.Kind
		want     string
	}{
		{"cut to whole seconds", []string{"SET lock a EX 10 NX"}, []harness.Kind{acquire},
			"lock lasts 10s, 10.5s were asked for"},
		{"by a command of its own", []string{"SETNX lock a", "EXPIRE lock 10"}, []harness.Kind{acquire},
			"lock lasts 10s, 10.5s were asked for"},
		{"by a script", []string{"EVAL return(redis.call('set',KEYS[1],'a','px',21000)) 1 lock"},
			[]harness.Kind{acquire}, "lock lasts 21s, 10.5s were asked for"},
		{"of a mark", []string{"SET lock a EX 10"}, []harness.Kind{claim}, "lock lasts 10s, 10.5s were asked for"},
		{"once", []string{"SET lock a EX 10", "SET lock a EX 11", "SET lock a EX 10"}, []harness.Kind{claim, claim,
			confirm}, "lock lasts 10s, 10.5s were asked for lock lasts 10s, 10.5s were asked for"},
		{"the last of two", []string{"SET lock a PX 10500", "EXPIRE lock 10"}, []harness.Kind{acquire},
			"lock lasts 10s, 10.5s were asked for"},
		{"2 ms short", []string{"SET lock a PX 10498"}, []harness.Kind{acquire},
			"lock lasts 10.498s, 10.5s were asked for"},

		{"as asked for", []string{"SET lock a PX 10500 NX"}, []harness.Kind{acquire}, ""},
		{"rounded by a millisecond", []string{"SET lock a PX 10499 NX"}, []harness.Kind{acquire}, ""},
		{"a counter with a time of its own", []string{"SET lock a PX 10500 NX", "INCR fence", "EXPIRE fence 3600"},
			[]harness.Kind{acquire}, ""},
		{"a short claim that is lengthened", []string{"SET lock a EX 2 NX", "PEXPIRE lock 10500"},
			[]harness.Kind{acquire}, ""},
		{"a key without an end", []string{"SET lock a NX"}, []harness.Kind{acquire}, ""},
		{"a key of a release", []string{"SET done a EX 60"}, []harness.Kind{harness.Release}, ""},
	} {
		s.spec.Program = program(asks(c.commands, c.kinds...))
		ex := s.begin()
		for !ex.actors[0].done {
			s.follow(ex, interleave.Run(0))
		}
		said := ""
		for _, step := range ex.trace.Steps {
			if step.Lease != "" {
				said += " " + step.Lease
			}
		}
		if c.want != "" {
			c.want = " " + c.want
		}
		require.Equal(t, c.want, said, c.name)
	}
}

func TestALeaseIsShownBesideWhatTheClientBelieves(t *testing.T) {
	step := interleave.Step{Number: 1, Client: 1, Command: "SET lock a EX 10 NX", Reply: "OK",
		Belief: "holds lock until 10.5s", Lease: "lock lasts 10s, 10.5s were asked for"}
	require.Contains(t, interleave.Counterexample{Steps: []interleave.Step{step}}.Text(),
		"-> holds lock until 10.5s, but lock lasts 10s, 10.5s were asked for")
}
