package drawing

import (
	"testing"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/analysis/analysistest"
	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/stretchr/testify/require"
)

func TestGripsFollowWhatClientsDo(t *testing.T) {
	require.Equal(t, []grip{
		{client: 0, key: "lock", from: 0, lease: 2, to: 4},
		{client: 1, key: "lock", from: 3, lease: never, to: 6},
		{client: 2, key: "lock", from: 5, lease: never, to: never},
	}, Story{analysistest.BlindDel(), 3}.grips(), "an expiry ends the lease, a release the grip")
	require.Equal(t, []grip{
		{client: 0, key: "lock", from: 1, lease: never, to: 8, renewed: true},
		{client: 1, key: "lock", from: 4, lease: never, to: never},
		{client: 0, key: "lock", from: 8, lease: never, to: 9},
	}, Story{analysistest.LostGrant(), 4}.grips(), "a renewal goes on where the grant ends")
	require.Empty(t, Story{analysistest.DedupRace(), 4}.grips(), "a claim is no lock")
	require.Empty(t, Story{analysistest.Stuck(), 4}.grips(), "a refused acquire is no grant")
}

func TestACrashEndsAGrip(t *testing.T) {
	p := analysistest.NewPlay()
	p.Ends(1, "SET lock 0-1 NX PX 10000", "OK", "holds lock", analysistest.LockOp(harness.Acquire, ""))
	p.Does(1, "GET lock", "0-1")
	p.Crashes(1)
	p.World(interleave.Pass(0), "10s pass")
	require.Equal(t, []grip{{client: 0, key: "lock", from: 0, lease: 3, to: 2}}, Story{p.Counterexample, 2}.grips())
}

func TestAPromisedEndEndsALease(t *testing.T) {
	p := analysistest.NewPlay()
	op := analysistest.LockOp(harness.Acquire, "")
	op.Until = 3 * ms
	p.Ends(1, "SET lock 0-1 NX PX 10000", "OK", "holds lock", op)
	p.Does(2, "GET lock", "0-1")
	p.Does(2, "GET lock", "0-1")
	require.Equal(t, 2, Story{p.Counterexample, 2}.grips()[0].lease)
}

func TestOperationsFindTheirSteps(t *testing.T) {
	p := analysistest.NewPlay()
	p.Does(1, "GET msg", "(nil)")
	p.Does(2, "GET msg", "(nil)")
	p.Ends(1, "SET msg 1", "OK", "is the first", analysistest.Claim(harness.ResultFirst))
	p.Ops = append(p.Ops, harness.Op{Kind: harness.Deliver, Call: p.Now + ms/2, Return: p.Now + ms/2})
	p.Ops = append(p.Ops, harness.Op{Client: harness.HarnessClient, Kind: harness.Inspect, Call: p.Now, Return: p.Now + ms/4})
	p.Ends(1, "DEL msg", "1", "", analysistest.LockOp(harness.Release, ""))
	require.Equal(t, []int{2, never, never, 3}, Story{p.Counterexample, 2}.answers())
}

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

func TestOnlyTwoThatRelyOnOneLockRaiseTheAlarm(t *testing.T) {
	l := Story{analysistest.BlindDel(), 3}.Draw()
	shared := l.shared()
	require.Len(t, shared, 1, "client 1 has not let go, but its lease is over")
	require.Equal(t, [2]int{1, 2}, [2]int{shared[0].a.client, shared[0].b.client})
	require.Len(t, l.Legend(), 3)
	require.Empty(t, Story{analysistest.Stuck(), 2}.Draw().Legend())
}

func TestLinesLieBelowEachOther(t *testing.T) {
	for name, story := range map[string]Story{
		"immortal": {analysistest.Immortal(), 3}, "race": {analysistest.DedupRace(), 3}, "blind": {analysistest.BlindDel(), 3},
		"stuck": {analysistest.Stuck(), 2}, "failover": {analysistest.LostGrant(), 4}, "evil": {analysistest.Hostile("</svg>\x00"), 2},
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
