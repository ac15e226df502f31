package checkers

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/doublegrant/doublegrant/harness"
	"github.com/stretchr/testify/require"
)

const propertyHistories = 20_000

// property is a streaming checker with its slow twin and a source of small histories.
type property struct {
	checker harness.Checker
	random  func(*worker) harness.Op
	class   harness.Class // one that has the twin's model
}

// On every small history the streaming checker and porcupine's model of the whole history say the same.
func TestPorcupineAgrees(t *testing.T) {
	for _, v := range []property{
		{Mutex(), (*worker).lock, harness.DoubleGrant},
		{Dedup(), (*worker).dedup, harness.DuplicateDelivery},
		{Sequence(), (*worker).sequence, harness.DuplicateNumber},
	} {
		t.Run(v.checker.Name(), func(t *testing.T) {
			t.Parallel()
			illegal := 0
			for seed := range uint64(propertyHistories) {
				ops, h := v.history(seed)
				g, found := judge(t, v.checker, h)
				w, _ := windowOf(v.class, ops, h.Meta)
				legal := porcupine.CheckOperations(w.model, w.steps)
				if (g.Verdict != harness.Invalid) != legal {
					t.Fatalf("seed %d: porcupine says legal=%v, the checker %v (%s) on\n%s", seed, legal, g.Verdict, g.Reason, list(ops, h))
				}
				for _, a := range found {
					if !a.Certified {
						t.Fatalf("seed %d: not certified: %v\n%s", seed, a, list(ops, h))
					}
				}
				if !legal {
					illegal++
				}
			}
			require.Greater(t, illegal, propertyHistories/20, "too few violations to mean anything")
			require.Less(t, illegal, propertyHistories*19/20, "too few legal histories to mean anything")
		})
	}
}

// What a checker concludes from a torn record stays true however the record goes on, and leaves nothing out that the
// streaming order had decided: the violations found are a prefix of those of the whole history.
func TestTornRecords(t *testing.T) {
	for _, v := range []property{
		{checker: Mutex(), random: (*worker).lock},
		{checker: Dedup(), random: (*worker).dedup},
		{checker: Sequence(), random: (*worker).sequence},
	} {
		for seed := range uint64(propertyHistories / 10) {
			ops, h := v.history(seed)
			_, all := judge(t, v.checker, h)
			for n := range ops {
				part := h
				part.Ops, part.End = harness.OpsOf(ops[:n]), nil
				_, found := judge(t, v.checker, part)
				require.LessOrEqual(t, len(found), len(all), "seed %d, %d ops of\n%s", seed, n, list(ops, h))
				for i := range found {
					require.Equal(t, all[i], found[i], "seed %d, %d ops of\n%s", seed, n, list(ops, h))
				}
			}
		}
	}
}

// history makes up to 8 operations of 2 or 3 workers in a range of time so small that ties are common.
func (v property) history(seed uint64) ([]harness.Op, harness.History) {
	rng := rand.New(rand.NewPCG(seed, 0))
	workers := make([]worker, 2+rng.IntN(2))
	for i := range workers {
		workers[i] = worker{Rand: rng, id: i, workers: len(workers), constant: rng.IntN(2) == 0}
	}
	var ops []harness.Op
	for range 2 + rng.IntN(7) {
		w := &workers[rng.IntN(len(workers))]
		ops = append(ops, w.finish(v.random(w)))
	}
	h := of(ops...)
	h.Meta.Workers, h.Meta.Drift = len(workers), []float64{0, 0.3}[rng.IntN(2)]
	slices.SortStableFunc(ops, func(a, b harness.Op) int { return int(a.Return - b.Return) })
	return ops, h
}

// worker is a client that does one thing after the other.
type worker struct {
	*rand.Rand
	id, workers int
	now         time.Duration
	constant    bool // the worker uses one token for all its acquires
	tokens      int
	held        string
}

// finish puts op at the worker's present, and moves on.
func (w *worker) finish(op harness.Op) harness.Op {
	op.Client = w.id
	op.Call = w.now + time.Duration(w.IntN(3))
	op.Return = op.Call + time.Duration(w.IntN(5))
	if w.IntN(8) == 0 {
		op.Return += 8 // a slow one
	}
	if op.Until > 0 {
		op.Until += op.Call
	}
	op.Outcome = []harness.Outcome{harness.Info, harness.Fail, harness.OK, harness.OK, harness.OK, harness.OK}[w.IntN(6)]
	w.now = op.Return
	if op.Outcome == harness.Info {
		w.id += w.workers
	}
	return op
}

func (w *worker) lock() harness.Op {
	if w.held != "" && w.IntN(4) > 0 {
		token := w.held
		if w.IntN(4) > 0 {
			w.held = ""
		}
		return harness.Op{Kind: harness.Release, Key: "k", Arg: token}
	}
	if !w.constant {
		w.tokens++
	}
	w.held = fmt.Sprintf("t%d", w.tokens)
	op := harness.Op{Kind: harness.Acquire, Key: "k", Arg: w.held, TTL: time.Duration(w.IntN(9))}
	if w.IntN(6) == 0 {
		op.Until = time.Duration(1 + w.IntN(8))
	}
	return op
}

func (w *worker) dedup() harness.Op {
	result := []string{harness.ResultFirst, harness.ResultFirst, harness.ResultSeen}[w.IntN(3)]
	return harness.Op{Kind: harness.Claim, Key: "k", Result: result, TTL: time.Duration(w.IntN(9))}
}

// sequence draws numbers that grow with time, more or less, across the widths 9 to 10.
func (w *worker) sequence() harness.Op {
	n := 3*int(w.now) + w.IntN(14)
	return harness.Op{Kind: harness.Next, Key: "k", Result: fmt.Sprintf("%0*d", w.IntN(4), n)}
}

func list(ops []harness.Op, h harness.History) string {
	out := []string{fmt.Sprintf("workers %d, drift %v", h.Meta.Workers, h.Meta.Drift)}
	for _, op := range ops {
		out = append(out, describeMetadata(op))
	}
	return strings.Join(out, "\n")
}
