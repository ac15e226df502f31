package explore

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/interleave"
)

// runsAScript makes a program whose first client runs a script by its hash, and may crash.
func runsAScript() Spec {
	s := quiet(program(byHash("return redis.call('incr', KEYS[1]) .. ''", 1), idle))
	s.Crashes, s.Workers = 1, 1
	return s
}

// A client that crashes after NOSCRIPT does not load the script. Where that is the first schedule in a world, each attempt is the same.
func TestAScriptIsLoadedThoughTheScheduleKeepsItsClientFromIt(t *testing.T) {
	crash := interleave.Counterexample{Budget: interleave.Budget{Clients: 2, Crashes: 1}, Schedule: []interleave.Choice{interleave.Run(0), interleave.Crash(0)}}
	out, err := Follow(t.Context(), runsAScript(), crash)
	require.NoError(t, err)
	require.Equal(t, "step 2, crash of client 1, is not possible any more", out.Unfit, "with its script the client is done after one command")

	for seed := range uint64(12) { // some draw the crash first
		s := runsAScript()
		s.Random = &Random{Schedules: 1, Depth: 2, Seed: seed}
		res, err := Search(t.Context(), s)
		require.NoError(t, err, "seed %d", seed)
		require.Equal(t, 1, res.Schedules)
	}
}

func TestAScriptThatNobodyLoadsIsSaid(t *testing.T) {
	s := quiet(program(sends(fmt.Sprintf("EVALSHA %040d 0", 1)), idle))
	_, err := Search(t.Context(), s)
	require.ErrorIs(t, err, errDisturbed)
	require.ErrorContains(t, err, "script")
}
