package harness_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

// elsewhere is a generator that feeds given batches.
type elsewhere struct {
	shares  chan harness.Share
	batches [][]harness.Op // each with a mark that is the Return of its last operation
	fails   error
}

func (elsewhere) Name() string                                        { return "elsewhere" }
func (g elsewhere) Open(_ context.Context, share harness.Share) error { g.shares <- share; return nil }
func (g elsewhere) Load(_ context.Context, stop <-chan struct{}, feed *harness.Feed) error {
	for _, ops := range g.batches {
		if err := feed.Record(ops, ops[len(ops)-1].Return); err != nil {
			return err
		}
	}
	if g.fails != nil {
		time.Sleep(time.Millisecond) // of virtual time: the others have fed all by then
		return g.fails
	}
	<-stop
	return nil
}

// unopened is a workload whose clients are all opened by generators.
type unopened struct{ *fake }

func (unopened) Open(context.Context, int) (harness.Client, error) {
	return nil, errors.New("a client is opened here")
}

func at(client int, call, answered time.Duration) harness.Op {
	return harness.Op{Client: client, Kind: harness.Next, Call: call, Return: answered, Outcome: harness.OK}
}

// record runs generators and returns the Returns of the recorded operations.
func record(t *testing.T, all ...elsewhere) (returns []time.Duration, res harness.Result, err error) {
	t.Helper()
	s := spec(&fake{}, verdict(harness.Valid))
	s.Workload, s.Clients, s.Duration = unopened{&fake{}}, 7, 200*time.Millisecond
	for _, g := range all {
		s.Generators = append(s.Generators, g)
	}
	res, err = harness.Run(t.Context(), s)
	for _, op := range opsOf(t, res.History) {
		returns = append(returns, op.Return)
	}
	return returns, res, err
}

func TestWhatGeneratorsFeedIsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shares := make(chan harness.Share, 2)
		returns, res, err := record(t,
			elsewhere{shares: shares, batches: [][]harness.Op{{at(0, 1, 2), at(1, 2, 9)}, {at(0, 5, 30)}}},
			elsewhere{shares: shares, batches: [][]harness.Op{{at(4, 1, 5)}, {at(5, 1, 7), at(4, 6, 40)}}})
		require.NoError(t, err)
		require.Equal(t, []time.Duration{2, 5, 7, 9, 30, 40}, returns)
		require.ElementsMatch(t, []harness.Share{{First: 0, End: 3}, {First: 3, End: 7}},
			[]harness.Share{<-shares, <-shares})
		require.True(t, res.Meta.Widened)
	})
}

func TestCallsOfAWorkerKeepTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, res, err := record(t, elsewhere{shares: make(chan harness.Share, 1), batches: [][]harness.Op{
			{at(0, 5, 6), at(1, 1, 7)}, {at(0, 3, 8), at(7, 4, 9)}, {at(1, 2, 10)},
		}})
		require.NoError(t, err)
		var calls []time.Duration
		for _, op := range opsOf(t, res.History) {
			calls = append(calls, op.Call)
		}
		require.Equal(t, []time.Duration{5, 1, 5, 5, 2}, calls, "client 7 is worker 0, too")
	})
}

func TestAFeedThatBreaksItsPromiseEndsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shares := make(chan harness.Share, 1)
		_, _, err := record(t, elsewhere{shares: shares, batches: [][]harness.Op{{at(0, 1, 9)}, {at(1, 1, 8)}}})
		require.ErrorContains(t, err, "harness: elsewhere: harness: an operation of client 1 from 1ns to 8ns "+
			"arrived after all before 9ns had been declared complete")
		_, _, err = record(t, elsewhere{shares: make(chan harness.Share, 1), batches: [][]harness.Op{{at(0, 9, 1)}}})
		require.ErrorContains(t, err, "an operation of client 0")
	})
}

// TestARecordEndsWhereAGeneratorIsLost checks that operations of other generators after that time are dropped, since
// operations of the lost generator may be missing among them.
func TestARecordEndsWhereAGeneratorIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shares := make(chan harness.Share, 2)
		returns, res, err := record(t,
			elsewhere{shares: shares, batches: [][]harness.Op{{at(0, 1, 2), at(1, 2, 9)}}, fails: errors.New("lost")},
			elsewhere{shares: shares, batches: [][]harness.Op{{at(4, 1, 5), at(4, 6, 40)}}})
		require.ErrorContains(t, err, "elsewhere: lost")
		require.Equal(t, []time.Duration{2, 5}, returns, "nothing at the mark or after it")
		require.Contains(t, res.History.End.Reason, "lost")
	})
}
