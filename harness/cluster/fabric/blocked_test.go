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
	require.Eventually(t, func() bool { return blocked(calls...) }, hang, time.Millisecond, "nothing is blocked in %v",
		calls)
}

// blockedWithin reports whether a goroutine is blocked inside all of these calls before d is over.
func blockedWithin(d time.Duration, calls ...string) bool {
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if blocked(calls...) {
			return true
		}
	}
	return false
}

// blocked reports whether a goroutine is blocked inside all of these calls.
func blocked(calls ...string) bool {
	stacks := make([]byte, 1<<20)
	for stack := range strings.SplitSeq(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
		is := waiting.MatchString(stack)
		for _, call := range calls {
			is = is && strings.Contains(stack, call)
		}
		if is {
			return true
		}
	}
	return false
}
