package checkers

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/stretchr/testify/require"
)

// Times in these tests are small integers, taken as nanoseconds. Workers are 0 to 2, so client 3 is worker 0 after an
// operation that ended in info.
const testWorkers = 3

func acquire(client int, token string, call, ret, ttl time.Duration) harness.Op {
	return harness.Op{Client: client, Kind: harness.Acquire, Key: "k", Arg: token, Call: call, Return: ret, TTL: ttl,
		Outcome: harness.OK}
}

func extend(client int, token string, call, ret, ttl time.Duration) harness.Op {
	op := acquire(client, token, call, ret, ttl)
	op.Kind = harness.Extend
	return op
}

func release(client int, token string, call, ret time.Duration) harness.Op {
	return harness.Op{Client: client, Kind: harness.Release, Key: "k", Arg: token, Call: call, Return: ret,
		Outcome: harness.OK}
}

func claim(client int, call, ret, window time.Duration) harness.Op {
	return harness.Op{Client: client, Kind: harness.Claim, Key: "m", Result: harness.ResultFirst, Call: call,
		Return: ret, TTL: window, Outcome: harness.OK}
}

func confirm(client int, call, ret, window time.Duration) harness.Op {
	return harness.Op{Client: client, Kind: harness.Confirm, Key: "m", Call: call, Return: ret, TTL: window,
		Outcome: harness.OK}
}

func deliver(client int, call, ret time.Duration) harness.Op {
	return harness.Op{Client: client, Kind: harness.Deliver, Key: "m", Call: call, Return: ret, Outcome: harness.OK}
}

func next(client int, call, ret time.Duration, result string) harness.Op {
	return harness.Op{Client: client, Kind: harness.Next, Key: "seq-0", Result: result, Call: call, Return: ret,
		Outcome: harness.OK}
}

func add(client, value int, call, ret time.Duration) harness.Op {
	return harness.Op{Client: client, Kind: harness.Add, Key: "set", Arg: strconv.Itoa(value), Call: call, Return: ret,
		Outcome: harness.OK}
}

func read(call, ret time.Duration, result string) harness.Op {
	return harness.Op{Client: harness.HarnessClient, Kind: harness.Read, Key: "set", Result: result, Call: call,
		Return: ret, Outcome: harness.OK}
}

func inspect(call, ret time.Duration, result string, ttl time.Duration) harness.Op {
	return harness.Op{Client: harness.HarnessClient, Kind: harness.Inspect, Key: "seq-0", Result: result, TTL: ttl,
		Call: call, Return: ret, Outcome: harness.OK}
}

func byHarness(op harness.Op) harness.Op { op.Client = harness.HarnessClient; return op }

func token(result string, op harness.Op) harness.Op { op.Result = result; return op }

func withTTL(ttl time.Duration, op harness.Op) harness.Op { op.TTL = ttl; return op }

func withErr(err string, op harness.Op) harness.Op { op.Err = err; return op }

func seen(op harness.Op) harness.Op { op.Result = harness.ResultSeen; return op }
func info(op harness.Op) harness.Op { op.Outcome = harness.Info; return op }
func fail(op harness.Op) harness.Op { op.Outcome = harness.Fail; return op }

func on(key string, op harness.Op) harness.Op { op.Key = key; return op }

func promising(end time.Duration, op harness.Op) harness.Op { op.Until = end; return op }

// of returns the complete history of ops, put in order of Return.
func of(ops ...harness.Op) harness.History {
	ops = slices.Clone(ops)
	slices.SortStableFunc(ops, func(a, b harness.Op) int { return cmp.Compare(a.Return, b.Return) })
	return harness.History{
		Meta: harness.Meta{Workers: testWorkers, Clients: testWorkers, Groups: 2},
		Ops:  harness.OpsOf(ops),
		End:  &harness.End{At: 1000},
	}
}

// torn returns a history of ops whose record stops before the run did.
func torn(ops ...harness.Op) harness.History {
	h := of(ops...)
	h.End = nil
	return h
}

func drifting(drift float64, h harness.History) harness.History { h.Meta.Drift = drift; return h }

// judge runs one checker over h.
func judge(t testing.TB, c harness.Checker, h harness.History) (harness.Judgement, []harness.Anomaly) {
	t.Helper()
	return judgeWithin(t.Context(), c, h)
}

// judgeWithin runs c over h and checks that it finds only the classes that roles lists for it.
func judgeWithin(
	ctx context.Context, c harness.Checker, h harness.History,
) (g harness.Judgement, found []harness.Anomaly) {
	g = c.Check(ctx, h, func(a harness.Anomaly) { found = append(found, a) })
	for _, a := range found {
		if !slices.Contains(roleOf(c).finds, a.Class) {
			panic(fmt.Sprintf("%s finds %s, and roles in for.go do not say so", c.Name(), a.Class))
		}
	}
	return g, found
}

// verdictCase is a history and what a checker must say about it.
type verdictCase struct {
	name string
	h    harness.History
	// want has the classes of the anomalies, in the order in which they are found. If it and unknown are empty, the
	// verdict is valid.
	want    []harness.Class
	unknown string // part of the reason of an Unknown; "": not Unknown
	note    string // part of the first anomaly's note
}

// runCases judges every case. Where porcupine has a model, it has to agree on the anomalies and on whole keys.
func runCases(t *testing.T, c harness.Checker, cases []verdictCase) {
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			g, found := judge(t, c, tc.h)
			require.Equal(t, tc.want, classes(found), "%v", found)
			require.True(t, tc.note == "" || strings.Contains(found[0].Note, tc.note), "%v", found)
			for _, a := range found {
				require.Equal(t, hasModel(a), a.Certified, "certified: %v", a)
				require.NotEmpty(t, a.Note)
				require.LessOrEqual(t, a.From, a.To)
				for _, s := range a.Spans {
					require.True(t, s.To == 0 || s.From < s.To, "%+v", s)
				}
				require.True(t, slices.IsSortedFunc(a.Ops,
					func(x, y harness.Op) int { return cmp.Compare(x.Call, y.Call) }))
			}
			require.Equal(t, tc.verdict(), g.Verdict, g.Reason)
			require.Contains(t, g.Reason, tc.unknown)
			require.NotRegexp(t, "(^| )-[0-9]", g.Reason, "no count is negative")
			for _, f := range g.Figures {
				require.GreaterOrEqual(t, f.Value, 0.0, f.Name)
			}
			require.NotEmpty(t, g.Reason)
			require.Equal(t, c.Name(), g.Checker)
			second, _ := judge(t, SecondOpinion(), tc.h)
			require.NotContains(t, second.Reason, "defect of the harness")
		})
	}
}

func (tc verdictCase) verdict() harness.Verdict {
	switch {
	case len(tc.want) > 0:
		return harness.Invalid
	case tc.unknown != "":
		return harness.Unknown
	}
	return harness.Valid
}

func classes(found []harness.Anomaly) (out []harness.Class) {
	for _, a := range found {
		out = append(out, a.Class)
	}
	return out
}

// figureOf returns the value of a figure, which must be there.
func figureOf(t testing.TB, g harness.Judgement, name string) float64 {
	t.Helper()
	i := slices.IndexFunc(g.Figures, func(f harness.Figure) bool { return f.Name == name })
	require.GreaterOrEqual(t, i, 0, "%q among %v", name, g.Figures)
	return g.Figures[i].Value
}
