package explore

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/explore/internal/keyspace"
	"github.com/doublegrant/doublegrant/harness/explore/internal/server"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

func TestTheContentOfTheStore(t *testing.T) {
	s := newScheduler(t, quiet(program(idle)))
	w := s.w
	look := func() *interleave.Store {
		got, err := w.Content(start, keyspace.Grain)
		require.NoError(t, err)
		return got
	}
	require.Equal(t, &interleave.Store{}, look())
	for _, args := range [][]string{
		{"SET", "b", "v\n1", "PX", "10000"}, {"HSET", "a", "f", "1"}, {"RPUSH", "list", "x", "y"},
		{"SADD", "set", "z", "m"}, {"ZADD", "z", "2", "m"},
		{"XADD", "stream", "1-1", "f", "v"}, {"SET", "long", strings.Repeat("l", 500)},
	} {
		s.ask(w.Primary, args...)
	}
	got := look()
	if w.SetsClocks() {
		require.Equal(t, 10*time.Second, got.Keys[1].Ends.Truncate(time.Second))
	}
	got.Keys[1].Ends = 0
	long := got.Keys[3].Value
	require.Less(t, len(long), 100)
	require.Contains(t, long, "…")
	require.Equal(t, &interleave.Store{Keys: []interleave.Stored{
		{Key: "a", Value: "[f, 1]"}, {Key: "b", Value: "v 1"}, {Key: "list", Value: "[x, y]"},
		{Key: "long", Value: long}, {Key: "set", Value: "[m, z]"},
		{Key: "stream", Value: "[[1-1, [f, v]]]"}, {Key: "z", Value: "[m, 2]"},
	}}, got)
	for i := range 20 {
		s.ask(w.Primary, "SET", "more"+string(rune('a'+i)), "1")
	}
	got = look()
	require.Len(t, got.Keys, server.MostKeys)
	require.Equal(t, 27-server.MostKeys, got.More)
}

// A counterexample shows the store after each step. A replay does not compare the stores.
func TestACounterexampleShowsWhatIsStored(t *testing.T) {
	s, c := raced(t)
	for _, step := range c.Steps {
		require.NotNil(t, step.Store, step.Command)
	}
	require.Empty(t, c.Steps[0].Store.Keys, "GET has changed nothing")
	last := c.Steps[len(c.Steps)-1].Store
	require.Len(t, last.Keys, 1)
	require.Equal(t, "msg", last.Keys[0].Key)
	require.Positive(t, last.Keys[0].Ends)
	for i := range c.Steps {
		c.Steps[i].Store = nil // as in an older file
	}
	require.NoError(t, Replay(t.Context(), s, c, 2))
}

// A recipe has no steps: the first replay finds them, and the others are compared with it.
func TestAReplayWithoutSteps(t *testing.T) {
	s, c := raced(t)
	bare := interleave.Counterexample{Budget: c.Budget, Schedule: c.Schedule}
	bare.Anomaly.Class = c.Anomaly.Class
	again, err := Rerun(t.Context(), s, bare, 3)
	require.NoError(t, err)
	require.Equal(t, c, again)
	bare.Schedule = bare.Schedule[:2]
	_, err = Rerun(t.Context(), s, bare, 3)
	require.ErrorIs(t, err, ErrDiverged)
	s.Clients = 2
	c.Budget.Clients = 3
	require.NotPanics(t, func() { _ = Replay(t.Context(), s, c, 1) },
		"the counterexample has more clients than the search")
}
