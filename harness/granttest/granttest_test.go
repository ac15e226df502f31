package granttest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/granttest"
	"github.com/doublegrant/doublegrant/harness/testenv"
)

// Right algorithms pass, whatever their constructor takes, and save nothing.
func TestRightOnesPass(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Cleanup(func() { require.NoDirExists(t, "testdata") })
	few := granttest.Load{Clients: 10}
	for name, test := range map[string]func(granttest.TB){
		"lock, by a redis.Client": lock(newPlainLock, quick),
		// Somebody has to ask again in the last twentieth of a window. Of the default window that is as long as a busy
		// machine may stand still.
		"filter": dedup(newGoodFilter,
			granttest.DedupOptions{Search: granttest.Search{Clients: 2}, Load: few, Window: time.Second}),
		"numbers in every regime": sequence(newGoodSequence,
			granttest.SequenceOptions{Search: granttest.Search{Clients: 2}, Load: few}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			right := record(t, t.Name(), test)
			right.passes(t)
			for _, log := range right.logs {
				require.Regexp(t, `(?s)^(search|load).*\n  tried: (Acquire|First|Next) [\d,]+ \(.*\n  met: `, log)
			}
		})
	}
}

// Algorithms that break their promise fail, with the class of the violation. A filter of one step loses a message if
// its worker crashes, which fails the test only if the options ask for crashes.
func TestWrongOnesFail(t *testing.T) {
	t.Chdir(t.TempDir())
	two, crash := brief, brief
	crash.Crashes = 1
	calm := granttest.Search{Clients: 2, Crashes: -1, LostAnswers: -1, Minimize: -1}
	for name, c := range map[string]struct {
		test  func(granttest.TB)
		class string
	}{
		"PEXPIRE in an Extend": {lock(newBlindExtend, granttest.LockOptions{Search: calm}), "double-grant"},
		"filter: GET, then SET": {dedup(newGetSetFilter, granttest.DedupOptions{Search: calm}),
			"duplicate-delivery"},
		"filter: SETNX, then EXPIRE": {dedup(newTwoStepFilter, granttest.DedupOptions{Search: two}),
			"immortal-mark"},
		"filter: no answer: new": {dedup(newOpenFilter, granttest.DedupOptions{Search: two}),
			"duplicate-delivery"},
		"filter: no answer: seen":        {dedup(newShutFilter, granttest.DedupOptions{Search: two}), "lost-message"},
		"filter: right, crash asked for": {dedup(newGoodFilter, granttest.DedupOptions{Search: crash}), "lost-message"},
		"numbers as strings": {sequence(newStringSequence, granttest.SequenceOptions{Search: calm}),
			"duplicate-number"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			failure := record(t, t.Name(), c.test).failure(t)
			require.Contains(t, failure, c.class+" in ")
			require.Contains(t, failure, "go test -run '^TestWrongOnesFail$/^")
			require.Contains(t, failure, "' github.com/doublegrant/doublegrant/harness/granttest")
		})
	}
}

// A lock that has the method Fence fails if it never returns a token.
func TestTokensThatAreNeverGivenAreNoProof(t *testing.T) {
	t.Chdir(t.TempDir())
	failure := record(t, t.Name(), lock(newTokenless, quick)).failure(t)
	require.Contains(t, failure, "no grant had a fencing token")
}

// A load finds wrong algorithms without a search.
func TestLoadsFindWhatIsWrong(t *testing.T) {
	if testing.Short() {
		t.Skip("-short leaves loads out")
	}
	t.Chdir(t.TempDir())
	alone := granttest.Search{Skip: true}
	// A busy machine does little in the default time. A load ends with the first violation.
	long := granttest.Load{Duration: time.Minute}
	for name, c := range map[string]struct {
		test  func(granttest.TB)
		class string // a regular expression
	}{
		"blind DEL": {lock(newBlindDel, granttest.LockOptions{Search: alone, Load: long}),
			"stolen-release|double-grant"},
		"marks that do not end": {dedup(newEternalFilter, granttest.DedupOptions{Search: alone}), "immortal-mark"},
		"numbers as strings": {sequence(newStringSequence, granttest.SequenceOptions{Search: alone, Load: long}),
			"duplicate-number"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			failure := record(t, t.Name(), c.test).failure(t)
			require.Contains(t, failure, "under load: invalid")
			require.Regexp(t, c.class, failure)
		})
	}
}

// withFault returns options for the load l without a search, with leases of 300 ms.
func withFault(l granttest.Load) granttest.LockOptions {
	return granttest.LockOptions{TTL: 300 * time.Millisecond, Search: granttest.Search{Skip: true}, Load: l}
}

// A load has the topology and the faults of its options. A failover loses writes that were acknowledged but not yet
// replicated, so no lock on one primary survives a split brain.
func TestLoadsWithFaults(t *testing.T) {
	for name, fault := range map[string]granttest.Fault{
		"crash clients": granttest.CrashClients(), "flush scripts": granttest.FlushScripts(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			record(t, "TestIt", lock(newGoodLock,
				withFault(granttest.Load{Clients: 5, Faults: []granttest.Fault{fault}}))).passes(t)
		})
	}
}

func TestLongALoadWithASplitBrain(t *testing.T) {
	testenv.NeedLong(t)
	failure := record(t, "TestIt", lock(newGoodLock, withFault(granttest.Load{
		Clients: 10, Topology: granttest.Sentinel, Faults: []granttest.Fault{granttest.SplitBrain(30 * time.Second)},
	}))).failure(t)
	require.Contains(t, failure, "is not a lock under load: invalid")
	require.Contains(t, failure, "-granttest.seed=")
}

// A failure says whether there may be shorter counterexamples, for which the search had no time.
func TestLongASearchSaysWhetherItFoundTheShortest(t *testing.T) {
	testenv.NeedLong(t)
	t.Chdir(t.TempDir())
	const perhaps = "there may be shorter counterexamples"
	small := granttest.Search{Crashes: -1, LostAnswers: -1, LostCommands: -1, Late: -1, Minimize: time.Minute}
	whole := record(t, "TestWhole", lock(newBlindDel, granttest.LockOptions{Search: small})).failure(t)
	require.NotContains(t, whole, perhaps)
	require.Contains(t, whole, "stolen-release in 5 steps")
	for name, minimize := range map[string]time.Duration{"TestFirst": -1, "TestShort": time.Millisecond} {
		// every schedule takes 500 times as long as the first finding
		o := granttest.LockOptions{Search: granttest.Search{Minimize: minimize}}
		found := record(t, name, lock(newGetSet, o)).failure(t)
		require.Contains(t, found, perhaps)
		require.Contains(t, found, "saved in")
	}
}
