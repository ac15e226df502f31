package adapter_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/checkers"
	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/adapter"
	"github.com/doublegrant/doublegrant/harness/explore"
	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/doublegrant/doublegrant/workloads"
)

// catalogued names, for some modes of the fake adapter, the lock of the catalogue that sends the same commands.
var catalogued = map[string]string{
	"blind": "lock/set-nx-px-blind-del", "resets": "lock/set-nx-px-blind-del", "compare": "lock/set-nx-px-get-del",
}

// spec returns a short search of the lock of p, which runs in this process or in an adapter.
func spec(p interleave.Program) explore.Spec {
	p.NoBackgroundWork, p.Symmetric = true, false
	return explore.Spec{Program: p, Checkers: checkers.ForSearch(p.Kinds...),
		Bounds: interleave.Bounds{Clients: 2, Expiries: -1, LostAnswers: 1}, For: time.Minute}
}

// searchOf returns a short search of an adapter's lock, with clients that reach Redis by gate: TCP or a Unix socket.
func searchOf(t *testing.T, c workloads.Adapter, gate interleave.Gate) explore.Spec {
	t.Helper()
	p, ok := variant(t, c).Program(workloads.Options{})
	require.True(t, ok)
	p.Gate = gate
	return spec(p)
}

// lock is a fake adapter that is a lock and does what mode says.
func lock(mode string) workloads.Adapter { return fakeOf(workloads.Lock, mode, "acquire", "release") }

func searched(t *testing.T, s explore.Spec) interleave.Result {
	t.Helper()
	res, err := explore.Search(t.Context(), s)
	require.NoError(t, err)
	return res
}

// comparable returns a result without the search's duration and the texts of errors. Those differ between an adapter
// and the same lock in this process.
func comparable(r interleave.Result) interleave.Result {
	r.First, r.Elapsed = 0, 0
	for _, c := range r.Counterexamples {
		wordless(c.Ops)
		wordless(c.Anomaly.Ops)
	}
	for _, s := range r.Situations {
		wordless(s.Example)
	}
	return r
}

func wordless(ops []harness.Op) {
	for i := range ops {
		ops[i].Err = ""
	}
}

// A search of a fake adapter's lock gives the same result as a search of the same lock in this process: schedules,
// situations and counterexamples. The cases differ in faults and sockets, and in whether Redis executes every schedule
// or the explorer remembers answers.
func TestAnAdapterIsSearchedAsAClientInThisProcess(t *testing.T) {
	for _, c := range []struct {
		mode   string
		gate   interleave.Gate
		budget func(*explore.Spec)
		found  bool
		really bool
	}{
		{"blind", interleave.TCP, func(*explore.Spec) {}, true, false}, // crashes and lost answers
		{"resets", interleave.Unix, func(s *explore.Spec) { s.Late, s.Crashes, s.LostAnswers = 1, -1, -1 }, true, true},
		{"compare", interleave.Unix, func(s *explore.Spec) { s.Crashes, s.Expiries, s.LostAnswers = -1, 1, -1 }, false,
			false},
		{"compare", interleave.TCP, func(s *explore.Spec) {
			s.Failovers, s.Crashes, s.LostAnswers, s.MaxSchedules, s.Workers = 1, -1, -1, 50, 1
		}, true, true},
		{"resets", interleave.TCP, func(s *explore.Spec) { s.Late, s.Crashes, s.LostAnswers = 1, -1, -1 }, true, false},
	} {
		t.Run(c.mode, func(t *testing.T) {
			t.Parallel()
			v, err := workloads.Find(catalogued[c.mode])
			require.NoError(t, err)
			p, _ := v.Program(workloads.Options{})
			in, s := spec(p), searchOf(t, lock(c.mode), c.gate)
			c.budget(&in)
			c.budget(&s)
			in.WithoutMemory, s.WithoutMemory = c.really, c.really
			within, without := searched(t, in), searched(t, s)
			require.Equal(t, c.found, len(within.Counterexamples) > 0, within.Summary())
			t.Logf("%d schedules: in this process %v, in an adapter %v", within.Schedules, within.Elapsed, without.Elapsed)
			require.Equal(t, comparable(within), comparable(without))
			for _, found := range without.Counterexamples {
				require.NoError(t, explore.Replay(t.Context(), s, found, 5))
			}
		})
	}
}

func TestAnAdapterThatBreaksDown(t *testing.T) {
	const broke = "client 1: the adapter has broken down: "
	for _, c := range []struct {
		client workloads.Adapter
		want   string
	}{
		{lock("dies"), broke + "it ended (exit status 3): lost my head"},
		{lock("half"), broke + `it ended in the middle of the line "{\"id\":3,\"o" (exit status 0)`},
		{lock("tomorrow"), "it speaks version 2 of the protocol, and this is version 1"},
		{lock("sundial"), `it says that its clock is "sundial": choose one of "asked", "preloaded" and "real"`},
		{lock("idles"), "client 1 neither sent a command nor finished within 5s: it never sent any"},
		{lock("sleeps"),
			"client 1 neither sent a command nor finished within 5s: it may wait for something other than a reply"},
		{lock("babbles"), broke + `it wrote "releasing now", which is not a line of the protocol`},
		{lock("long"), broke + "it wrote a line of more than 65536 bytes, which begins with "},
		// of any client: the second answer may be read late
		{lock("twice"), "the adapter has broken down: it answered 3 twice: "},
		{lock("unasked"), broke + "it answered 4711, which was never asked: "},
		{lock("counts"), broke + "it answered release with the number 0: answer ok with true or false"},
		{lock("elsewhere"),
			"client 1's acquire was answered yes without any command through the client that it was given"},
		{lock("nowhere"), "no acquire ever succeeded"},
		{lock("wears"), "when all was the same before"},
		{lock("garbles"), "client 1: it sent something other than RESP arrays of bulk strings"},
		{workloads.Adapter{As: workloads.Lock, Name: "no program", Command: []string{"no-such-program"}},
			`"no-such-program" cannot be started: `},
		{workloads.Adapter{As: workloads.Lock, Name: "no socket", Connect: "unix:/no/socket"},
			"nothing listens on unix:/no/socket: start the adapter first"},
		{driver("drives-badly"), `it announced "invoke dance lock": "dance" is no operation of a lock`},
		{driver("drives-out-of-order"), `it announced "return ok": want invoke, an operation and a name`},
		{driver("drives-and-listens"),
			"has subscribed, and subscriptions of an adapter that drives itself are not explored, since it cannot ask"},
		{driver("drives-nowhere"), "it ended (exit status 4): no such module"},
	} {
		t.Run(c.client.Name, func(t *testing.T) {
			t.Parallel()
			res := searched(t, searchOf(t, c.client, interleave.TCP))
			require.Equal(t, harness.Unknown, res.Verdict())
			require.Contains(t, res.Stopped, c.want)
			require.NotContains(t, res.Stopped, "\n")
		})
	}
}

func TestAnAdapterThatSaysNothing(t *testing.T) {
	within(t, adapter.StartWithin, 200*time.Millisecond)
	res := searched(t, searchOf(t, lock("mute"), interleave.TCP))
	require.Equal(t, harness.Unknown, res.Verdict())
	require.Contains(t, res.Stopped,
		"client 1: the adapter has broken down: it has not answered init within 200ms")
}

func TestASearchOfAnAdapterLeavesNothing(t *testing.T) {
	for _, mode := range []string{"blind", "sleeps"} {
		v := variant(t, fakeOf(workloads.Lock, mode))
		p, _ := v.Program(workloads.Options{})
		s := spec(p)
		s.First = true
		searched(t, s)
		require.NotEmpty(t, processes(t), "they wait for the next search")
		v.Close()
		_, err := p.OpenAt(0, "anywhere")
		require.ErrorIs(t, err, interleave.ErrAdapter)
	}
	require.Empty(t, processes(t))
}

// processes lists the processes that this one has started from its own binary.
func processes(t *testing.T) (pids []string) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/status")
	require.NoError(t, err)
	name, err := os.ReadFile("/proc/self/comm")
	require.NoError(t, err)
	for _, path := range all {
		status, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(status), fmt.Sprintf("\nPPid:\t%d\n", os.Getpid())) &&
			strings.HasPrefix(string(status), "Name:\t"+string(name)) {
			pids = append(pids, path)
		}
	}
	return pids
}

func TestAnAdapterHasToPromise(t *testing.T) {
	for want, change := range map[string]func(*interleave.Program){
		"let it promise NoBackgroundWork": func(p *interleave.Program) { p.NoBackgroundWork = false },
		"has no clients":                  func(p *interleave.Program) { p.OpenAt = nil },
		"gate 9 is not known":             func(p *interleave.Program) { p.Gate = 9 },
	} {
		s := searchOf(t, lock("blind"), interleave.TCP)
		change(&s.Program)
		_, err := explore.Search(t.Context(), s)
		require.ErrorIs(t, err, explore.ErrSpec)
		require.ErrorContains(t, err, want)
	}
}
