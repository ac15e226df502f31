package checkers

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/units"
)

func all() []harness.Checker {
	all := []harness.Checker{Gates(), SecondOpinion()}
	for _, r := range roles {
		all = append(all, r.checker)
	}
	return all
}

// clean returns a legal history with an operation of every kind.
func clean() []harness.Op {
	return []harness.Op{
		token("1", acquire(0, "a", 1, 2, 10)), claim(0, 3, 4, 10), deliver(0, 4, 4), next(0, 5, 6, "1"),
		add(0, 1, 7, 8), read(9, 10, "1"),
		asked(12, 13, 10), granted(probe(20, 21)), inspect(24, 25, "1", 0),
	}
}

// broken returns a history with a violation of every kind before anything else.
func broken() []harness.Op {
	return []harness.Op{
		acquire(0, "a", 1, 2, 10), acquire(1, "b", 1, 3, 10), claim(0, 3, 4, 10), claim(1, 3, 5, 10),
		next(0, 5, 6, "1"), next(1, 6, 7, "1"), release(0, "a", 7, 8), release(1, "b", 7, 8),
	}
}

// failing yields ops, then an error.
func failing(ops []harness.Op, err error) harness.History {
	h := of()
	h.Ops = func(yield func(harness.Op, error) bool) {
		harness.OpsOf(ops)(yield)
		yield(harness.Op{}, err)
	}
	return h
}

func TestWhatCannotBeReadIsUnknown(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	disordered, backwards := of(), of()
	disordered.Ops = harness.OpsOf([]harness.Op{next(0, 3, 4, "1"), next(0, 1, 2, "2")})
	backwards.Ops = harness.OpsOf([]harness.Op{next(0, 4, 3, "1")})
	for _, tc := range []struct {
		reason string
		ctx    context.Context
		h      harness.History
	}{
		{"checksum of segment 3", t.Context(), failing(clean(), errors.New("checksum of segment 3"))},
		{"stopped after 0 operations: context canceled", ended, of(broken()...)},
		{"not in order of Return", t.Context(), disordered},
		{"not in order of Return", t.Context(), backwards},
		{"", t.Context(), harness.History{}},
	} {
		for _, c := range all() {
			g, found := judgeWithin(tc.ctx, c, tc.h)
			require.Equal(t, harness.Unknown, g.Verdict, c.Name())
			require.Contains(t, g.Reason, tc.reason, c.Name())
			require.Empty(t, found, c.Name())
		}
	}
}

func TestAViolationBeforeAnErrorIsInvalid(t *testing.T) {
	for _, c := range []harness.Checker{Mutex(), Dedup(), Sequence()} {
		g, found := judge(t, c, failing(broken(), errors.New("checksum of segment 3")))
		require.Equal(t, harness.Invalid, g.Verdict, c.Name())
		require.Len(t, found, 1)
	}
}

func TestAContextThatEndsOnTheWay(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	h := of()
	h.Ops = func(yield func(harness.Op, error) bool) {
		for yield(harness.Op{Call: time.Duration(n), Return: time.Duration(n)}, nil) {
			if n++; n == 5000 {
				cancel()
			}
		}
	}
	g, _ := judgeWithin(ctx, Mutex(), h)
	require.Equal(t, harness.Unknown, g.Verdict)
	require.Less(t, n, 5000+ctxEvery+1)
}

func TestCertificatesAreBounded(t *testing.T) {
	var ops []harness.Op
	for i := range certifyAtMost + 100 {
		at := time.Duration(i)
		ops = append(ops, next(i%testWorkers, at, at, "1"))
	}
	g, found := judge(t, Sequence(), of(ops...))
	require.Len(t, found, certifyAtMost+99)
	require.EqualValues(t, certifyAtMost, figureOf(t, g, "asked to certify"))
	require.EqualValues(t, certifyAtMost, figureOf(t, g, "certified"))
	require.Equal(t, fmt.Sprintf("%s duplicate-number: seq-0 %[1]s", units.Count(certifyAtMost+99)), g.Reason)
}

func TestWhoGaveNoAnswerInTimeIsAskedOnceMore(t *testing.T) {
	for _, answers := range [][]porcupine.CheckResult{
		{porcupine.Illegal}, {porcupine.Ok}, {porcupine.Unknown, porcupine.Illegal},
		{porcupine.Unknown, porcupine.Unknown},
	} {
		asked := 0
		said := askAgain(func() porcupine.CheckResult { asked++; return answers[asked-1] })
		require.Equal(t, answers[len(answers)-1], said)
		require.Len(t, answers, asked)
	}
}

// If the context ends during the last operation, the pass returns an error.
func TestAPassEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	err := eachOp(ctx, of(next(0, 1, 2, "1")), func(harness.Op) { cancel() })
	require.ErrorContains(t, err, "stopped after 1 operations")
}
