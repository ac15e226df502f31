package interleave

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

// acts returns a step of a client, from 1; 0 lets time pass.
func acts(client int, at time.Duration, belief string) Step {
	if client == 0 {
		return Step{At: at, Choice: Pass(0)}
	}
	return Step{At: at, Client: client, Choice: Run(client - 1), Belief: belief}
}

func does(kind harness.Kind, call, ret time.Duration) harness.Op {
	return harness.Op{Client: 1, Kind: kind, Key: "k", Call: call, Return: ret, Outcome: harness.OK}
}

// Operations at one instant are completed by their steps in order. A step after an operation's return does not complete
// it.
func TestOperationsOfOneInstantFindTheirSteps(t *testing.T) {
	c := Counterexample{Steps: []Step{acts(1, 5, "holds k"), acts(1, 5, "lets go")},
		Ops: []harness.Op{does(harness.Acquire, 5, 5), does(harness.Release, 5, 5)}}
	require.Equal(t, []int{0, 1}, c.CompletingSteps(2))
	c = Counterexample{Steps: []Step{acts(1, 5, ""), acts(1, 9, "")}, Ops: []harness.Op{does(harness.Acquire, 5, 8)}}
	require.Equal(t, []int{0}, c.CompletingSteps(2))
}

func TestBeliefsAtTheBeginningAndForEver(t *testing.T) {
	c := Counterexample{Steps: []Step{acts(1, 0, "holds k"), acts(1, 0, ""), acts(0, 9, "")},
		Ops: []harness.Op{does(harness.Acquire, 0, 0), does(harness.Release, 0, 0)}}
	require.Equal(t, []Belief{{Client: 0, Key: "k", From: 0, LeaseEnds: Never, To: 1}}, c.Beliefs(2),
		"a lease without an end, given up at once")
}

// A step in which time passes covers all times up to the next step.
func TestTheStepInWhichATimeComes(t *testing.T) {
	c := Counterexample{Steps: []Step{acts(0, 1, ""), acts(1, 5, ""), acts(0, 6, "")}}
	for at, want := range map[time.Duration]int{1: 0, 5: 0, 6: 2, 100: 2} {
		require.Equal(t, want, c.StepAt(at, 0), at)
	}
	require.Equal(t, Never, c.StepAt(1, 3))
}

func TestWhoActs(t *testing.T) {
	require.Equal(t, "-", Step{}.Actor())
	require.Equal(t, "client 2", Step{Client: 2, Choice: Run(1)}.Actor())
	require.Equal(t, "client 2, thread 3", Step{Client: 2, Choice: Run(1).Of(2)}.Actor())
}

func TestConnectionsOfPrograms(t *testing.T) {
	require.True(t, IsForAdapter(ForAdapter(t.Context())))
	require.False(t, IsForAdapter(t.Context()))
}
