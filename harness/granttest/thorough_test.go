package granttest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/granttest"
	"github.com/doublegrant/doublegrant/harness/testenv"
)

// A thorough load of a right algorithm of each kind meets all its situations.
func TestLongThoroughLoadsMeetEverySituation(t *testing.T) {
	testenv.NeedLong(t)
	t.Chdir(t.TempDir())
	alone, thorough := granttest.Search{Skip: true}, granttest.Load{Thorough: true}
	for name, test := range map[string]func(granttest.TB){
		"lock":     lock(newGoodLock, granttest.LockOptions{Search: alone, Load: thorough}),
		"filter":   dedup(newGoodFilter, granttest.DedupOptions{Search: alone, Load: thorough}),
		"sequence": sequence(newGoodSequence, granttest.SequenceOptions{Search: alone, Load: thorough}),
	} {
		t.Run(name, func(t *testing.T) {
			right := record(t, t.Name(), test)
			right.passes(t)
			require.Len(t, right.logs, 1)
			require.NotContains(t, right.logs[0], "Thorough: true", "it is")
		})
	}
}

// A thorough load that reaches its limit has shown nothing.
func TestLongThoroughLoadsThatEndEarly(t *testing.T) {
	testenv.NeedLong(t)
	t.Chdir(t.TempDir())
	bounded := granttest.LockOptions{Hold: time.Millisecond, TTL: 12 * time.Second,
		Search: granttest.Search{Skip: true}, Load: granttest.Load{Thorough: true, Duration: 10 * time.Second}}
	failure := record(t, t.Name(), lock(newGoodLock, bounded)).failure(t) // no lease of 12 s ends in 10
	require.Contains(t, failure, "unknown: the load came to no verdict on")
	require.Contains(t, failure, "not every situation had occurred 100 times: ")
	require.Contains(t, failure, "see Load.Duration")
	failure = record(t, t.Name(), lock(newBlindDel,
		granttest.LockOptions{Search: granttest.Search{Skip: true}, Load: granttest.Load{Thorough: true}})).failure(t)
	require.Contains(t, failure, "under load: invalid")
}
