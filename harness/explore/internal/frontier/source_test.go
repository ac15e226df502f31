package frontier

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/explore/internal/command"
	"github.com/doublegrant/doublegrant/harness/explore/internal/findings"
	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
	"github.com/doublegrant/doublegrant/harness/explore/internal/strategy"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// named returns a branch that is identified by its one step.
func named(client, cost int) strategy.Branch {
	return strategy.Branch{Prefix: []interleave.Choice{interleave.Run(client)}, Cost: cost}
}

// rest takes all branches and returns the clients of their steps.
func rest(t *testing.T, f *Branches) (clients []int) {
	for {
		left := f.Planned()
		b, ok := f.take()
		require.Equal(t, left > 0, ok)
		if !ok {
			return clients
		}
		require.Equal(t, left-1, f.Planned())
		i, _ := b.Prefix[0].Client()
		clients = append(clients, i)
	}
}

func TestTheCheapestAndOfThemTheLastPlannedComesFirst(t *testing.T) {
	f := NewBranches(false)
	f.Plan(named(0, 2), named(1, 0), named(2, 1), named(3, 0))
	f.Plan(named(4, 1))
	j, ok := f.Next()
	require.True(t, ok)
	require.Equal(t, findings.Draw{}, j.Draw())
	j.PutBack()
	require.Equal(t, []int{3, 1, 4, 2, 0}, rest(t, f))
	_, ok = f.Next()
	require.False(t, ok)
}

// Saved branches come back in the same order and with the same sleep sets.
func TestBranchesAreWrittenDown(t *testing.T) {
	f := NewBranches(false)
	asleep := named(2, 1)
	asleep.SleepSet = []*schedule.Move{
		{Choice: interleave.Run(1), Begins: true, DependsOnTime: true,
			Access: command.Access{Reads: []string{"\x00\xff"}, Writes: []string{"k"}, TTL: true}},
		{Choice: interleave.Pass(1), World: true, Approaches: true},
	}
	asleep.Fingerprint = 1 << 63
	f.Plan(named(0, 2), named(1, 1), asleep, named(3, 0))
	text, err := json.Marshal(f.Save())
	require.NoError(t, err)
	var saved []Saved
	require.NoError(t, json.Unmarshal(text, &saved))
	require.NoError(t, CheckSaved(saved, interleave.Budget{Clients: 4}))
	require.Error(t, CheckSaved(saved, interleave.Budget{Clients: 3}), "a step of a client that there is not")

	again := NewBranches(false)
	again.PlanSaved(saved)
	require.Equal(t, f.Save(), again.Save())
	require.Len(t, again.TakeSaved(1), 1)
	got, _ := again.take()
	require.Equal(t, asleep, got)
	require.Equal(t, []int{1, 0}, rest(t, again))
	require.Empty(t, again.TakeSaved(5))
}

func TestABranchPlansWhatItsLastAttemptCameUpon(t *testing.T) {
	f := NewBranches(false)
	f.Plan(strategy.Branch{})
	j, _ := f.Next()
	first := j.Strategy().(*strategy.Exhaustive)
	first.Planned = append(first.Planned, named(1, 0), named(2, 0)) // it was disturbed then
	last := j.Strategy().(*strategy.Exhaustive)
	last.Planned = append(last.Planned, named(3, 0))
	j.Done()
	require.Equal(t, []int{3}, rest(t, f))
}

// Each schedule of a round is handed out once. One that could not be run is handed out again, also after saving.
func TestARoundHandsEachNumberOutOnce(t *testing.T) {
	var drawn []int
	f := &Draws{Round: Round{From: 3, To: 6, KnownSteps: 7}, Make: func(number, known int) *strategy.Random {
		require.Equal(t, 7, known)
		drawn = append(drawn, number)
		return &strategy.Random{Actors: 10 * number, Instants: 2}
	}}
	next := func() Job {
		left := f.Planned()
		j, ok := f.Next()
		require.True(t, ok)
		require.Equal(t, left-1, f.Planned())
		j.Strategy()
		number := drawn[len(drawn)-1]
		require.Equal(t, findings.Draw{Number: number, Actors: 10 * number, Instants: 2}, j.Draw())
		return j
	}
	third, fourth := next(), next()
	fourth.Done()
	third.PutBack()
	text, err := json.Marshal(f.Round)
	require.NoError(t, err)
	require.JSONEq(t, `{"next":5,"to":6,"known":7,"again":[3]}`, string(text))
	before := f.Round
	f.Round = f.Clone()
	third, fourth = next(), next() // 3 and 5
	fourth.PutBack()
	require.Equal(t, []int{3}, before.Retry, "a clone shares nothing")
	third.PutBack()
	drawn = drawn[:2]
	f.Round = Round{}
	require.NoError(t, json.Unmarshal(text, &f.Round))
	for f.Planned() > 0 {
		next().Done()
	}
	require.Equal(t, []int{3, 4, 3, 5}, drawn)
	_, ok := f.Next()
	require.False(t, ok)
}

func TestARoundThatNoSearchCanHaveIsRefused(t *testing.T) {
	for _, r := range []Round{{}, {From: 1, To: 1}, {From: 3, To: 9, KnownSteps: 4, Retry: []int{1, 2}}} {
		require.NoError(t, r.Check(), "%+v", r)
	}
	for _, r := range []Round{{From: -1, To: 1}, {To: 5}, {From: 2, To: 1}, {KnownSteps: -1},
		{From: 3, To: 9, Retry: []int{3}}, {From: 3, To: 9, Retry: []int{0}}} {
		require.Error(t, r.Check(), "%+v", r)
	}
}

// If a round is split among workers, each of its schedules is run once, even if workers stop half way.
func TestARoundIsDealtOut(t *testing.T) {
	r := Round{From: 4, To: 14, KnownSteps: 7, Retry: []int{2}}
	ran := map[int]int{}
	for tries := 0; r.Remaining() > 0; tries++ {
		require.Less(t, tries, 10)
		for _, part := range r.Split(4) {
			require.NoError(t, part.Check())
			require.Equal(t, 7, part.KnownSteps)
			require.LessOrEqual(t, part.Remaining(), 4)
			all := part.Numbers()
			require.Len(t, all, part.Remaining())
			undrawn := all[len(all)/2+1:] // the part stops half way
			for _, n := range all[:len(all)/2+1] {
				ran[n]++
			}
			require.Error(t, r.MarkRun(part, []int{100}))
			require.Error(t, r.MarkRun(part, []int{all[0], all[0]}))
			require.NoError(t, r.MarkRun(part, undrawn))
			require.NoError(t, r.Check())
		}
	}
	for n := 4; n < 14; n++ {
		require.Equal(t, 1, ran[n], n)
	}
	require.Equal(t, 1, ran[2])
	require.Len(t, ran, 11)
	require.Equal(t, 14, r.From)
}
