package explore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// This file compares searches from memory with searches that really run every schedule.

// Scripts of random programs, by the names that they have there.
var testScripts = map[string]*redis.Script{
	"bump":  redis.NewScript(`return redis.call('incr', KEYS[1])`),
	"lease": redis.NewScript(`return redis.call('set', KEYS[1], redis.call('time')[1], 'NX', 'EX', 10) and 1 or 0`),
	"left":  redis.NewScript(`return redis.call('pttl', KEYS[1]) > 5000 and redis.call('del', KEYS[1]) or 0`),
}

// performTogether runs a script ("RUN bump a"), by its hash first, or changes a key under WATCH ("CAS a 5"). It has a thread do something
// ("THREAD GET a"), or waits for a message ("LISTEN a").
func performTogether(ctx context.Context, r redis.UniversalClient, words []string) (result string, err error) {
	switch words[0] {
	case "THREAD":
		harness.Go(ctx, func(ctx context.Context) { _, _ = perform(ctx, r, strings.Join(words[1:], " ")) })
		return say(ctx, r, "GET a")
	case "LISTEN":
		return listenOnce(ctx, r, words[1])
	}
	if words[0] == "RUN" {
		v, err := testScripts[words[1]].Run(ctx, r, []string{words[2]}).Result()
		return fmt.Sprint(v), err
	}
	err = r.Watch(ctx, func(tx *redis.Tx) error {
		old, err := tx.Get(ctx, words[1]).Result()
		if err != nil && err != redis.Nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.Set(ctx, words[1], words[2], 0).Err() })
		result = old + " to " + words[2]
		return err
	}, words[1])
	if err == redis.TxFailedErr {
		return "failed", nil
	}
	return result, err
}

// listenOnce subscribes to a channel, and waits for a message, not longer than a lease.
func listenOnce(ctx context.Context, r redis.UniversalClient, channel string) (string, error) {
	sub := r.Subscribe(ctx, channel)
	defer func() { _ = sub.Close() }()
	if _, err := sub.Receive(ctx); err != nil {
		return "", err
	}
	m, err := sub.ReceiveTimeout(ctx, lease)
	if message, ok := m.(*redis.Message); ok {
		return message.Payload, err
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return "nothing", nil
	}
	return "", err
}

// everyHistory runs a search and lists its histories, with all their times.
func (s *scheduler) everyHistory(spec Spec) (all []string) {
	s.t.Helper()
	c := &collector{}
	spec.Checkers = []harness.Checker{c}
	s.search(spec)
	for _, ops := range c.histories {
		all = append(all, fmt.Sprintf("%+v", ops))
	}
	slices.Sort(all)
	return all
}

// What schedules show from memory is what they show when they are really run, to the last microsecond.
func TestMemoryShowsWhatIsReallyRun(t *testing.T) {
	plain := []string{"GET $k", "GET $k", "SET $k $v", "INCR $k", "DEL $k", "SETNX $k $v"}
	leases := append(slices.Clone(plain), "SET $k $v EX 10", "SET $k $v PX 1000", "PERSIST $k", "EXPIRE $k 10", "PTTL $k")
	scripts := append(slices.Clone(plain), "RUN bump $k", "RUN bump $k", "RUN lease $k", "RUN left $k")
	watches := append(slices.Clone(plain), "CAS $k $v", "CAS $k $v", "SET $k $v EX 10", "TX GET $k / INCR $k")
	clocks := append(slices.Clone(leases), "CLOCK", "NAP", "NAP")
	for _, group := range []struct {
		name     string
		menu     []string
		programs int
		clients  int
		commands int // of each client, at least
		spec     func(*Spec)
	}{
		{"commands", append(slices.Clone(plain), "TX GET $k / INCR $k", "MGET a b", "DEL a b"), 10, 2, 3, nil},
		{"three clients", plain, 2, 3, 2, nil},
		{"crashes and expiries", leases, 6, 2, 2, func(s *Spec) { s.Crashes, s.Expiries = 1, 1 }},
		{"skew", clocks, 8, 2, 2, func(s *Spec) { s.Skew, s.Expiries = lease, 1 }},
		{"clocks and naps", clocks, 8, 2, 3, func(s *Spec) { s.Expiries = 1 }},
		{"scripts and flushes", scripts, 8, 2, 2, func(s *Spec) { s.Flushes, s.Expiries = 1, 1 }},
		{"scripts, clocks and time", append(slices.Clone(scripts), "CLOCK", "TIME"), 4, 2, 2, func(s *Spec) { s.Expiries = 1 }},
		{"watched keys", watches, 8, 2, 2, func(s *Spec) { s.Expiries = 1 }},
		{"watched keys, late and lost", watches, 4, 2, 1, func(s *Spec) { s.Late, s.LostAnswers, s.LostCommands, s.Expiries = 1, 1, 1, 1 }},
		{"late and lost", leases, 5, 2, 2, func(s *Spec) { s.Late, s.LostAnswers, s.LostCommands = 1, 1, 1 }},
		{"observed", leases, 5, 2, 2, func(s *Spec) {
			s.Expiries = 1
			s.Program.Observe = func(ctx context.Context, s *harness.Session, r redis.UniversalClient, _ harness.Op) { dump(ctx, s, r) }
		}},
		{"failover", leases, 1, 2, 2, func(s *Spec) { s.Failovers = 1 }},
		{"failover and watched keys", watches, 1, 2, 1, func(s *Spec) { s.Failovers, s.Expiries = 1, 1 }},
		{"failover and scripts", append(slices.Clone(scripts), "WAIT 2 1000"), 1, 2, 2, func(s *Spec) { s.Failovers = 1 }},
	} {
		t.Run(group.name, func(t *testing.T) {
			t.Parallel()
			var s *scheduler
			for seed := range uint64(usually(group.programs)) {
				spec, what := randomSpec(seed, 11, group.clients, group.commands, group.menu, group.spec)
				spec.Unreduced = true
				spec.Program.Finally = lookTwice
				if s == nil {
					s = newScheduler(t, spec)
				}
				recalled := s.everyHistory(spec)
				require.Empty(t, s.last.memory.broken, what)
				spec.Unremembered = true
				run := s.everyHistory(spec)
				require.Equal(t, run, recalled, what)
			}
		})
	}
}

// lookTwice looks at the store at the end of a schedule, and again when leases are over.
func lookTwice(ctx context.Context, s *harness.Session, r redis.UniversalClient, after interleave.After) error {
	dump(ctx, s, r)
	if len(after.Ops())%2 == 0 {
		if err := after.Pass(lease / 2); err != nil {
			return err
		}
		dump(ctx, s, r)
	}
	left, err := after.PassAll(2 * lease)
	if err == nil && left > 0 {
		dump(ctx, s, r)
	}
	return err
}

// Time passes while the program's look at the store waits, so it is not run from memory.
func TestALookThatWaitsIsReallyRun(t *testing.T) {
	t.Parallel()
	spec := quiet(program(sends("SET a 1", "DEL a"), sends("GET a")))
	spec.Program.Finally = func(ctx context.Context, s *harness.Session, r redis.UniversalClient, _ interleave.After) error {
		s.Invoke(harness.Op{Kind: harness.Read, Key: "q"}, func(op *harness.Op) {
			op.Outcome, op.Result = harness.OK, fmt.Sprint(r.BLPop(ctx, 5*time.Second, "q").Err())
		})
		return nil
	}
	s := newScheduler(t, spec)
	looked := s.everyHistory(spec)
	require.Contains(t, s.last.memory.broken, "waits")
	spec.Unremembered = true
	require.Subset(t, s.everyHistory(spec), looked)
}
