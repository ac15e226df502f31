package interleave_test

import (
	"testing"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/analysis/analysistest"
	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/stretchr/testify/require"
)

func TestBeliefsFollowWhatClientsDo(t *testing.T) {
	require.Equal(t, []interleave.Belief{
		{Client: 0, Key: "lock", From: 0, LeaseEnds: 2, To: 4},
		{Client: 1, Key: "lock", From: 3, LeaseEnds: interleave.Never, To: 6},
		{Client: 2, Key: "lock", From: 5, LeaseEnds: interleave.Never, To: interleave.Never},
	}, analysistest.BlindDel().Beliefs(3), "an expiry ends the lease, a release the belief")
	require.Equal(t, []interleave.Belief{
		{Client: 0, Key: "lock", From: 1, LeaseEnds: interleave.Never, To: 8, Renewed: true},
		{Client: 1, Key: "lock", From: 4, LeaseEnds: interleave.Never, To: interleave.Never},
		{Client: 0, Key: "lock", From: 8, LeaseEnds: interleave.Never, To: 9},
	}, analysistest.LostGrant().Beliefs(4), "a renewal goes on where the grant ends")
	require.Empty(t, analysistest.DedupRace().Beliefs(4), "a claim is no lock")
	require.Empty(t, analysistest.Stuck().Beliefs(4), "a refused acquire is no grant")
}

func TestACrashEndsABeliefAndAPromisedEndItsLease(t *testing.T) {
	p := analysistest.NewPlay()
	op := analysistest.LockOp(harness.Acquire, "")
	op.Until = 3 * time.Millisecond
	p.Ends(1, "SET lock 0-1 NX PX 10000", "OK", "holds lock", op)
	p.Does(2, "GET lock", "0-1")
	p.Does(2, "GET lock", "0-1")
	p.Crashes(1)
	require.Equal(t, []interleave.Belief{{Client: 0, Key: "lock", From: 0, LeaseEnds: 2, To: 3}},
		p.Counterexample.Beliefs(2))
}

func TestOperationsFindTheirSteps(t *testing.T) {
	p := analysistest.NewPlay()
	p.Does(1, "GET msg", "(nil)")
	p.Does(2, "GET msg", "(nil)")
	p.Ends(1, "SET msg 1", "OK", "is the first", analysistest.Claim(harness.ResultFirst))
	p.Ops = append(p.Ops, harness.Op{Kind: harness.Deliver, Call: p.Now + time.Millisecond/2,
		Return: p.Now + time.Millisecond/2})
	p.Ops = append(p.Ops, harness.Op{Client: harness.HarnessClient, Kind: harness.Inspect, Call: p.Now,
		Return: p.Now + time.Millisecond/4})
	p.Ends(1, "DEL msg", "1", "", analysistest.LockOp(harness.Release, ""))
	require.Equal(t, []int{2, interleave.Never, interleave.Never, 3}, p.Counterexample.CompletingSteps(2))
}

// If a client takes a lock under two owners, its steps name the owner, unless their commands do.
func TestAnOwnerIsNamedWhereAClientHasSeveral(t *testing.T) {
	as := func(owner string, op harness.Op) harness.Op { op.Arg = owner; return op }
	p := analysistest.NewPlay()
	p.Ends(1, "SET lock a NX", "OK", "holds lock", as("a", analysistest.LockOp(harness.Acquire, "")))
	p.Ends(2, "SET lock b NX", "(nil)", "lock is somebody else's",
		as("b", analysistest.LockOp(harness.Acquire, harness.Held)))
	p.Does(1, "SETNX lock a-again", "1")
	p.Ends(1, "EXPIRE lock 10", "1", "holds lock until 20s", as("a-again", analysistest.LockOp(harness.Acquire, "")))
	p.Ends(1, "EVALSHA {release} lock a-again", "1", "has given lock up",
		as("a-again", analysistest.LockOp(harness.Release, "")))
	p.Ends(1, "DEL lock", "1", "has given lock up", as("a", analysistest.LockOp(harness.Release, "")))
	p.Ends(2, "DEL lock", "0", "has given lock up", as("b", analysistest.LockOp(harness.Release, "")))
	c := p.Counterexample
	require.Equal(t, []string{"", "", "", "a-again", "", "a", ""}, c.Owners(2), "client 2 has one owner only")
	require.Equal(t, make([]string, 7), c.Owners(0))
	c.Budget.Clients = 2
	require.Contains(t, c.Text(), "-> as a-again: holds lock until 20s\n")
	require.Contains(t, c.Text(), "-> as a: has given lock up\n")
	require.Contains(t, c.Text(), "-> has given lock up\n")
}

func TestABeliefIsShownWithTheLeaseThatDiffersFromIt(t *testing.T) {
	const belief, lease = "holds lock until 10.5s", "lock lasts 10s, 10.5s were asked for"
	require.Equal(t, belief, interleave.Step{Belief: belief}.BeliefText())
	require.Equal(t, lease, interleave.Step{Lease: lease}.BeliefText())
	require.Equal(t, belief+", but "+lease, interleave.Step{Belief: belief, Lease: lease}.BeliefText())
	require.Empty(t, interleave.Step{}.BeliefText())
}
