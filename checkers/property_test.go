package checkers

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
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
	class   harness.Class                                             // one that has the twin's model
	twin    func(ops []harness.Op, meta harness.Meta) (violated bool) // nil: the model judges whole histories
	more    int                                                       // operations than the usual 2 to 8
}

var properties = []property{
	{checker: Mutex(), random: (*worker).lock, class: harness.DoubleGrant},
	{checker: Dedup(), random: (*worker).dedup, class: harness.DuplicateDelivery},
	{checker: Dedup(), random: (*worker).confirmed, class: harness.DuplicateDelivery, twin: duplicated},
	{checker: Sequence(), random: (*worker).sequence, class: harness.DuplicateNumber},
	{checker: Fence(), random: (*worker).fence, class: harness.FenceRegression, twin: unfenced},
}

// On every small history the streaming checker and porcupine's model of the whole history say the same. Where the rule
// is weaker than the model, its plain definition takes the model's place, and porcupine certifies what is found.
func TestPorcupineAgrees(t *testing.T) {
	for _, v := range properties {
		t.Run(v.checker.Name(), func(t *testing.T) {
			t.Parallel()
			illegal := 0
			for seed := range uint64(propertyHistories) {
				ops, h := v.history(seed)
				g, found := judge(t, v.checker, h)
				w, _ := windowOf(v.class, ops, h.Meta)
				legal := porcupine.CheckOperations(w.model, w.steps)
				if v.twin != nil {
					legal = !v.twin(ops, h.Meta)
				}
				if (g.Verdict != harness.Invalid) != legal {
					t.Fatalf("seed %d: the twin says legal=%v, the checker %v (%s) on\n%s", seed, legal, g.Verdict, g.Reason, list(ops, h))
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
	for _, v := range properties {
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

// history makes a few operations of 2 or 3 workers in a range of time so small that ties are common.
func (v property) history(seed uint64) ([]harness.Op, harness.History) {
	rng := rand.New(rand.NewPCG(seed, 0))
	workers := make([]worker, 2+rng.IntN(2))
	for i := range workers {
		workers[i] = worker{Rand: rng, id: i, workers: len(workers), constant: rng.IntN(2) == 0}
	}
	var ops []harness.Op
	for range v.more + 2 + rng.IntN(7) {
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
	if w.held != "" && w.IntN(4) == 0 {
		return w.extend(w.held)
	}
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

// extend sets the lease anew, now and then without having the lock, and to any length.
func (w *worker) extend(token string) harness.Op {
	if w.IntN(8) == 0 {
		token = "lost"
	}
	op := harness.Op{Kind: harness.Extend, Key: "k", Arg: token, TTL: time.Duration(w.IntN(9))}
	if w.IntN(6) == 0 {
		op.Until = time.Duration(1 + w.IntN(8))
	}
	return op
}

func (w *worker) dedup() harness.Op {
	result := []string{harness.ResultFirst, harness.ResultFirst, harness.ResultSeen}[w.IntN(3)]
	return harness.Op{Kind: harness.Claim, Key: "k", Result: result, TTL: time.Duration(w.IntN(9))}
}

// confirmed claims for a lease and confirms what it was told to deliver, or what it was not.
func (w *worker) confirmed() harness.Op {
	if w.IntN(3) == 0 {
		return harness.Op{Kind: harness.Confirm, Key: "k", TTL: time.Duration(w.IntN(20))}
	}
	op := w.dedup()
	op.TTL = time.Duration(1 + w.IntN(4))
	return op
}

// duplicated is the rule of Dedup as it stands in its doc comment.
func duplicated(ops []harness.Op, meta harness.Meta) bool {
	end := func(x harness.Op) time.Duration { return leaseEnd(x.Call, x.TTL, meta.Drift) }
	return anyPair(ops, func(m, s harness.Op) bool {
		switch {
		case m.Outcome != harness.OK || !first(s) || s.Return >= end(m):
			return false
		case m.Kind == harness.Confirm:
			return m.Return < s.Call
		}
		return first(m) && m.Return < end(s)
	})
}

// anyPair reports whether violates holds for any two operations in whichever order.
func anyPair(ops []harness.Op, violates func(a, b harness.Op) bool) bool {
	for i, a := range ops {
		for j, b := range ops {
			if i != j && violates(a, b) {
				return true
			}
		}
	}
	return false
}

// fence draws tokens that grow with time, more or less; now and then an acquire has none, or the owner's last one again.
func (w *worker) fence() harness.Op {
	if !w.constant || w.held == "" {
		w.tokens++
		w.held = fmt.Sprintf("t%d", w.tokens)
	}
	op := harness.Op{Kind: harness.Acquire, Key: "k", Arg: w.held}
	if w.IntN(8) > 0 {
		op.Result = strconv.Itoa((2*int(w.now) + w.IntN(9)) / 3)
	}
	return op
}

// unfenced is the rule of Fence as it stands in its doc comment.
func unfenced(ops []harness.Op, meta harness.Meta) bool {
	return anyPair(ops, func(a, b harness.Op) bool {
		x, errA := strconv.Atoi(a.Result)
		y, errB := strconv.Atoi(b.Result)
		granted := a.Outcome == harness.OK && b.Outcome == harness.OK && errA == nil && errB == nil && a.Return < b.Call
		return granted && (y < x || y == x && ownerOf(a, meta) != ownerOf(b, meta))
	})
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
