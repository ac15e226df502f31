package adapters_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/adapter"
	"github.com/doublegrant/doublegrant/harness/explore"
	"github.com/doublegrant/doublegrant/harness/testenv"
	"github.com/doublegrant/doublegrant/workloads"
)

// listening returns a program in Python that runs body, based on pubsub_lock.py.
func listening(t *testing.T, body string) workloads.Adapter {
	return pythonClass(t, "PubSubLock", body)
}

// unconfirmed is the body of a lock that subscribes and does not wait for the confirmation. The confirmation then comes
// as its first message. A refused acquire subscribes several times on one connection.
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
		if _, err := released.ReceiveTimeout(ctx, ttl/4); err != nil && !os.IsTimeout(err) {
			return false, err
		}
		if err := released.Unsubscribe(ctx, "released:"+key); err != nil {
			return false, err
		}
	}
	return l.inGo.Acquire(ctx, key, owner, ttl)
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

// An adapter's lock that waits for messages takes the same steps as one in this process under every fault: schedules,
// situations and counterexamples are the same.
func TestALockOfAnAdapterThatListensIsSearchedAsAClientInThisProcess(t *testing.T) {
	t.Parallel()
	listensAsInProcess(t, 1, oneFault["crash"])
}

func TestLongALockOfAnAdapterThatListensIsSearchedAsAClientInThisProcess(t *testing.T) {
	testenv.NeedLong(t)
	t.Parallel()
	for name, change := range oneFault {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			listensAsInProcess(t, 1, change)
		})
	}
	t.Run("two rounds", func(t *testing.T) { listensAsInProcess(t, 2, oneFault["crash"]) })
}

func listensAsInProcess(t *testing.T, rounds int, change func(*explore.Spec)) {
	t.Helper()
	s := search(t, listening(t, fmt.Sprintf("    ROUNDS = %d\n%s", rounds, unconfirmed)), change)
	s.MaxSchedules = 1200
	requireSameInProcess(t, s, func(r redis.UniversalClient) workloads.Locker { return listeningInGo{inGo{r}, rounds} })
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

// A lock that subscribes after it was refused may miss the release, and waits for ever. That is a deadlock.
func TestALostWakeUpOfAnAdapterIsFound(t *testing.T) {
	t.Parallel()
	requireDeadlock(t, listensTooLate, -1, 20)
}

// A lock that checks before its subscription is confirmed deadlocks too. One that checks again does not, unless the
// owner crashes.
func TestLongALostWakeUpOfAnAdapterIsFound(t *testing.T) {
	testenv.NeedLong(t)
	t.Parallel()
	requireDeadlock(t, listensForAllItKnows, -1, 100)
	requireDeadlock(t, listensInTime, 1, 100)
	requireHolds(t, listening(t, listensInTime), races)
}

func requireDeadlock(t *testing.T, body string, crashes, replays int) {
	t.Helper()
	found := requireFound(t, listening(t, body), harness.Deadlock, replays, bounds(crashes, -1, -1))
	require.Regexp(t, "^client [12] waits for ever for a message on released:lock: nobody is left", found.Anomaly.Note)
}

// A client crashes while it waits for a message, and is cut off or killed. The next schedule starts clean.
func TestLongACrashWhileAProgramWaitsForAMessage(t *testing.T) {
	testenv.NeedLong(t)
	t.Parallel()
	c := client(t, python, "python/pubsub_lock.py")
	cut := requireHolds(t, c, oneFault["crash"])
	c.RealCrash = true
	requireSame(t, cut, requireHolds(t, c, oneFault["crash"]))
}

// The schedule decides how many clients a PUBLISH reaches, under every fault. The program's next command depends on
// that number, so the search notices if the number changes between two runs of a schedule. After a wait the program
// closes its connection, unsubscribes, or does neither.
func TestLongTheScheduleSaysWhoListens(t *testing.T) {
	testenv.NeedLong(t)
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
				_, res := runSearch(t, c, func(s *explore.Spec) {
					races(s)
					s.MaxSchedules, s.RunTwice = 150, explore.DefaultRunTwice
					change(s)
				})
				require.True(t, res.Exhausted || res.Schedules == 150, "%s: %s", fault, res.Stopped)
				t.Logf("%s: %d schedules, %s", fault, res.Schedules, res.Summary())
			}
		})
	}
}

// A thread that waits for a message can be stopped: it is told so, and ends.
func TestLongAThreadThatWaitsForAMessageIsStopped(t *testing.T) {
	testenv.NeedLong(t)
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
	requireHolds(t, listening(t, body), oneFault["crash"])
}

// A thread that subscribes during an operation reads its own messages, and the operation its own.
func TestLongEachThreadReadsItsOwnMessages(t *testing.T) {
	testenv.NeedLong(t)
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
	_, res := runSearch(t, listening(t, body), func(s *explore.Spec) { races(s); s.MaxSchedules = 200 })
	require.Empty(t, res.Counterexamples, res.Summary())
	require.True(t, res.Exhausted || res.Schedules == 200, res.Stopped)
	t.Logf("%d schedules", res.Schedules)
}

// At the end the harness lets the program acquire the lock, to see whether the lock is free. If the program then waits
// for a message, the wait takes the schedule's time.
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
	requireFound(t, listening(t, body), harness.StuckLock, 10, oneFault["crash"])
}

// Programs that subscribe and break the protocol end the search, with a one-line reason.
func TestProgramsThatListenAndBreakDown(t *testing.T) {
	t.Parallel()
	requireBreakDown(t, listening, map[string]badProgram{
		"it reads for some time": {
			acquires + "p.subscribe('x'); p.parse_response(); p.get_message(timeout=0.01); p.close(); return False",
			"^it subscribed without ever asking for a message, so what it reads there is not part of the " +
				"search: " + page,
		},
		"it has not subscribed": {
			acquires + "ask('message', timeout_ms=5); return False",
			"it asked for a message, and it has not subscribed: see workloads/adapters/README.md",
		},
	})
}

func TestLongProgramsThatListenAndBreakDown(t *testing.T) {
	testenv.NeedLong(t)
	t.Parallel()
	requireBreakDown(t, listening, map[string]badProgram{
		"it reads": {
			acquires + "p.subscribe('x'); p.parse_response(); p.parse_response(); return False",
			"^client [12] neither sent a command nor finished within 5s: it may read a message without asking " +
				"first: " + page,
		},
		"it does not wait for the confirmation": {
			acquires + "p.subscribe('x'); return Lock.acquire(self, key, owner, ttl_ms)",
			"^client [12] did not wait for the confirmation of its SUBSCRIBE: let it read the confirmation first, " +
				"or ask " +
				"for subscribe before: " + page + "|behaves differently each time: ",
		},
		"it announces and does not subscribe": {
			acquires + "ask('subscribe'); return False",
			"^client [12] has asked for subscribe, and sent no SUBSCRIBE on a new connection within 5s: " + page,
		},
	})
}

// The beginning of programs that listen and break down, and the hint for their users.
const (
	acquires = "    def acquire(self, key, owner, ttl_ms):\n        if Lock.acquire(self, key, owner, ttl_ms): " +
		"return True\n        p = self.redis.pubsub()\n        "
	page = "see Subscriptions in workloads/adapters/README.md"
)

// A check of a program that subscribes includes whether it asks before it reads a message. Its question is answered at
// once, as under load. The program then really waits, for a quarter of the check's lease of 10 s.
func TestTheCheckKnowsWhoAsksForMessages(t *testing.T) {
	t.Parallel()
	const silent = acquires + "p.subscribe('x'); p.get_message(timeout=0.05); p.get_message(timeout=0.05); " +
		"p.close(); return False"
	const step = "it has subscribed, and asks before it reads a message"
	redis := oneRedis(t)
	check := func(c workloads.Adapter) error {
		var steps []string
		_, err := adapter.Check(t.Context(), c, redis, func(step string, _ error) { steps = append(steps, step) })
		require.Contains(t, steps, step)
		return err
	}
	right, wrong := client(t, python, "python/pubsub_lock.py"), listening(t, silent)
	began := time.Now()
	require.NoError(t, check(right))
	require.Greater(t, time.Since(began), 2500*time.Millisecond)
	require.ErrorContains(t, check(wrong),
		step+": it has never asked for a message, and in a search nobody sees when it reads: let it ask before, see "+
			"workloads/adapters/README.md")
}
