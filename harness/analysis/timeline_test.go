package analysis

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/analysis/analysistest"
	"github.com/stretchr/testify/require"
)

func TestCollectCountsEveryOperationOnce(t *testing.T) {
	h := analysistest.Synthetic()
	s, err := Collect(h)
	require.NoError(t, err)
	var want, kinds Counts
	for op := range h.Ops {
		switch {
		case op.Outcome == harness.OK:
			want.OK++
		case op.Err == harness.Held:
			want.Refused++
		case op.Outcome == harness.Fail:
			want.Failed++
		default:
			want.Unknown++
		}
	}
	require.Equal(t, want, s.Totals)
	for _, k := range s.Kinds {
		kinds = plus(kinds, k.Counts)
	}
	require.Equal(t, want, kinds)
	var buckets Counts
	groups := int64(0)
	for _, b := range s.Buckets {
		buckets = plus(buckets, b.Counts)
		for _, n := range b.Groups {
			groups += n
		}
	}
	require.Equal(t, want, buckets)
	require.Equal(t, want.OK, groups)
	require.Equal(t, 100*ms, s.Width)
	require.Equal(t, "connection refused", s.Reasons[0].Err)
	require.InEpsilon(t, float64(want.OK)/(s.Last-s.First).Seconds(), s.Rate, 1e-9)
}

func plus(a, b Counts) Counts {
	return Counts{a.OK + b.OK, a.Refused + b.Refused, a.Failed + b.Failed, a.Unknown + b.Unknown}
}

func TestBothSidesOfAPartitionKeepAcknowledging(t *testing.T) {
	s, err := Collect(analysistest.Synthetic())
	require.NoError(t, err)
	b := s.Buckets[(7*sec)/s.Width]
	require.Len(t, b.Groups, 3)
	for g, n := range b.Groups {
		require.Positive(t, n, "group %d", g)
	}
	require.Zero(t, s.Buckets[(5*sec)/s.Width].Groups[0], "the majority has no primary yet")
	require.Positive(t, s.Buckets[(5*sec)/s.Width].Groups[1], "the minority still has the old one")
}

func TestOnlyAHeldAcquireIsRefused(t *testing.T) {
	s, err := Collect(harness.History{Ops: harness.OpsOf([]harness.Op{
		{Kind: harness.Acquire, Outcome: harness.Fail, Err: harness.Held},
		{Kind: harness.Acquire, Outcome: harness.Fail, Err: "READONLY"},
		{Kind: harness.Release, Outcome: harness.Fail, Err: harness.Held},
		{Kind: harness.Acquire, Outcome: harness.Info, Err: harness.Held},
	})})
	require.NoError(t, err)
	require.Equal(t, Counts{Refused: 1, Failed: 2, Unknown: 1}, s.Totals)
}

func TestBucketsStayFew(t *testing.T) {
	for _, last := range []time.Duration{0, 99 * ms, 24 * sec, 25 * sec, time.Hour, 72 * time.Hour} {
		for _, end := range []*harness.End{nil, {At: last}} {
			ops := []harness.Op{{Return: last / 3, Outcome: harness.OK}, {Return: last, Outcome: harness.OK}}
			s, err := Collect(harness.History{Ops: harness.OpsOf(ops), End: end})
			require.NoError(t, err)
			require.LessOrEqual(t, len(s.Buckets), maxBuckets)
			require.GreaterOrEqual(t, s.Width, 100*ms)
			require.Positive(t, s.Buckets[last/3/s.Width].OK)
			require.Equal(t, last/s.Width, time.Duration(len(s.Buckets)-1))
		}
	}
}

func TestManyReasonsAreBounded(t *testing.T) {
	var ops []harness.Op
	for i := range 5000 {
		ops = append(ops, harness.Op{Kind: harness.Kind(fmt.Sprint(i)), Outcome: harness.Fail,
			Err: fmt.Sprint("error ", i)})
	}
	s, err := Collect(harness.History{Ops: harness.OpsOf(ops)})
	require.NoError(t, err)
	require.Len(t, s.Reasons, topReasons)
	require.Equal(t, Reason{Err: other, Outcome: harness.Fail, Count: 5000 - maxReasons}, s.Reasons[0])
	require.Len(t, s.Kinds, maxKinds+1)
}

func TestQuantilesAreClose(t *testing.T) {
	var h histogram
	var all []time.Duration
	for i := range 20000 {
		d := time.Duration(i*i) * time.Microsecond / 20
		all = append(all, d)
		h.add(d)
	}
	slices.Sort(all)
	for _, q := range []float64{0.01, 0.5, 0.9, 0.99} {
		want := all[int(q*float64(len(all)))-1]
		require.InEpsilon(t, float64(want), float64(h.quantile(q)), 0.04, "q %v", q)
	}
	require.Equal(t, all[len(all)-1], h.latency().Max)
	require.Zero(t, new(histogram).quantile(0.5))
}

func TestAnErrorEndsTheReading(t *testing.T) {
	broken := errors.New("checksum")
	h := harness.History{Ops: func(yield func(harness.Op, error) bool) {
		_ = yield(harness.Op{Outcome: harness.OK, Return: ms}, nil) && yield(harness.Op{}, broken)
	}}
	s, err := Collect(h)
	require.ErrorIs(t, err, broken)
	require.EqualValues(t, 1, s.Totals.OK)
	s, _, err = Compute(h)
	require.ErrorIs(t, err, broken)
	require.EqualValues(t, 1, s.Totals.OK)
}
