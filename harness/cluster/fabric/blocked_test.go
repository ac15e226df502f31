package fabric_test

import (
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// waiting is the state of a goroutine that waits for a socket or for another goroutine.
var waiting = regexp.MustCompile(`^goroutine \d+ (gp=\S+ m=\S+ )?\[(IO wait|select|chan receive|sync\.Cond\.Wait)`)

// awaitBlocked waits until a goroutine is blocked inside all of these calls.
func awaitBlocked(t *testing.T, calls ...string) {
	t.Helper()
	require.Eventually(t, func() bool {
		stacks := make([]byte, 1<<20)
		for stack := range strings.SplitSeq(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
			blocked := waiting.MatchString(stack)
			for _, call := range calls {
				blocked = blocked && strings.Contains(stack, call)
			}
			if blocked {
				return true
			}
		}
		return false
	}, 5*time.Second, time.Millisecond, "nothing is blocked in %v", calls)
}
