package explore

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

// A nondeterministic client is refused before the search, with the first step that differs.
func TestWhatIsNotTheSameTwiceIsRefused(t *testing.T) {
	for want, second := range map[string]func(n int64) client{ // in its nth schedule, from 1
		"client 2 sent SET k 1 the first time, and sent SET k 2 the second time. Let its behaviour depend only on " +
			"what it reads": func(n int64) client {
			return sends(fmt.Sprintf("SET k %d", n))
		},
		"client 2 sent GET again the first time, and cannot the second time": func(n int64) client {
			return sends([]string{"GET k", "GET again"}[:1+n%2]...)
		},
		"client 2 sent GET again the second time": func(n int64) client {
			return sends([]string{"GET k", "GET again"}[:1+(n+1)%2]...)
		},
	} {
		for _, random := range []*Random{nil, {Schedules: 100, Seed: 1}} {
			var schedules atomic.Int64
			counting := func(ctx context.Context, s *harness.Session, r redis.UniversalClient) {
				second(schedules.Add(1))(ctx, s, r)
			}
			leavesNothing(t, func() {
				s := quiet(program(sends("INCR other"), counting))
				s.RunTwice, s.Random = 5, random
				res := resultOf(t, s)
				require.Contains(t, res.Stopped, "a client behaves differently each time: ")
				require.Contains(t, res.Stopped, want)
				require.Equal(t, harness.Unknown, res.Verdict())
				require.Zero(t, res.Schedules)
			})
		}
	}
}

// Deterministic clients are searched as usual. Tokens may differ if they map one to one.
func TestWhatIsTheSameTwiceIsSearched(t *testing.T) {
	s := quiet(program(does("lock", func(ctx context.Context, r redis.UniversalClient) (string, error) {
		if _, err := say(ctx, r, "SET lock "+rand.Text()+" PX 5000"); err != nil {
			return "", err
		}
		return say(ctx, r, "GET lock")
	})))
	s.Program.Finally = inTheEnd(dump)
	s.Crashes, s.Expiries, s.LostAnswers, s.Late, s.RunTwice = 1, 1, 1, 1, 20
	res := searched(t, s)
	s.RunTwice = 0
	require.Equal(t, searched(t, s).Schedules, res.Schedules)
}

func TestTokensThatAreNoneDiffer(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"SET k abcdefgh1 NX", "SET k abcdefgh2 NX", true},
		{"SET k abcdefgh1 abcdefgh1", "SET k abcdefgh2 abcdefgh3", false},
		{"SET k abcdefgh1 abcdefgh3", "SET k abcdefgh2 abcdefgh2", false},
		{"SET k 1234567890", "SET k 1234567891", false},
		{"SET k short1", "SET k short2", false},
		{"SET k abcdefgh1", "SET k abcdefgh1 NX", false},
	} {
		require.Equal(t, c.same, renaming{map[string]string{}, map[string]string{}}.same(c.a, c.b), "%v", c)
	}
	require.Equal(t, "looks at its clock", sentText("looks at its clock"))
	require.Equal(t, "did nothing", sentText(""))
}
