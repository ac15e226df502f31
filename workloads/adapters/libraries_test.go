package adapters_test

import (
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/adapter"
	"github.com/doublegrant/doublegrant/harness/explore"
	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/harness/testenv"
	"github.com/doublegrant/doublegrant/workloads"
)

// eachLibrary runs a test for every library of the catalogue. It skips those that are not installed.
func eachLibrary(t *testing.T, test func(t *testing.T, v workloads.Variant, command []string)) {
	for _, v := range workloads.Catalogue() {
		l, isLibrary := v.Library()
		if !isLibrary {
			continue
		}
		t.Run(v.ID, func(t *testing.T) {
			t.Parallel()
			tool := language{v.ID, l.Interpreters, l.Probe, l.Packages, false}.interpreter(t)
			test(t, v, append([]string{tool, l.File}, l.Args...))
		})
	}
}

// Every library's adapter answers each message correctly, except for a library whose lock is lost when it is renewed.
func TestTheAdapterOfEveryLibrary(t *testing.T) {
	t.Parallel()
	eachLibrary(t, func(t *testing.T, v workloads.Variant, command []string) {
		if v.ID != "lib/redis-py-lock-endless" {
			requireRight(t, workloads.Adapter{Command: command})
			return
		}
		_, err := adapter.Check(t.Context(), workloads.Adapter{Command: command}, oneRedis(t), func(string, error) {})
		require.ErrorContains(t, err, "release: ok, for the lock is the caller's: it answered ok: false")
	})
}

// Every installed library of the catalogue shows exactly the flaws that it declares, by its own code.
func TestLongLibrariesAsTheyCome(t *testing.T) {
	testenv.NeedLong(t)
	t.Parallel()
	eachLibrary(t, func(t *testing.T, v workloads.Variant, _ []string) {
		s := plan.Search{Variant: v.ID, Bounds: interleave.Bounds{Clients: 2, Crashes: -1, LostAnswers: -1},
			For: 5 * time.Minute}
		switch v.ID {
		case "lib/redis-py-lock-endless":
			s.Crashes, s.Expiries = 1, -1
		case "lib/rq-scheduler-two-queues": // the second scheduler deletes the first one's lock, and the third takes it
			s.Clients, s.Expiries, s.First = 3, -1, true
		case "lib/rq-scheduler-lock":
			s.Clients, s.First = 3, true
		case "lib/symfony-lock": // all schedules take minutes
			s.Expiries, s.MaxSchedules = -1, 300
		}
		_, spec, err := s.Resolve("")
		require.NoError(t, err)
		res, err := explore.Search(t.Context(), spec)
		require.NoError(t, err)
		t.Logf("%s: %d schedules, %.0f a second", res.Summary(), res.Schedules,
			float64(res.Schedules)/res.Elapsed.Seconds())
		if want := s.Expectation(v); len(want.Must) > 0 {
			require.Equal(t, harness.Invalid, res.Verdict(), res.Stopped)
			require.True(t, want.Met(res), "%v", res.Summary())
			require.LessOrEqual(t, res.Counterexamples[0].Length(), 8)
			require.NoError(t, explore.Replay(t.Context(), spec, res.Counterexamples[0], 5))
			return
		}
		require.Empty(t, res.Counterexamples)
		require.True(t, res.Exhausted || res.Schedules == s.MaxSchedules, res.Stopped)
	})
}

// connecting is a lock whose library sends commands each time it connects. It connects before the first operation.
const connecting = `
    can, any_thread = ["acquire", "release"], True

    def __init__(self, url, timeout):
        super().__init__(url, timeout)
        greet = lambda c: (c.on_connect(), [(c.send_command(*words), c.read_response()) for words in %s])
        self.redis.connection_pool.connection_kwargs["redis_connect_func"] = greet

import lock

class Program(lock.Program):
    def heed(self, r):
        if r["do"] == "init":
            eager = Own(r["redis"], None)
            eager.redis.%s
            self.clients[1] = eager
        super().heed(r)

lock.Program = Program
`

// Commands that a library sends to connect belong to no operation, even if it connects during one. Outside of
// operations a command that writes stops the search.
func TestWhatALibrarySendsWhileItConnects(t *testing.T) {
	t.Parallel()
	lost := bounds(-1, -1, 1)
	for _, words := range []string{`[["INFO"], ["ROLE"], ["CLIENT", "SETNAME", "x"]]`,
		`[["TIME"], ["DBSIZE"], ["SCRIPT", "LOAD", "return 1"], ["CONFIG", "GET", "save"]]`} {
		requireHolds(t, pythonClass(t, "Lock", fmt.Sprintf(connecting, words, "ping()")), lost)
	}
	requireStopped(t, pythonClass(t, "Lock", fmt.Sprintf(connecting, "[]", "incr('starts')")),
		regexp.QuoteMeta(`commands were sent when no operation of their client was under way (INCRBY starts 1), `+
			`which is not part of the search: let the program send nothing`), lost)
}
