package drawing

import (
	"testing"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/analysis/analysistest"
	"github.com/stretchr/testify/require"
)

func TestGuiltyLinesAreThoseOfTheAnomaly(t *testing.T) {
	var guilty []int
	for i, l := range (Story{analysistest.DedupRace(), 3}).Lines() {
		if l.Guilty {
			guilty = append(guilty, i+1)
		}
	}
	require.Equal(t, []int{4, 6}, guilty)
	lines := Story{analysistest.Stuck(), 2}.Lines()
	require.True(t, lines[4].Guilty, "what the harness found in the end")
}

func TestOnlyOverlapsThatWereJudgedRaiseTheAlarm(t *testing.T) {
	c := analysistest.BlindDel()
	l := Story{c, 3}.Draw()
	require.Len(t, l.overlaps, 1, "client 1 has not let go, but its lease is over")
	require.Equal(t, sharedHold{a: 1, b: 2, from: l.places[5].reply, to: l.places[6].call}, l.overlaps[0],
		"from the second grant to the release")
	require.Len(t, l.Legend(), 3)
	m := Story{analysistest.LostGrant(), 4}.Draw()
	require.Equal(t, m.end, m.overlaps[0].to, "nothing ends it before the picture does")
	c.Anomaly.Spans = nil
	require.Empty(t, Story{c, 3}.Draw().overlaps, "what clients believe is not judged again")
	require.Empty(t, Story{analysistest.Stuck(), 2}.Draw().Legend())
}

func TestMarksOfMessagesAreNoBars(t *testing.T) {
	c := analysistest.DedupRace()
	for i, op := range c.Anomaly.Ops {
		c.Anomaly.Spans = append(c.Anomaly.Spans,
			harness.Span{Client: op.Client, Owner: i, From: op.Return, To: op.Call + op.TTL, Until: harness.LeaseEnds})
	}
	require.NotEmpty(t, c.Anomaly.Overlaps())
	require.Empty(t, Story{c, 3}.Draw().overlaps)
}

func TestLinesLieBelowEachOther(t *testing.T) {
	for name, story := range map[string]Story{
		"immortal": {analysistest.Immortal(), 3}, "race": {analysistest.DedupRace(), 3},
		"blind": {analysistest.BlindDel(), 3},
		"stuck": {analysistest.Stuck(), 2}, "failover": {analysistest.LostGrant(), 4},
		"evil": {analysistest.Hostile("</svg>\x00"), 2},
	} {
		l := story.Draw()
		require.Len(t, l.places, min(maxDrawn, len(story.Steps)), name)
		y := headHigh
		for _, p := range l.places {
			require.Equal(t, y, p.top)
			require.True(t, p.top < p.call && p.call <= p.reply && p.reply < p.bottom)
			y = p.bottom
		}
		require.LessOrEqual(t, y, float64(l.Height))
		require.Less(t, l.column(), redisLane)
		require.Greater(t, l.room(), 24)
	}
}

func TestAnyNumberOfClientsCanBeDrawn(t *testing.T) {
	for _, n := range []int{0, 1, 2, 4, 5, 8, 1000} {
		require.Less(t, Story{analysistest.BlindDel(), n}.Draw().column(), 60.0)
	}
}

// If a client has holds of several owners, the picture and its table name the owner.
func TestLinesNameTheOwnerOfAHold(t *testing.T) {
	p := analysistest.NewPlay()
	for _, owner := range []string{"a", "a-again"} {
		op := analysistest.LockOp(harness.Acquire, "")
		op.Arg = owner
		p.Ends(1, "SETNX lock "+owner, "1", "holds lock until 10s", op)
	}
	op := analysistest.LockOp(harness.Release, "")
	op.Arg = "a"
	p.Ends(1, "DEL lock", "1", "has given lock up", op)
	s := Story{p.Counterexample, 1}
	require.Equal(t, "as a: has given lock up", s.Lines()[2].Belief)
	require.Equal(t, "as a: has given lock up", s.Draw().Moments(s)[2].Clients[0].Belief)
}
