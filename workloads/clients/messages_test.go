package clients_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/checkers"
	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/cluster/clustertest"
	"github.com/doublegrant/doublegrant/harness/explore"
	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/doublegrant/doublegrant/harness/outside"
	"github.com/doublegrant/doublegrant/workloads"
)

// listening is a program in Python that does what body says, with pubsub_lock.py to build on.
func listening(t *testing.T, body string) workloads.Client {
	t.Helper()
	return client(t, python, besideAdapters(t, fmt.Sprintf(`
import os, sys, time
sys.path.insert(0, %%q)
from lock import Beside, Lock, ask, main
from pubsub_lock import Messages, PubSubLock, channel

class Own(PubSubLock):
%s

main(Own)
`, body)))
}

// unconfirmed makes a lock listen without waiting for the confirmation, which then comes as a message. It reads the first one, which is
// that, and listens on one connection for as long as it acquires, twice.
const unconfirmed = `
    def acquire(self, key, owner, ttl_ms):
        if Lock.acquire(self, key, owner, ttl_ms):
            return True
        released = self.redis.pubsub()
        ask("subscribe")
        try:
            for _ in range(self.ROUNDS):
                released.subscribe(channel(key))
                while True:
                    ask("message")
                    if released.parse_response()[0] == b"subscribe":
                        break
                if Lock.acquire(self, key, owner, ttl_ms):
                    return True
                if not ask("message", timeout_ms=ttl_ms // 4).get("timeout"):
                    released.parse_response()
                released.unsubscribe(channel(key))
            return Lock.acquire(self, key, owner, ttl_ms)
        finally:
            released.close()
`

// listeningInGo does in Go what unconfirmed does.
type listeningInGo struct {
	inGo
	rounds int
}

func (l listeningInGo) Acquire(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	if granted, err := l.inGo.Acquire(ctx, key, owner, ttl); granted || err != nil {
		return granted, err
	}
	released := l.redis.Subscribe(ctx)
	defer func() { _ = released.Close() }()
	for range l.rounds {
		if err := released.Subscribe(ctx, "released:"+key); err != nil {
			return false, err
		}
		for {
			m, err := released.ReceiveTimeout(ctx, 0)
			if err != nil {
				return false, err
			}
			if s, ok := m.(*redis.Subscription); ok && s.Kind == "subscribe" {
				break
			}
		}
		if granted, err := l.inGo.Acquire(ctx, key, owner, ttl); granted || err != nil {
			return granted, err
		}
		if _, err := released.ReceiveTimeout(ctx, ttl/4); err != nil && reason(err) != "timeout" {
			return false, err
		}
		if err := released.Unsubscribe(ctx, "released:"+key); err != nil {
			return false, err
		}
	}
	return l.inGo.Acquire(ctx, key, owner, ttl)
}

func reason(err error) string {
	if timeout, ok := err.(interface{ Timeout() bool }); ok && timeout.Timeout() {
		return "timeout"
	}
	return err.Error()
}

const publishingRelease = `if redis.call("get", KEYS[1]) == ARGV[1] then
    redis.call("del", KEYS[1])
    redis.call("publish", KEYS[2], "released")
    return 1
end
return 0`

func (l listeningInGo) Release(ctx context.Context, key, owner string) (bool, error) {
	n, err := l.redis.Eval(ctx, publishingRelease, []string{key, "released:" + key}, owner).Int()
	return n == 1, err
}

// A lock outside that waits for messages takes the same steps as one inside, whatever goes wrong: the same schedules, situations and
// counterexamples.
func TestALockOutsideThatListensIsSearchedAsOneInside(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rounds int
		change func(*explore.Spec)
	}{
		"crash":       {1, func(s *explore.Spec) { s.Crashes, s.Expiries, s.LostAnswers = 1, -1, -1 }},
		"expiry":      {1, func(s *explore.Spec) { s.Crashes, s.Expiries, s.LostAnswers = -1, 1, -1 }},
		"lost answer": {1, func(s *explore.Spec) { s.Crashes, s.Expiries, s.LostAnswers = -1, -1, 1 }},
		"two rounds":  {2, func(s *explore.Spec) { s.Crashes, s.Expiries, s.LostAnswers = 1, -1, -1 }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outer := listening(t, fmt.Sprintf("    ROUNDS = %d\n%s", c.rounds, unconfirmed))
			without := search(t, outer, c.change)
			without.MaxSchedules = 1200
			within := without
			within.Program = workloads.LockProgram(workloads.LockOptions{TTL: 70 * time.Second}, func(r redis.UniversalClient) workloads.Locker {
				return struct{ workloads.Locker }{listeningInGo{inGo{r}, c.rounds}}
			})
			within.Program.NoBackgroundWork, within.Program.Symmetric, within.Unremembered = true, true, true
			one, err := explore.Search(t.Context(), without)
			require.NoError(t, err)
			other, err := explore.Search(t.Context(), within)
			require.NoError(t, err)
			t.Log(one.Summary(), one.Schedules, one.Pruned)
			requireSame(t, other, one)
		})
	}
}

// Bodies of locks that wait for ever.
const (
	listensTooLate = `
    def acquire(self, key, owner, ttl_ms):
        while not Lock.acquire(self, key, owner, ttl_ms):
            released = Messages(self.redis)
            try:
                released.listen(channel(key))
                released.wait(0)
            finally:
                released.close()
        return True
`
	listensInTime = `
    def acquire(self, key, owner, ttl_ms):
        if Lock.acquire(self, key, owner, ttl_ms):
            return True
        released = Messages(self.redis)
        try:
            released.listen(channel(key))
            while not Lock.acquire(self, key, owner, ttl_ms):
                released.wait(0)
            return True
        finally:
            released.close()
`
	listensForAllItKnows = `
    def acquire(self, key, owner, ttl_ms):
        released = self.redis.pubsub()
        ask("subscribe")
        try:
            released.subscribe(channel(key))
            while not Lock.acquire(self, key, owner, ttl_ms):
                ask("message")
                while released.parse_response()[0] == b"subscribe":
                    ask("message")
            return True
        finally:
            released.close()
`
)

// A wake-up that is lost is a deadlock: a lock that subscribes after it was refused, and one that looks before its subscription was
// confirmed. One that looks again is not lost, unless who has the lock crashes.
func TestALostWakeUpOutsideIsFound(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body    string
		crashes int
		found   bool
	}{
		"too late":             {listensTooLate, -1, true},
		"unconfirmed":          {listensForAllItKnows, -1, true},
		"in time":              {listensInTime, -1, false},
		"the owner is no more": {listensInTime, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := search(t, listening(t, c.body), func(s *explore.Spec) { s.Crashes, s.Expiries, s.LostAnswers = c.crashes, -1, -1 })
			res, err := explore.Search(t.Context(), s)
			require.NoError(t, err)
			require.True(t, res.Exhausted, res.Stopped)
			if !c.found {
				require.Equal(t, harness.Valid, res.Verdict(), res.Summary())
				return
			}
			require.Len(t, res.Found, 1, res.Summary())
			require.Equal(t, harness.Deadlock, res.Found[0].Anomaly.Class)
			require.Regexp(t, "^client [12] waits for ever for a message on released:lock: nobody is left", res.Found[0].Anomaly.Note)
			require.NoError(t, explore.Replay(t.Context(), s, res.Found[0], 100))
			t.Logf("%d schedules\n%s", res.Schedules, res.Found[0].Text())
		})
	}
}

// A client crashes while it waits for a message, and is cut off or killed: the next schedule goes on as if nothing had been.
func TestACrashWhileAProgramWaitsForAMessage(t *testing.T) {
	t.Parallel()
	var all []interleave.Result
	for _, real := range []bool{false, true} {
		c := client(t, python, "python/pubsub_lock.py")
		c.RealCrash = real
		s := search(t, c, func(s *explore.Spec) { s.Crashes, s.Expiries, s.LostAnswers = 1, -1, -1 })
		res, err := explore.Search(t.Context(), s)
		require.NoError(t, err)
		require.Equal(t, harness.Valid, res.Verdict(), res.Stopped)
		all = append(all, res)
		t.Logf("%d schedules, %.0f a second", res.Schedules, float64(res.Schedules)/res.Elapsed.Seconds())
	}
	requireSame(t, all[0], all[1])
}

// Who listens is the schedule's to say, whatever goes wrong: a program does something else for each number of those that its PUBLISH has
// reached, and the search finds that it does the same each time. In one case it closes its connection, in one it unsubscribes and leaves
// it open, and in one it leaves it as it is; it waits for none of that.
func TestTheScheduleSaysWhoListens(t *testing.T) {
	t.Parallel()
	const body = `
    def acquire(self, key, owner, ttl_ms):
        if Lock.acquire(self, key, owner, ttl_ms):
            return True
        released = Messages(self.redis)
        self.left = getattr(self, "left", []) + [released]  # or its connection would be closed
        released.listen(channel(key))
        granted = Lock.acquire(self, key, owner, ttl_ms)
        if not granted:
            released.wait(ttl_ms // 4)
        %s
        return granted or Lock.acquire(self, key, owner, ttl_ms)

    def release(self, key, owner):
        mine = super().release(key, owner)
        self.redis.get(f"heard-{self.redis.publish(channel(key), 'again')}")
        return mine
`
	for name, ends := range map[string]string{
		"closes": "released.close()", "unsubscribes": "released.pubsub.unsubscribe(channel(key))", "leaves": "pass",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := listening(t, fmt.Sprintf(body, ends))
			for fault, change := range map[string]func(*explore.Spec){
				"crash":       func(s *explore.Spec) { s.Crashes = 1 },
				"lost answer": func(s *explore.Spec) { s.LostAnswers = 1 },
				"failover":    func(s *explore.Spec) { s.Failovers = 1 },
			} {
				res, err := explore.Search(t.Context(), search(t, c, func(s *explore.Spec) {
					s.Crashes, s.Expiries, s.LostAnswers, s.MaxSchedules, s.Twice = -1, -1, -1, 150, explore.DefaultTwice
					change(s)
				}))
				require.NoError(t, err)
				require.True(t, res.Exhausted || res.Schedules == 150, "%s: %s", fault, res.Stopped)
				t.Logf("%s: %d schedules, %s", fault, res.Schedules, res.Summary())
			}
		})
	}
}

// A thread that waits for a message is stopped: it is told so, and ends.
func TestAThreadThatWaitsForAMessageIsStopped(t *testing.T) {
	t.Parallel()
	const body = `
    def acquire(self, key, owner, ttl_ms):
        granted = Lock.acquire(self, key, owner, ttl_ms)
        if granted:
            self.ear = Beside(lambda: self.listen(key))
        return granted

    def listen(self, key):
        released = Messages(self.redis)
        try:
            released.listen(channel(key))
            self.hear(released)
        finally:
            released.close()

    def hear(self, released):
        while not (told := ask("message", timeout_ms=2000)).get("stopped"):
            if told.get("message"):
                released.pubsub.get_message(timeout=2)

    def release(self, key, owner):
        self.ear.stop()
        self.ear.join()
        return super().release(key, owner)
`
	res, err := explore.Search(t.Context(), search(t, listening(t, body), func(s *explore.Spec) { s.Crashes, s.Expiries, s.LostAnswers = 1, -1, -1 }))
	require.NoError(t, err)
	require.Equal(t, harness.Valid, res.Verdict(), "%s %s", res.Stopped, res.Summary())
	t.Logf("%d schedules", res.Schedules)
}

// A thread that subscribes beside an operation reads its own messages, and the operation its own.
func TestEachThreadReadsItsOwnMessages(t *testing.T) {
	t.Parallel()
	const body = `
    def release(self, key, owner):
        mine = super().release(key, owner)
        own = Messages(self.redis)
        try:
            own.listen("own")
            beside = Beside(self.other)
            self.redis.publish("own", "news")
            if own.wait(0)["channel"] != b"own":
                os._exit(3)
            beside.join()
            return mine
        finally:
            own.close()

    def other(self):
        theirs = Messages(self.redis)
        try:
            theirs.listen("theirs")
            self.redis.publish("theirs", "news")
            if theirs.wait(0)["channel"] != b"theirs":
                os._exit(3)
        finally:
            theirs.close()
`
	res, err := explore.Search(t.Context(), search(t, listening(t, body), func(s *explore.Spec) {
		s.Crashes, s.Expiries, s.LostAnswers, s.MaxSchedules = -1, -1, -1, 200
	}))
	require.NoError(t, err)
	require.Empty(t, res.Found, res.Summary())
	require.True(t, res.Exhausted || res.Schedules == 200, res.Stopped)
	t.Logf("%d schedules", res.Schedules)
}

// Whether a lock is free in the end, the harness asks a program that waits for messages as well: its wait takes the schedule's time.
func TestTheHarnessLooksByAProgramThatListens(t *testing.T) {
	t.Parallel()
	const body = `
    def acquire(self, key, owner, ttl_ms):
        if self.redis.set(key, owner, nx=True):
            return True
        released = Messages(self.redis)
        try:
            released.listen(channel(key))
            return released.wait(ttl_ms // 4) is not None and self.redis.set(key, owner, nx=True) is True
        finally:
            released.close()
`
	s := search(t, listening(t, body), func(s *explore.Spec) { s.Crashes, s.Expiries, s.LostAnswers = 1, -1, -1 })
	res, err := explore.Search(t.Context(), s)
	require.NoError(t, err)
	require.Len(t, res.Found, 1, "%s %s", res.Stopped, res.Summary())
	require.Equal(t, harness.StuckLock, res.Found[0].Anomaly.Class)
	require.NoError(t, explore.Replay(t.Context(), s, res.Found[0], 10))
	t.Log(res.Found[0].Text())
}

// Programs that subscribe and do not keep to the protocol end the search, with one line that says what is wrong.
func TestProgramsThatListenAndBreakDown(t *testing.T) {
	t.Parallel()
	acquires := "    def acquire(self, key, owner, ttl_ms):\n        if Lock.acquire(self, key, owner, ttl_ms): return True\n        p = self.redis.pubsub()\n        "
	const page = "see Subscriptions in workloads/clients/README.md"
	for name, c := range map[string]struct{ body, want string }{
		"it reads": {
			acquires + "p.subscribe('x'); p.parse_response(); p.parse_response(); return False",
			"^client [12] neither sent a command nor finished within 2s: it may read a message that it has not asked for: " + page,
		},
		"it reads for some time": {
			acquires + "p.subscribe('x'); p.parse_response(); p.get_message(timeout=0.01); p.close(); return False",
			"^it has subscribed, and never asked for a message, so whatever it reads there is not part of the search: " + page,
		},
		"it does not wait for the confirmation": {
			acquires + "p.subscribe('x'); return Lock.acquire(self, key, owner, ttl_ms)",
			"^client [12] has gone on before its SUBSCRIBE was confirmed: let it read the confirmation first, or ask for subscribe before: " + page + "|not do the same each time: ",
		},
		"it has not subscribed": {
			acquires + "ask('message', timeout_ms=5); return False",
			"it asked for a message, and it has not subscribed: see workloads/clients/README.md",
		},
		"it announces and does not subscribe": {
			acquires + "ask('subscribe'); return False",
			"^client [12] has asked for subscribe, and sent no SUBSCRIBE on a new connection within 2s: " + page,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res, err := explore.Search(t.Context(), search(t, listening(t, c.body), func(s *explore.Spec) { s.Crashes, s.Expiries, s.LostAnswers = -1, -1, -1 }))
			require.NoError(t, err)
			require.Equal(t, harness.Unknown, res.Verdict(), res.Summary())
			require.Regexp(t, c.want, res.Stopped)
			require.NotContains(t, res.Stopped, "\n")
		})
	}
}

// The first thing to run with an adapter says that it has to ask. Its question is answered at once, as under load, so it waits by itself: a
// quarter of the 10 s lease of a check.
func TestTheCheckKnowsWhoAsksForMessages(t *testing.T) {
	t.Parallel()
	const silent = "    def acquire(self, key, owner, ttl_ms):\n        if Lock.acquire(self, key, owner, ttl_ms): return True\n        p = self.redis.pubsub()\n        p.subscribe('x'); p.get_message(timeout=0.05); p.get_message(timeout=0.05); p.close(); return False"
	s := cluster.Standalone(cluster.Options{})
	clustertest.Start(t, s)
	r, err := s.Connect(0)
	require.NoError(t, err)
	const step = "it has subscribed, and asks before it reads a message"
	for _, c := range []struct {
		client workloads.Client
		right  bool
	}{{client(t, python, "python/pubsub_lock.py"), true}, {listening(t, silent), false}} {
		said := map[string]error{}
		began := time.Now()
		_, err = outside.Check(t.Context(), c.client, only(r), func(step string, wrong error) { said[step] = wrong })
		require.Contains(t, said, step)
		if c.right {
			require.NoError(t, err)
			require.Greater(t, time.Since(began), 2500*time.Millisecond)
			continue
		}
		require.ErrorContains(t, err, step+": it has never asked for a message, and in a search nobody sees when it reads: let it ask before, see workloads/clients/README.md")
	}
}

// Under load the question is answered at once, and the program waits by itself.
func TestALockOutsideThatListensUnderLoad(t *testing.T) {
	t.Parallel()
	v, err := outside.Variant(client(t, python, "python/pubsub_lock.py"))
	require.NoError(t, err)
	defer v.Close()
	s := cluster.Standalone(cluster.Options{Clients: 8})
	w := v.Workload(s, workloads.Options{Keys: 2, TTL: 300 * time.Millisecond, Hold: 20 * time.Millisecond})
	res, err := harness.Run(t.Context(), harness.Spec{Name: v.ID, System: s, Workload: w, Clients: 8, Duration: 2 * time.Second, Checkers: checkers.For(w), Seed: 1})
	require.NoError(t, err)
	require.Equal(t, harness.Valid, res.Verdict, "%+v", res.Judged)
}
