package explore

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/explore/internal/keyspace"
	"github.com/doublegrant/doublegrant/harness/explore/internal/resp"
	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
	"github.com/doublegrant/doublegrant/harness/explore/internal/server"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

func TestACrashCutsOneOperationOff(t *testing.T) {
	two := together("INCR a", "INCR a")
	spec := quiet(program(inTurn(two, two, two), sends("GET a"))) // the second and third do not begin
	spec.Crashes = 1
	s := newScheduler(t, spec)
	ex := s.run(interleave.Run(0), interleave.Crash(0), interleave.Run(1))
	require.Equal(t, []string{"1: INCR a = 1", "1: crashes =", "2: GET a = 1"}, commands(ex))
	require.Equal(t, []string{"1: INCR a, INCR a = info crashed", "2: GET a = 1"}, results(ex.ops))
	require.Equal(t, ex.stepTimes[0], ex.ops[0].Call, "it began with its first command")
	require.Equal(t, ex.stepTimes[1], ex.ops[0].Return)
	require.Equal(t, "does not know whether its next happened", ex.trace.Steps[1].Belief)

	// Both are connected in the next schedule.
	ex = s.run(interleave.Run(1), interleave.Run(0), interleave.Run(0))
	require.Equal(t, []string{"2: GET a = (nil)", "1: INCR a = 1", "1: INCR a = 2"}, commands(ex)[:3])
	require.Equal(t, "1: INCR a, INCR a = 1 2", results(ex.ops)[1])
}

// A crash between two operations interrupts none.
func TestACrashBetweenOperations(t *testing.T) {
	worker := func(ctx context.Context, s *harness.Session, r redis.UniversalClient) {
		sends("INCR a")(ctx, s, r)
		s.Sleep(time.Millisecond)
		sends("INCR b")(ctx, s, r) // although it has crashed
	}
	spec := quiet(program(worker))
	spec.Crashes = 1
	s := newScheduler(t, spec)
	ex := s.run(interleave.Run(0), interleave.Crash(0))
	require.Equal(t, []string{"1: INCR a = 1", "2: INCR a = 2", "2: INCR b = 1"}, results(ex.ops))
	ex = s.run(interleave.Run(0), interleave.Run(0), interleave.Crash(0))
	require.Equal(t, []string{"1: INCR a = 1", "2: INCR a = 2", "2: INCR b = 1"}, results(ex.ops),
		"nothing was sent of INCR b")
}

// A client can crash only once, and only right after a step of its own.
func TestWhoCanCrash(t *testing.T) {
	spec := quiet(program(writesTo("a", 3)))
	spec.Crashes = 2
	ex := newScheduler(t, spec).begin()
	require.NotContains(t, possible(ex), interleave.Crash(0), "nothing has happened")
	s := &scheduler{t: t}
	s.follow(ex, interleave.Run(0))
	require.Contains(t, possible(ex), interleave.Crash(0))
	require.NotContains(t, possible(ex), interleave.Crash(1))
	s.follow(ex, interleave.Run(1))
	require.NotContains(t, possible(ex), interleave.Crash(0), "that is the same as before client 2's step")
	s.follow(ex, interleave.Crash(1), interleave.Run(0), interleave.Crash(0))
	require.Empty(t, possible(ex))
}

// byHash runs a Lua script as go-redis does: by its hash and, if Redis lacks it, by its text.
func byHash(text string, times int) client {
	script := redis.NewScript(text)
	return func(ctx context.Context, s *harness.Session, r redis.UniversalClient) {
		for range times {
			op(s, "script", func() (string, error) { return script.Run(ctx, r, []string{"k"}).Text() })
		}
	}
}

func TestAFlushOfTheScriptCache(t *testing.T) {
	spec := quiet(program(byHash("return redis.call('incr', KEYS[1]) .. ''", 2)))
	spec.Flushes = 1
	s := newScheduler(t, spec)
	require.True(t, s.run().Disturbed(), "in the first schedule the cache is cold")
	for range 2 { // after a flush the cache is restored
		ex := s.run(interleave.Run(0), interleave.FlushScripts, interleave.Run(0), interleave.Run(0))
		require.False(t, ex.Disturbed())
		require.Equal(t, []string{
			"1: EVALSHA {INCR} k = 1", "0: SCRIPT FLUSH =",
			"1: EVALSHA {INCR} k = (error) NOSCRIPT No matching script. Please use EVAL.",
			"1: EVAL {INCR} k = 2",
		}, commands(ex)[:4])
		require.Equal(t, []string{"1: script = 1", "1: script = 2", "2: script = 3", "2: script = 4"}, results(ex.ops))
		ex = s.run(interleave.Run(0), interleave.Run(0), interleave.Run(1), interleave.Run(1))
		require.False(t, ex.Disturbed())
		require.NotContains(t, strings.Join(commands(ex), "\n"), "NOSCRIPT")
	}
}

// After a flush, the next schedule begins with every script that clients ever loaded.
func TestAFlushIsUndone(t *testing.T) {
	one, two := byHash("return 'one'", 1), byHash("return 'two'", 1)
	spec := quiet(program(inTurn(one, two), idle))
	spec.Flushes = 1
	s := newScheduler(t, spec)
	s.run()
	for range 2 {
		s.run(interleave.Run(0), interleave.FlushScripts)
		require.False(t, s.run().Disturbed())
	}
}

// failover returns a scheduler with a budget of one failover, and so with replicas.
func failover(t *testing.T, p interleave.Program) *scheduler {
	t.Helper()
	spec := quiet(p)
	spec.Failovers = 1
	return newScheduler(t, spec)
}

// whole fails unless the first node is the primary and its replicas are in step.
func (s *scheduler) whole() {
	s.t.Helper()
	require.NoError(s.t, s.w.reset())
	require.Equal(s.t, server.FirstPrimary, s.w.Primary)
	require.Contains(s.t, s.ask(server.FirstPrimary, "ROLE"), "[master, ")
	s.ask(server.FirstPrimary, "SET", "mark", "x")
	require.Equal(s.t, "2", s.ask(server.FirstPrimary, "WAIT", "2", "60000"))
	for _, node := range []int{server.Lagging, server.Bystander} {
		require.Equal(s.t, "[mark]", s.ask(node, "KEYS", "*"))
	}
	s.ask(server.FirstPrimary, "DEL", "mark")
}

func TestAFailoverLosesWhatCameAfterReplicationStopped(t *testing.T) {
	s := failover(t, program(sends("SET before 1", "SET after 1"),
		sends("GET before", "GET after", "SET later 1", "GET later")))
	for range 2 {
		ex := s.run(interleave.Run(0), interleave.StopReplication, interleave.Run(0), interleave.Promote,
			interleave.Run(1), interleave.Run(1), interleave.Run(1), interleave.Run(1))
		require.Equal(t, []string{
			"1: SET before 1 = OK", "1: SET after 1 = OK", "2: GET before = 1", "2: GET after = (nil)",
			"2: SET later 1 = OK", "2: GET later = 1",
		}, results(ex.ops))
		require.Equal(t, "0: the replica becomes the primary, without what it did not hear =", commands(ex)[3])
		s.whole()
		ex = s.run(interleave.Run(0), interleave.Run(0), interleave.Run(1), interleave.Run(1))
		require.Equal(t, []string{"2: GET before = 1", "2: GET after = 1"}, results(ex.ops)[2:4],
			"no failover in this one")
		s.whole()
		s.run(interleave.Run(0), interleave.StopReplication, interleave.Run(0)) // without a promotion
		s.whole()
	}
}

// A replica is promoted only if something was written since replication stopped. Otherwise nothing could be lost.
func TestNobodyIsPromotedForNothing(t *testing.T) {
	s := failover(t, program(sends("GET a", "SET a 1")))
	ex := s.begin()
	s.follow(ex, interleave.StopReplication)
	require.NotContains(t, possible(ex), interleave.Promote)
	require.NotContains(t, possible(ex), interleave.StopReplication)
	s.follow(ex, interleave.Run(0))
	require.NotContains(t, possible(ex), interleave.Promote)
	s.follow(ex, interleave.Run(0))
	require.Contains(t, possible(ex), interleave.Promote)
	s.follow(ex, interleave.Promote)
	require.NotContains(t, possible(ex), interleave.StopReplication, "there is nobody left to promote")
	s.finish(ex)
}

func TestTheStateOfAConnectionDiesWithItsPrimary(t *testing.T) {
	s := failover(t, program(inTurn(together("CAS a x"), sends("GET a")), sends("SET b 1")))
	lost := errLost.Error()
	for _, path := range [][]interleave.Choice{
		{interleave.Run(0), interleave.StopReplication, interleave.Run(1), interleave.Promote}, // between WATCH and GET
		// between GET and EXEC
		{interleave.Run(0), interleave.Run(0), interleave.StopReplication, interleave.Run(1), interleave.Promote},
	} {
		ex := s.run(path...)
		require.Equal(t, []string{"2: SET b 1 = OK", "1: CAS a x = info " + lost, "1: GET a = (nil)"},
			sameClient(ex.ops))
		require.Contains(t, strings.Join(commands(ex), "\n"), "= (lost) "+lost)
	}
	ex := s.run(interleave.StopReplication, interleave.Run(1), interleave.Promote) // before WATCH
	require.Contains(t, results(ex.ops), "1: CAS a x =  to x")
	s.whole()
}

func TestAPipelineThatSpansAFailover(t *testing.T) {
	pipeline := does("pipeline", func(ctx context.Context, r redis.UniversalClient) (string, error) {
		p := r.Pipeline()
		a, b := p.Incr(ctx, "a"), p.Incr(ctx, "b")
		_, err := p.Exec(ctx)
		return a.String() + "; " + b.String(), err
	})
	s := failover(t, program(inTurn(pipeline, sends("MGET a b c")), sends("SET c 1")))
	ex := s.run(interleave.StopReplication, interleave.Run(0), interleave.Promote) // half of it was sent
	require.Equal(t, []string{"1: pipeline = info " + errLost.Error(), "1: MGET a b c = [<nil> <nil> <nil>]"},
		sameClient(ex.ops)[:2])
	ex = s.run(interleave.Run(0), interleave.StopReplication, interleave.Run(1), interleave.Promote)
	require.Equal(t, []string{"1: pipeline = info " + errLost.Error(), "1: MGET a b c = [1 <nil> <nil>]"},
		sameClient(ex.ops)[1:])
	ex = s.run(interleave.StopReplication, interleave.Run(1), interleave.Promote) // none of it was sent
	require.Equal(t, []string{"1: pipeline = incr a: 1; incr b: 1", "1: MGET a b c = [1 1 <nil>]"}, results(ex.ops)[1:])
	s.whole()
}

// A new primary has no scripts: clients load them again. The old one keeps them.
func TestScriptsAfterAFailover(t *testing.T) {
	s := failover(t, program(byHash("return redis.call('incr', KEYS[1]) .. ''", 1), sends("SET c 1")))
	s.run()
	for range 2 {
		ex := s.run(interleave.StopReplication, interleave.Run(1), interleave.Promote,
			interleave.Run(0), interleave.Run(0))
		require.Contains(t, strings.Join(commands(ex), "\n"), "NOSCRIPT")
		require.Equal(t, "1: script = 1", results(ex.ops)[1])
		ex = s.run()
		require.False(t, ex.Disturbed())
		require.NotContains(t, strings.Join(commands(ex), "\n"), "NOSCRIPT")
	}
}

// If Redis refuses a command of the explorer, the harness has failed.
func TestTheWorldsOwnCommands(t *testing.T) {
	s := newScheduler(t, quiet(program(idle)))
	_, err := s.w.Ask(server.FirstPrimary, "NONSENSE", "x")
	require.ErrorContains(t, err, "r1 refused NONSENSE: (error) ERR unknown command")
	s.ask(server.FirstPrimary, "SET", "a", "1", "EX", "10")
	s.ask(server.FirstPrimary, "SET", "b", "1")
	require.NoError(t, s.w.PassTime(0, 10*time.Second+keyspace.Grain))
	left, err := s.w.CountKeys()
	require.NoError(t, err)
	require.Equal(t, 1, left)
	_, err = resp.Dial("/nowhere/redis.sock", &resp.Silence{})
	require.ErrorContains(t, err, "connect to /nowhere/redis.sock")
	require.False(t, errors.Is(err, schedule.ErrStopped))
}

// incrThenWait returns a client that increments a key and, in the same pipeline, waits for two replicas for the given
// milliseconds.
func incrThenWait(within string) func(context.Context, *harness.Session, redis.UniversalClient) {
	return does("wait", func(ctx context.Context, r redis.UniversalClient) (string, error) {
		p := r.Pipeline()
		p.Incr(ctx, "a")
		wait := p.Do(ctx, "WAIT", "2", within)
		_, err := p.Exec(ctx)
		return wait.String(), err
	})
}

// The replica that lags acknowledges nothing. After a promotion the other replica acknowledges to the new primary.
func TestAcknowledgements(t *testing.T) {
	p := program(incrThenWait("20"), sends("SET c 1"))
	p.Replicas = true
	s := failover(t, p)
	require.Contains(t, results(s.run(interleave.Run(0), interleave.Run(0)).ops), "1: wait = WAIT 2 20: 2")
	require.Contains(t, results(s.run(interleave.Run(0), interleave.StopReplication, interleave.Run(0)).ops),
		"1: wait = WAIT 2 20: 2", "all have heard of it before replication stops")
	require.Contains(t, results(s.run(interleave.StopReplication, interleave.Run(0), interleave.Run(0)).ops),
		"1: wait = WAIT 2 20: 1")
	require.Contains(t, results(s.run(interleave.StopReplication, interleave.Run(1), interleave.Promote,
		interleave.Run(0), interleave.Run(0)).ops), "1: wait = WAIT 2 20: 1")
	s.whole()
}

// A replica that takes longer in real time than the WAIT allows still answers at once in the schedule's time.
func TestAWaitDoesNotEndBeforeABusyReplicaHasAnswered(t *testing.T) {
	p := program(incrThenWait("1"), sends("SET c 1"))
	p.Replicas = true
	s := failover(t, p)
	s.run()
	name := s.w.Names[server.Bystander]
	require.NoError(t, s.w.Cluster.Pause(t.Context(), name))
	time.AfterFunc(100*time.Millisecond, func() { assert.NoError(t, s.w.Cluster.Resume(name)) })
	ex := s.run(interleave.Run(0), interleave.Run(0))
	require.Contains(t, results(ex.ops), "1: wait = WAIT 2 1: 2")
	require.False(t, ex.Disturbed())
	s.whole()
}

// A program may leave a subscription open in each schedule. Redis clients outlive schedules and keep their
// subscriptions, so the search replaces them now and then.
func TestSubscriptionsThatAreLeftOpenArePutAway(t *testing.T) {
	leaves := does("news", func(ctx context.Context, r redis.UniversalClient) (string, error) {
		_, err := r.Subscribe(ctx, "news").Receive(ctx)
		return "1", err
	})
	s := newScheduler(t, quiet(program(leaves, sends("GET a"))))
	made := map[redis.UniversalClient]bool{}
	for range 3 * mostSubscriptions {
		s.run()
		made[s.w.clients[0]] = true
		require.LessOrEqual(t, s.w.clients[0].PoolStats().PubSubStats.Active, uint32(mostSubscriptions+1))
	}
	require.Len(t, made, 3, "a client serves many schedules")
	require.NotNil(t, s.w.clients[1])
}

// The new primary has everything that the replica had: values of every type with their ends, one in its last
// millisecond, and functions. It has nothing of an earlier promotion.
func TestTheNewPrimaryHasWhatTheReplicaHeld(t *testing.T) {
	const library = "#!lua name=lib\nredis.register_function('answer', function() return 42 end)"
	write := does("write", func(ctx context.Context, r redis.UniversalClient) (string, error) {
		_, err := r.Pipelined(ctx, func(p redis.Pipeliner) error {
			p.FunctionLoadReplace(ctx, library)
			for _, c := range []string{
				"RPUSH list x y", "HSET hash f v", "ZADD sorted 1.5 m", "SADD set 1 2 3", "XADD stream 5-1 f v",
				"XGROUP CREATE stream group 0",
				"SET year 1 EX 31536000",
			} {
				_, _ = say(ctx, p, c)
			}
			p.Set(ctx, "short", "s\x00\r\n", time.Second)
			return nil
		})
		return "", err
	})
	look := sends("LRANGE list 0 -1", "HGETALL hash", "ZRANGE sorted 0 -1 WITHSCORES", "SMEMBERS set",
		"XINFO GROUPS stream", "GET short", "PEXPIRETIME short",
		"PEXPIRETIME year", "GET lost", "FCALL answer 0")
	spec := quiet(program(inTurn(write, sends("DEL list", "SET lost 1")), look))
	spec.Failovers, spec.Expiries, spec.LostCommands = 1, 1, 1
	s := newScheduler(t, spec)
	steps := func(client, n int) []interleave.Choice {
		return slices.Repeat([]interleave.Choice{interleave.Run(client)}, n)
	}
	var direct []string
	for _, failover := range []bool{false, true, true} {
		then := []interleave.Choice{interleave.Pass(0)}
		if failover {
			then = []interleave.Choice{interleave.StopReplication, interleave.Run(0), interleave.Run(0),
				interleave.Pass(0), interleave.Promote}
		}
		seen := results(s.run(slices.Concat(steps(0, 9), then, steps(1, 10))...).ops)
		seen = slices.DeleteFunc(seen, func(r string) bool { return !strings.HasPrefix(r, "2: ") })
		if !failover {
			direct = seen
			require.Contains(t, strings.Join(seen, "\n"), "GET short = s\x00\r\n")
			require.Contains(t, strings.Join(seen, "\n"), "FCALL answer 0 = 42")
		}
		require.Equal(t, direct, seen)
	}
	s.whole()
}

// A script that is run by its hash is shown by its first line once a client has loaded it.
func TestScriptsThatClientsLoadAreLearned(t *testing.T) {
	load := does("load", func(ctx context.Context, r redis.UniversalClient) (string, error) {
		return r.ScriptLoad(ctx, "-- first\nreturn 1").Result()
	})
	run := func(ctx context.Context, s *harness.Session, r redis.UniversalClient) {
		op(s, "eval", func() (string, error) { return "", r.Eval(ctx, "-- second\nreturn 2", nil).Err() })
		for _, text := range []string{"-- first\nreturn 1", "-- second\nreturn 2"} {
			op(s, "evalsha", func() (string, error) {
				return "", r.EvalSha(ctx, redis.NewScript(text).Hash(), nil).Err()
			})
		}
	}
	ex := newScheduler(t, quiet(program(load, run))).run(interleave.Run(0), interleave.Run(1),
		interleave.Run(1), interleave.Run(1))
	require.Equal(t, []string{"2: EVAL {second} = 2", "2: EVALSHA {first} = 1", "2: EVALSHA {second} = 2"},
		commands(ex)[1:])
}
