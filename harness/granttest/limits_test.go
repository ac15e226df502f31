package granttest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/granttest"
)

// A search that reaches its time limit says how far it came, what remains, and which fields of Search would leave less.
func TestASearchWhoseTimeIsUpSaysWhatIsLeft(t *testing.T) {
	t.Chdir(t.TempDir())
	failure := record(t, t.Name(), lock(newGoodLock, granttest.LockOptions{
		Search: granttest.Search{Clients: 4, Crashes: 3, Expiries: 3, LostAnswers: 1, For: 5 * time.Second},
		Load:   granttest.Load{Skip: true},
	})).failure(t)
	require.Regexp(t, `unknown: the search has shown nothing of .*: the time is up \(\S+\), after \d+ schedules`,
		failure)
	require.Regexp(t, `(?m)^ +tried: Acquire \d+`, failure)
	require.Regexp(t, `(?m)^ +not looked at: \d+ schedules that are planned .*\(Search\.For \S+ gives it more time; Search\.Clients 2 and Search\.\w+ -1 would leave fewer\)$`, failure)
}
