package explore

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// raced returns the counterexample of the GET/SET race.
func raced(t *testing.T) (Spec, interleave.Counterexample) {
	t.Helper()
	s := quiet(program(marks), secondFirst)
	s.Expiries = 1
	res := searched(t, s)
	require.Len(t, res.Counterexamples, 1)
	return s, res.Counterexamples[0]
}

func TestACounterexampleIsTheSameEachTime(t *testing.T) {
	s, c := raced(t)
	require.NoError(t, Replay(t.Context(), s, c, 100))
	text, err := json.Marshal(c)
	require.NoError(t, err)
	var again interleave.Counterexample
	require.NoError(t, json.Unmarshal(text, &again))
	require.Equal(t, c, again)
	require.NoError(t, Replay(t.Context(), s, again, 2))
}

func TestAReplayThatComesToNothing(t *testing.T) {
	s, c := raced(t)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	require.Error(t, Replay(cancelled, s, c, 100))
	leavesNothing(t, func() {
		require.ErrorIs(t, Replay(t.Context(), quiet(program(idle), secondFirst), c, 1), ErrDiverged,
			"it is of another program")
	})
}

func TestACounterexampleThatWasChanged(t *testing.T) {
	spec, c := raced(t)
	s := newScheduler(t, spec)
	for _, change := range []struct {
		what string
		do   func(*interleave.Counterexample)
		want string
	}{
		{"a command", func(c *interleave.Counterexample) { c.Steps[2].Command = "SET msg 2" },
			`step 3 is "SET msg 1" (), recorded is "SET msg 2" ()`},
		{"a reply", func(c *interleave.Counterexample) { c.Steps[1].Reply = "1" },
			`step 2, GET msg, was answered "(nil)", recorded is "1"`},
		{"a belief", func(c *interleave.Counterexample) { c.Steps[5].Belief = "" }, `step 6 is "EXPIRE msg 20"`},
		{"a time", func(c *interleave.Counterexample) { c.Steps[3].At++ }, "step 4"},
		{"a step less", func(c *interleave.Counterexample) { c.Steps = c.Steps[:5] }, "6 steps, 5 were recorded"},
		{"a step more", func(c *interleave.Counterexample) { c.Steps = append(c.Steps, c.Steps[0]) },
			"6 steps, 7 were recorded"},
		{"the note", func(c *interleave.Counterexample) { c.Anomaly.Note = "all is well" },
			`it ends in "clients 2 and 1 are both the first", recorded is "all is well"`},
		{"the class", func(c *interleave.Counterexample) { c.Anomaly.Class = harness.StuckLock },
			"no stuck-lock at its end"},
		{"another order", func(c *interleave.Counterexample) {
			c.Schedule = slices.Repeat([]interleave.Choice{interleave.Run(1)}, 6)
		}, "step 4, client 2, is impossible"},
		{"no race", func(c *interleave.Counterexample) {
			c.Schedule = []interleave.Choice{interleave.Run(0), interleave.Run(0), interleave.Run(0), interleave.Run(1)}
		}, "no duplicate-delivery at its end"},
		{"a choice", func(c *interleave.Counterexample) { c.Schedule[1] = interleave.Run(2) },
			"step 2, client 3, is impossible"},
		{"a crash", func(c *interleave.Counterexample) { c.Schedule[2] = interleave.Crash(1) },
			"step 3, crash of client 2, is impossible"},
		{"a choice beyond the budget",
			func(c *interleave.Counterexample) { c.Schedule[0] = interleave.StopReplication },
			"step 1, hold replication, is impossible"},
		{"no end", func(c *interleave.Counterexample) { c.Schedule = c.Schedule[:5] },
			"clients have not ended after its last step"},
		{"a long end", func(c *interleave.Counterexample) { c.Schedule = append(c.Schedule, interleave.Run(0)) },
			"step 7, client 1, is impossible"},
		{"no schedule", func(c *interleave.Counterexample) { c.Schedule = nil }, "clients have not ended"},
	} {
		bad := c
		bad.Schedule, bad.Steps = slices.Clone(c.Schedule), slices.Clone(c.Steps)
		change.do(&bad)
		err := s.replay(bad)
		require.ErrorIs(t, err, ErrDiverged, change.what)
		require.ErrorContains(t, err, change.want, change.what)
	}
	require.NoError(t, s.replay(c), "the changes were made in copies")
	c.Steps[0].Reply = "1"
	require.ErrorIs(t, Replay(t.Context(), spec, c, 3), ErrDiverged)
}

// replay is Replay in the scheduler's world.
func (s *scheduler) replay(c interleave.Counterexample) error {
	again, err := runner{spec: &s.spec, w: s.w}.again(s.t.Context(), s.spec.replayBudget(c), c.Schedule, c.Anomaly.Class)
	if err != nil {
		return err
	}
	return compareReplay(c, again)
}

// Redis counts TTLs down by its own clock, so a reply may differ slightly.
func TestRepliesThatDifferByALittle(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"OK", "OK", true}, {"OK", "(nil)", false}, {"10000", "9999", true}, {"9999", "10000", true},
		{"10000", "9000", false}, {"1", "2", false},
		{"99", "100", false}, {"-10000", "-9999", false}, {"10000", "", false}, {"[10000]", "[9999]", false},
	} {
		require.Equal(t, c.want, sameReply(c.a, c.b), "%s and %s", c.a, c.b)
	}
}

// A client gets another id after an operation without an answer, but notes use its first.
func TestNotesNameClients(t *testing.T) {
	for note, want := range map[string]string{
		"client 5 was granted lock, while client 1 held it": "client 2 was granted lock, while client 1 held it",
		"clients 1, 5 and 7 were all told so":               "clients 1, 2 and 1 were all told so",
		"client -1 asked at 7 s for lock-5":                 "client -1 asked at 7 s for lock-5",
	} {
		require.Equal(t, want, numberClients(note, 3))
	}
}

// runsAScript returns a program whose first client runs a script by its hash, and may crash.
func runsAScript() Spec {
	s := quiet(program(byHash("return redis.call('incr', KEYS[1]) .. ''", 1), idle))
	s.Crashes, s.Workers = 1, 1
	return s
}

// A client that crashes after NOSCRIPT never loads the script. The explorer then loads it by other schedules, so that
// the search goes on.
func TestAScriptIsLoadedThoughTheScheduleKeepsItsClientFromIt(t *testing.T) {
	crash := interleave.Counterexample{Budget: interleave.Budget{Clients: 2, Crashes: 1},
		Schedule: []interleave.Choice{interleave.Run(0), interleave.Crash(0)}}
	out, err := Follow(t.Context(), runsAScript(), crash)
	require.NoError(t, err)
	require.Equal(t, "step 2, crash of client 1, is no longer possible", out.FirstUnfollowed,
		"with its script the client is done after one command")

	for seed := range uint64(12) { // some draw the crash first
		s := runsAScript()
		s.Random = &Random{Schedules: 1, Depth: 2, Seed: seed}
		require.Equal(t, 1, resultOf(t, s).Schedules, "seed %d", seed)
	}
}

func TestAScriptThatNobodyLoadsIsSaid(t *testing.T) {
	s := quiet(program(sends(fmt.Sprintf("EVALSHA %040d 0", 1)), idle))
	_, err := Search(t.Context(), s)
	require.ErrorIs(t, err, errDisturbed)
	require.ErrorContains(t, err, "script")
}
