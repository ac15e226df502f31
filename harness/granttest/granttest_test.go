package granttest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/granttest"
)

// A right one passes, whatever its constructor takes. Examples are tests of others.
func TestARightOnePasses(t *testing.T) {
	t.Chdir(t.TempDir())
	record(t, t.Name(), lock(newPlainLock, quick)).passes(t)
	require.NoDirExists(t, "testdata")
}

// Algorithms that break their promise fail, with the class that says why.
func TestWrongOnesFail(t *testing.T) {
	t.Chdir(t.TempDir())
	two := granttest.Search{Clients: 2}
	for name, c := range map[string]struct {
		test  func(granttest.TB)
		class string
	}{
		"blind DEL":             {lock(newBlindDel), "stolen-release"},
		"PEXPIRE in an Extend":  {lock(newBlindExtend, granttest.LockOptions{Search: two}), "double-grant"},
		"filter: GET, then SET": {dedup(newGetSetFilter, granttest.DedupOptions{Search: two}), "duplicate-delivery"},
		"numbers as strings":    {sequence(newStringSequence, granttest.SequenceOptions{Search: two}), "duplicate-number"},
	} {
		t.Run(name, func(t *testing.T) {
			failure := record(t, t.Name(), c.test).failure(t)
			require.Contains(t, failure, c.class+" in ")
			require.Contains(t, failure, "go test -run '^TestWrongOnesFail$/^")
			require.Contains(t, failure, "' github.com/doublegrant/doublegrant/harness/granttest")
		})
	}
}

// A filter of one step loses a message whose worker crashes, which its search accepts. It does not accept what else crashes and lost
// answers bring about.
func TestAFilterOfOneStepIsSearchedWithCrashesAndLostAnswers(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, c := range map[string]struct {
		test func(granttest.TB)
		says string
	}{
		"SETNX, then EXPIRE":     {dedup(newTwoStepFilter), "immortal-mark in "},
		"no answer: new":         {dedup(newOpenFilter), "duplicate-delivery in "},
		"no answer: seen":        {dedup(newShutFilter), "lost-message in "},
		"right, crash asked for": {dedup(newGoodFilter, granttest.DedupOptions{Search: granttest.Search{Crashes: 1}}), "lost-message in "},
	} {
		t.Run(name, func(t *testing.T) {
			require.Contains(t, record(t, t.Name(), c.test).failure(t), c.says)
		})
	}
}

// A lock that says that it has fencing tokens has to give some.
func TestTokensThatAreNeverGivenAreNoProof(t *testing.T) {
	t.Chdir(t.TempDir())
	failure := record(t, t.Name(), lock(newTokenless, granttest.LockOptions{Load: granttest.Load{Skip: true}})).failure(t)
	require.Contains(t, failure, "no grant had a fencing token")
}

// A load without a search finds what its defaults are meant to find.
func TestLoadsFindWhatIsWrong(t *testing.T) {
	if testing.Short() {
		t.Skip("-short leaves loads out")
	}
	t.Chdir(t.TempDir())
	alone := granttest.Search{Skip: true}
	for name, c := range map[string]struct {
		test  func(granttest.TB)
		class string // a regular expression; the load ends with the first violation
	}{
		"blind DEL":             {lock(newBlindDel, granttest.LockOptions{Search: alone}), "stolen-release|double-grant"},
		"marks that do not end": {dedup(newEternalFilter, granttest.DedupOptions{Search: alone}), "immortal-mark"},
		"numbers as strings":    {sequence(newStringSequence, granttest.SequenceOptions{Search: alone}), "duplicate-number"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			failure := record(t, t.Name(), c.test).failure(t)
			require.Contains(t, failure, "under load: invalid")
			require.Regexp(t, c.class, failure)
		})
	}
}

// A load has the topology and the faults of its options. What is acknowledged and not yet replicated is lost in a failover, so
// no lock of one primary survives a split brain.
func TestLoadsWithFaults(t *testing.T) {
	options := func(l granttest.Load) granttest.LockOptions {
		return granttest.LockOptions{TTL: 300 * time.Millisecond, Search: granttest.Search{Skip: true}, Load: l}
	}
	t.Run("one that does no harm", func(t *testing.T) {
		record(t, "TestIt", lock(newGoodLock, options(granttest.Load{
			Clients: 5, Faults: []granttest.Fault{granttest.CrashClients()}, // an example flushes scripts
		}))).passes(t)
	})
	t.Run("split brain", func(t *testing.T) {
		failure := record(t, "TestIt", lock(newGoodLock, options(granttest.Load{
			Clients: 10, Topology: granttest.Sentinel, Faults: []granttest.Fault{granttest.SplitBrain(30 * time.Second)},
		}))).failure(t)
		require.Contains(t, failure, "is not a lock under load: invalid")
		require.Contains(t, failure, "-granttest.seed=")
	})
}

// A search that has found a violation goes on for a bounded time, and its failure says whether that was enough for the shortest.
func TestASearchSaysWhetherItFoundTheShortest(t *testing.T) {
	t.Chdir(t.TempDir())
	const perhaps = "there may be shorter ones"
	small := granttest.Search{Crashes: -1, LostAnswers: -1, LostCommands: -1, Late: -1, Minimize: time.Minute}
	whole := record(t, "TestWhole", lock(newBlindDel, granttest.LockOptions{Search: small})).failure(t)
	require.NotContains(t, whole, perhaps)
	require.Contains(t, whole, "stolen-release in 5 steps")
	for name, minimize := range map[string]time.Duration{"TestFirst": -1, "TestShort": time.Millisecond} {
		o := granttest.LockOptions{Search: granttest.Search{Minimize: minimize}} // every schedule takes 500 times as long as the first finding
		found := record(t, name, lock(newGetSet, o)).failure(t)
		require.Contains(t, found, perhaps)
		require.Contains(t, found, "saved in")
	}
}
