package harness_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

// verdict is a checker that always returns the same verdict.
type verdict harness.Verdict

func (verdict) Name() string { return "constant" }
func (v verdict) Check(_ context.Context, _ harness.History, _ func(harness.Anomaly)) harness.Judgement {
	return harness.Judgement{Verdict: harness.Verdict(v), Reason: "because"}
}

// checking is a checker made of a function.
type checking struct {
	name string
	do   func(h harness.History, found func(harness.Anomaly)) harness.Judgement
}

func (c checking) Name() string { return c.name }
func (c checking) Check(_ context.Context, h harness.History, found func(harness.Anomaly)) harness.Judgement {
	return c.do(h, found)
}

// finder reports every operation as an anomaly.
type finder struct{}

func (finder) Name() string { return "finder" }
func (finder) Check(_ context.Context, h harness.History, found func(harness.Anomaly)) harness.Judgement {
	for op, err := range h.Ops {
		if err != nil {
			return harness.Judgement{Reason: err.Error()}
		}
		found(harness.Anomaly{Class: harness.DoubleGrant, From: op.Call, To: op.Return})
	}
	return harness.Judgement{Verdict: harness.Invalid}
}

func ops(n int) []harness.Op {
	all := make([]harness.Op, n)
	for i := range all {
		at := time.Duration(i) * time.Millisecond
		all[i] = harness.Op{Call: at, Return: at + 1, Outcome: harness.OK}
	}
	return all
}

func TestTheWorstVerdictWins(t *testing.T) {
	const u, v, i = harness.Unknown, harness.Valid, harness.Invalid
	for _, c := range []struct {
		in   []harness.Verdict
		want harness.Verdict
	}{
		{nil, u}, {[]harness.Verdict{v}, v}, {[]harness.Verdict{v, u}, u}, {[]harness.Verdict{u, v}, u},
		{[]harness.Verdict{u, i}, i}, {[]harness.Verdict{i, u}, i}, {[]harness.Verdict{v, i, v}, i},
		{[]harness.Verdict{v, v}, v},
	} {
		require.Equal(t, c.want, harness.Worst(c.in...), "%v", c.in)
	}
}

func TestACheckerThatPanicsIsUnknownAndHarmsNoOther(t *testing.T) {
	panicking := checking{"panicking", func(harness.History,
		func(harness.Anomaly)) harness.Judgement {
		panic("a checker's bug")
	}}
	c := &counter{}
	j := harness.Judge(t.Context(), harness.History{Ops: harness.OpsOf(ops(5000))}, []harness.Checker{panicking, c})
	require.Equal(t, harness.Unknown, j.Verdict)
	require.Contains(t, j.Judgements[0].Reason, "a checker's bug")
	require.Equal(t, 5000, c.n[harness.OK])
}

func TestAnErrorOfTheHistoryReachesTheCheckers(t *testing.T) {
	h := harness.History{Ops: func(yield func(harness.Op, error) bool) {
		_ = yield(harness.Op{Outcome: harness.OK}, nil) && yield(harness.Op{}, errors.New("torn page"))
	}}
	j := harness.Judge(t.Context(), h, []harness.Checker{&counter{}})
	require.Equal(t, "torn page", j.Judgements[0].Reason)
}

func TestAnomaliesAreCountedCappedSortedAndAttributed(t *testing.T) {
	h := harness.History{
		Ops: harness.OpsOf(ops(500)),
		Faults: []harness.Fault{{Name: "early", Start: 0, End: 10 * time.Millisecond},
			{Name: "open", Start: 50 * time.Millisecond}},
	}
	j := harness.Judge(t.Context(), h, []harness.Checker{finder{}})
	require.Equal(t, 500, j.Totals[harness.DoubleGrant])
	require.Len(t, j.Anomalies, 100)
	require.Equal(t, []string{"early"}, j.Anomalies[3].Faults)
	require.Empty(t, j.Anomalies[30].Faults)
	require.Equal(t, []string{"open"}, j.Anomalies[60].Faults)
	require.Equal(t, "invalid (500 double-grant)", j.Summary())
}

// again is a checker that ranges over the history twice, and stops the first time early.
type again struct{ first, second []harness.Op }

func (a *again) Name() string { return "again" }

func (a *again) Check(_ context.Context, h harness.History, _ func(harness.Anomaly)) harness.Judgement {
	for op := range h.Ops {
		a.first = append(a.first, op)
		break
	}
	for op := range h.Ops {
		a.second = append(a.second, op)
	}
	return harness.Judgement{Verdict: harness.Valid}
}

func TestACheckerReadsTheHistoryAgain(t *testing.T) {
	h := harness.History{Ops: harness.OpsOf(ops(10_000))}
	one, two, c := &again{}, &again{}, &counter{}
	// the second does not read the history
	j := harness.Judge(t.Context(), h, []harness.Checker{one, verdict(harness.Valid), c, two})
	require.Equal(t, harness.Valid, j.Verdict)
	for i, name := range []string{"again", "constant", "counter", "again"} {
		require.Equal(t, name, j.Judgements[i].Checker)
	}
	require.Equal(t, 10_000, c.n[harness.OK])
	for _, a := range []*again{one, two} {
		require.Equal(t, ops(1), a.first)
		require.Equal(t, ops(10_000), a.second)
	}
}

// A judgement that is NotNeeded makes the verdict neither valid nor unknown.
func TestWhoWasAskedNothingDecidesNothing(t *testing.T) {
	unasked := checking{"unasked", func(harness.History, func(harness.Anomaly)) harness.Judgement {
		return harness.Judgement{NotNeeded: true, Reason: "too large"}
	}}
	const u, v, i = harness.Unknown, harness.Valid, harness.Invalid
	for want, beside := range map[harness.Verdict][]harness.Checker{u: {}, v: {verdict(v)},
		i: {verdict(i), verdict(u)}} {
		j := harness.Judge(t.Context(), harness.History{Ops: harness.OpsOf(nil)}, append(beside, unasked))
		require.Equal(t, want, j.Verdict)
		require.NotContains(t, j.Summary(), "too large")
		last := j.Judgements[len(j.Judgements)-1]
		require.Equal(t, "abstained", last.VerdictText())
		require.False(t, last.InDoubt())
	}
	require.Equal(t, "valid", harness.Judgement{Verdict: harness.Valid}.VerdictText())
	require.True(t, harness.Judgement{Reason: "cut"}.InDoubt())
}

func TestWhatTimesInDoubtShowIsTakenBack(t *testing.T) {
	h := harness.History{Ops: harness.OpsOf(ops(10))}
	require.Equal(t, harness.Invalid, harness.Judge(t.Context(), h, []harness.Checker{finder{}}).Verdict)
	h.Events = []harness.Event{{Kind: harness.EventClockBound, Node: "generator 1", Detail: "1ms"},
		{Kind: harness.EventClockUntrusted, Node: "generator 2", Detail: "it jumped"}}
	j := harness.Judge(t.Context(), h, []harness.Checker{finder{}, verdict(harness.Valid)})
	require.Equal(t, harness.Unknown, j.Verdict)
	require.Empty(t, j.Anomalies)
	require.Empty(t, j.Totals)
	require.Equal(t, []harness.Verdict{harness.Unknown, harness.Valid, harness.Unknown},
		[]harness.Verdict{j.Judgements[0].Verdict, j.Judgements[1].Verdict, j.Judgements[2].Verdict})
	require.Contains(t, j.Judgements[2].Reason, "generator 2: it jumped")
}

// TestFoundSaysWhenViolationsCameAbout checks that Findings counts all double grants, not only those kept.
func TestFoundSaysWhenViolationsCameAbout(t *testing.T) {
	const ms, sec = time.Millisecond, time.Second
	lost := harness.Anomaly{Class: harness.LostWrite, From: 11 * sec, To: 20 * sec}
	lost.Ops = []harness.Op{{Call: 10 * sec, Return: 11*sec + 3*ms}, {Return: 19 * sec}}
	reports := func(all ...harness.Anomaly) harness.Checker {
		return checking{"reports", func(_ harness.History, found func(harness.Anomaly)) harness.Judgement {
			for _, a := range all {
				found(a)
			}
			return harness.Judgement{Verdict: harness.Invalid}
		}}
	}
	var twice []harness.Anomaly
	for range 150 {
		twice = append(twice, harness.Anomaly{Class: harness.DoubleGrant, From: 11 * sec, To: 20*sec + 17*ms,
			Ops: []harness.Op{{Return: sec}}})
	}
	twice = append(twice, harness.Anomaly{Class: harness.DoubleGrant, To: 11*sec + 9*ms},
		harness.Anomaly{Class: harness.StuckLock, To: 11 * sec})
	j := harness.Judge(t.Context(), harness.History{Ops: harness.OpsOf(nil)},
		[]harness.Checker{reports(twice...), reports(lost)})
	require.Equal(t, []harness.Finding{
		{Class: harness.DoubleGrant, At: 11 * sec, Count: 1},
		{Class: harness.LostWrite, At: 11 * sec, Count: lost.Violations()},
		{Class: harness.DoubleGrant, At: 20*sec + 10*ms, Count: 150},
	}, j.Findings)
	require.Equal(t, 1, j.Totals[harness.StuckLock])
}
