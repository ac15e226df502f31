package drawing

import (
	"testing"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/stretchr/testify/require"
)

func TestGripsFollowWhatClientsDo(t *testing.T) {
	e := Exploration{Clients: 4}
	require.Equal(t, []grip{
		{client: 0, key: "lock", from: 0, lease: 2, to: 4},
		{client: 1, key: "lock", from: 3, lease: never, to: 6},
		{client: 2, key: "lock", from: 5, lease: never, to: never},
	}, Exploration{Clients: 3}.grips(blindDel()), "an expiry ends the lease, a release the grip")
	require.Equal(t, []grip{
		{client: 0, key: "lock", from: 1, lease: never, to: 8, renewed: true},
		{client: 1, key: "lock", from: 4, lease: never, to: never},
		{client: 0, key: "lock", from: 8, lease: never, to: 9},
	}, e.grips(lostGrant()), "a renewal goes on where the grant ends")
	require.Empty(t, e.grips(dedupRace()), "a claim is no lock")
	require.Empty(t, e.grips(stuck()), "a refused acquire is no grant")
}

func TestACrashEndsAGrip(t *testing.T) {
	p := newPlay()
	p.ends(1, "SET lock 0-1 NX PX 10000", "OK", "holds lock", lockOp(harness.Acquire, ""))
	p.does(1, "GET lock", "0-1")
	p.crashes(1)
	p.world(interleave.Pass(0), "10s pass")
	require.Equal(t, []grip{{client: 0, key: "lock", from: 0, lease: 3, to: 2}}, Exploration{Clients: 2}.grips(p.Counterexample))
}

func TestAPromisedEndEndsALease(t *testing.T) {
	p := newPlay()
	op := lockOp(harness.Acquire, "")
	op.Until = 3 * ms
	p.ends(1, "SET lock 0-1 NX PX 10000", "OK", "holds lock", op)
	p.does(2, "GET lock", "0-1")
	p.does(2, "GET lock", "0-1")
	require.Equal(t, 2, Exploration{Clients: 2}.grips(p.Counterexample)[0].lease)
}

func TestOperationsFindTheirSteps(t *testing.T) {
	p := newPlay()
	p.does(1, "GET msg", "(nil)")
	p.does(2, "GET msg", "(nil)")
	p.ends(1, "SET msg 1", "OK", "is the first", claim(harness.ResultFirst))
	p.Ops = append(p.Ops, harness.Op{Kind: harness.Deliver, Call: p.now + ms/2, Return: p.now + ms/2})
	p.Ops = append(p.Ops, harness.Op{Client: harness.HarnessClient, Kind: harness.Inspect, Call: p.now, Return: p.now + ms/4})
	p.ends(1, "DEL msg", "1", "", lockOp(harness.Release, ""))
	require.Equal(t, []int{2, never, never, 3}, Exploration{Clients: 2}.answers(p.Counterexample))
}

func TestGuiltyLinesAreThoseOfTheAnomaly(t *testing.T) {
	var guilty []int
	for i, l := range (Exploration{Clients: 3}).lines(dedupRace()) {
		if l.Guilty {
			guilty = append(guilty, i+1)
		}
	}
	require.Equal(t, []int{4, 6}, guilty)
	lines := Exploration{Clients: 2}.lines(stuck())
	require.True(t, lines[4].Guilty, "what the harness found in the end")
}

func TestOnlyTwoThatRelyOnOneLockRaiseTheAlarm(t *testing.T) {
	l := Exploration{Clients: 3}.drawLifelines(blindDel())
	shared := l.shared()
	require.Len(t, shared, 1, "client 1 has not let go, but its lease is over")
	require.Equal(t, [2]int{1, 2}, [2]int{shared[0].a.client, shared[0].b.client})
	require.Len(t, l.legend(), 3)
	require.Empty(t, Exploration{Clients: 2}.drawLifelines(stuck()).legend())
}

func TestLinesLieBelowEachOther(t *testing.T) {
	for name, e := range searches() {
		for _, c := range e.Result.Found {
			l := e.drawLifelines(c)
			require.Len(t, l.places, min(maxDrawn, len(c.Steps)), name)
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
}

func TestAnyNumberOfClientsCanBeDrawn(t *testing.T) {
	for _, n := range []int{0, 1, 2, 4, 5, 8, 1000} {
		e := Exploration{Clients: n, Result: interleave.Result{Found: []interleave.Counterexample{blindDel()}}}
		searchPage(t, e)
		require.Less(t, e.drawLifelines(blindDel()).column(), 60.0)
	}
}
