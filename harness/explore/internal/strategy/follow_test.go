package strategy

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/interleave"
)

var a, b, c = interleave.Run(0), interleave.Run(1), interleave.Run(2)

func TestAReplayTakesWhatItIsGivenAndNothingElse(t *testing.T) {
	y := toy{steps: []int{2, 1}}
	for name, r := range map[string]struct {
		choices []interleave.Choice
		wrong   string
	}{
		"as it was":       {[]interleave.Choice{a, b, a}, ""},
		"another program": {[]interleave.Choice{a, b, b}, "step 3, client 2, is impossible"},
		"too short":       {[]interleave.Choice{a, b}, "clients have not ended after its last step"},
		"too long":        {[]interleave.Choice{a, b, a, a}, "step 4, client 1, is impossible"},
	} {
		t.Run(name, func(t *testing.T) {
			path, decision, err := y.schedule(t, &Replay{Schedule: r.choices})
			if r.wrong == "" {
				require.NoError(t, err)
				require.Equal(t, Finish, decision)
				require.Equal(t, r.choices, path)
				return
			}
			require.ErrorIs(t, err, ErrDiverged)
			require.ErrorContains(t, err, r.wrong)
			require.Equal(t, Leave, decision, "no client is left in the middle")
		})
	}
	_, decision, err := (&Replay{Schedule: []interleave.Choice{a}}).Next(&toyView{left: []int{1}, disturbed: true})
	require.NoError(t, err)
	require.Equal(t, Leave, decision)
}

func TestFollowingLeavesOutWhatIsNotPossible(t *testing.T) {
	y := toy{steps: []int{2, 1}}
	for name, f := range map[string]struct {
		choices, want []interleave.Choice
		unfit         string
	}{
		"as it was": {[]interleave.Choice{b, a, a}, []interleave.Choice{b, a, a}, ""},
		"one too many": {[]interleave.Choice{b, b, a, a}, []interleave.Choice{b, a, a},
			"step 2, client 2, is no longer possible"},
		"too short": {[]interleave.Choice{b}, []interleave.Choice{b, a, a},
			"clients have not ended after its last step"},
		"the first is told": {[]interleave.Choice{b, b, a, b}, []interleave.Choice{b, a, a},
			"step 2, client 2, is no longer possible"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &Follow{Schedule: f.choices}
			path, decision, err := y.schedule(t, s)
			require.NoError(t, err)
			require.Equal(t, Finish, decision)
			require.Equal(t, f.want, path)
			require.Equal(t, f.unfit, s.FirstUnfollowed)
		})
	}
}

func TestFirstAndInTurn(t *testing.T) {
	y := toy{steps: []int{2, 2}}
	path, decision, err := y.schedule(t, &First{Prefix: []interleave.Choice{b}})
	require.NoError(t, err)
	require.Equal(t, Stop, decision)
	require.Equal(t, []interleave.Choice{b, a, a, b}, path)
	path, decision, err = y.schedule(t, Alternate{})
	require.NoError(t, err)
	require.Equal(t, Stop, decision)
	require.Equal(t, []interleave.Choice{b, b, a, a}, path, "a toy lists its actors in one order")
}
