package granttest_test

import (
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/granttest"
)

// All searches of a test share one time limit. Those that begin after its end take a moment each.
func TestTheTimeLimitIsForAllSearchesTogether(t *testing.T) {
	t.Chdir(t.TempDir())
	got := record(t, t.Name(), sequence(newGoodSequence, granttest.SequenceOptions{
		Search: granttest.Search{Clients: 4, Crashes: 3, Expiries: 3, LostAnswers: 1, For: time.Second},
		Load:   granttest.Load{Skip: true},
	}))
	require.Greater(t, len(got.failures), 2, "a search for each regime, and no time for any of them")
	for i, failure := range got.failures {
		limit := regexp.MustCompile(`the time is up \((\S+)\)`).FindStringSubmatch(failure)
		require.NotNil(t, limit, failure)
		took, err := time.ParseDuration(limit[1])
		require.NoError(t, err)
		if i > 0 {
			require.Less(t, took, time.Second, failure)
		}
	}
}

// A search that reaches its time limit says how far it came, what remains, and which fields of Search would leave less.
func TestASearchWhoseTimeIsUpSaysWhatIsLeft(t *testing.T) {
	t.Chdir(t.TempDir())
	failure := record(t, t.Name(), lock(newGoodLock, granttest.LockOptions{
		Search: granttest.Search{Clients: 4, Crashes: 3, Expiries: 3, LostAnswers: 1, For: 5 * time.Second},
		Load:   granttest.Load{Skip: true},
	})).failure(t)
	require.Regexp(t, `unknown: the search came to no verdict on .*: the time is up \(\S+\), after \d+ schedules`,
		failure)
	require.Regexp(t, `(?m)^ +tried: Acquire \d+`, failure)
	require.Regexp(t, `(?m)^ +not covered: \d+ schedules that are planned .*\(Search\.For \S+ gives it more time; Search\.Clients 2 and Search\.\w+ -1 would leave fewer\)$`, failure)
}
