package checkers

import (
	"fmt"
	"html"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"pgregory.net/rapid"
)

// dice makes the choices of a random history. Smaller numbers make simpler choices.
type dice interface{ IntN(n int) int }

// throws is dice whose results rapid chooses, so that it can shrink a failing history.
type throws struct {
	t   *rapid.T
	bit *rapid.Generator[bool]
}

// IntN is nearly uniform. Rapid's own ranges prefer small numbers, which gives too few violations.
func (d throws) IntN(n int) int {
	v := 0
	for range bits.Len(uint(n-1)) + 2 {
		v *= 2
		if d.bit.Draw(d.t, "") {
			v++
		}
	}
	return v % n
}

// history is a small history. ops has its operations.
type history struct {
	ops []harness.Op
	h   harness.History
}

// GoString returns the text that rapid prints for a history.
func (one history) GoString() string { return one.String() }

func (one history) String() string {
	out := []string{fmt.Sprintf("workers %d, drift %v, kinds %v", one.h.Meta.Workers, one.h.Meta.Drift,
		one.h.Meta.Kinds)}
	for _, op := range one.ops {
		out = append(out, html.UnescapeString(describeMetadata(op)))
	}
	return strings.Join(out, "\n")
}

// generator draws histories of p.
func (p property) generator() *rapid.Generator[history] {
	bit := rapid.Bool()
	return rapid.Custom(func(t *rapid.T) history { return p.small(throws{t, bit}) })
}

// small makes a few operations of 2 or 3 workers, on one key or two, in so short a time that ties are common. After the
// load the harness may act.
func (p property) small(d dice) history {
	workers := make([]worker, 2+d.IntN(2))
	for i := range workers {
		workers[i] = worker{dice: d, id: i, workers: len(workers), constant: d.IntN(2) == 0}
	}
	if p.harness && d.IntN(6) == 0 {
		workers[0].id, workers[0].workers = harness.HarnessClient, 0 // it keeps one id
	}
	var ops []harness.Op
	two, last := d.IntN(4) == 0, time.Duration(0)
	for range p.more + 2 + d.IntN(7) {
		w := &workers[d.IntN(len(workers))]
		op := w.finish(p.random(w))
		if p.told != nil {
			p.told(d, &op)
		}
		if _, guarded := harness.GuardedBy(op.Key); guarded {
			op.Arg = strconv.Itoa(len(ops)) // writes are unique
		}
		if two && d.IntN(3) == 0 {
			op.Key = "other" + op.Key
		}
		last = max(last, op.Return)
		ops = append(ops, op)
	}
	if p.alike != nil {
		p.alike(d, ops)
	}
	if p.after != nil {
		ops = append(ops, probes(d, p.after, ops, last)...)
	}
	slices.SortStableFunc(ops, func(a, b harness.Op) int { return int(a.Return - b.Return) })
	h := of(ops...)
	h.Meta.Workers, h.Meta.Drift = len(workers), []float64{0, 0.3}[d.IntN(2)]
	if p.promised != nil {
		h.Meta.Kinds = p.promised(d)
	}
	return history{ops, h}
}

// probes returns one to three operations of the harness on keys of ops, mostly after the last one has returned.
func probes(d dice, after func(*worker) harness.Op, ops []harness.Op, last time.Duration) (out []harness.Op) {
	w := &worker{dice: d, now: max(0, last-time.Duration(d.IntN(3))+time.Duration(d.IntN(12)))}
	for range 1 + d.IntN(3) {
		op := after(w)
		about := ops[d.IntN(len(ops))].Key
		w.id = 0
		op = w.finish(op)
		op.Client, op.Key = harness.HarnessClient, about
		out = append(out, op)
	}
	return out
}

// worker is a client that does one thing after the other.
type worker struct {
	dice
	id, workers int
	now         time.Duration
	constant    bool // the worker uses one token for all its acquires
	tokens      int
	held        string

	owns         string        // the token of the last acquire
	asked        bool          // the last operation asked for a lease
	lease, until time.Duration // the length of that lease; the latest end of all leases under owns
}

// finish gives op a client, times and an outcome. Its Return is the worker's next current time.
func (w *worker) finish(op harness.Op) harness.Op {
	op.Client = w.id
	op.Call = w.now + time.Duration(w.IntN(3))
	op.Return = op.Call + time.Duration(w.IntN(5))
	if w.IntN(8) == 0 {
		op.Return += 8 // a slow operation
	}
	if op.Until > 0 {
		op.Until += op.Call
	}
	op.Outcome = []harness.Outcome{harness.Info, harness.Fail, harness.OK, harness.OK, harness.OK,
		harness.OK}[w.IntN(6)]
	w.now = op.Return
	if op.Outcome == harness.Info {
		w.id += w.workers
	}
	return op
}

// owner returns the next operation of an owner of locks, which now and then leaves out its token.
func (w *worker) owner() harness.Op {
	op := w.lock()
	if w.IntN(10) == 0 {
		op.Arg = ""
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

// extend renews the lease, now and then without having the lock, and to any length.
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

// loser has short leases and often extends them late. No two operations of one worker touch in one instant.
func (w *worker) loser() harness.Op {
	w.now++
	op := w.brief()
	if op.Kind == harness.Release && w.IntN(3) > 0 {
		w.held = op.Arg
		return harness.Op{Kind: harness.Extend, Key: "k", Arg: op.Arg, TTL: time.Duration(1 + w.IntN(3))}
	}
	return op
}

// neverRefused turns refusals into errors.
func neverRefused(_ dice, op *harness.Op) {
	if op.Outcome == harness.Fail {
		op.Err = "READONLY"
	}
}

// keeper has long leases, mostly for one owner at a time. No two operations of one worker touch in one instant.
func (w *worker) keeper() harness.Op {
	w.now++
	op := w.lock()
	if op.Kind != harness.Release {
		op.TTL, op.Until = time.Duration(12+w.IntN(20)), 0
	}
	return op
}

// oftenRefused refuses most acquires, all extends and many releases.
func oftenRefused(d dice, op *harness.Op) {
	switch {
	case op.Outcome == harness.OK && (op.Kind == harness.Extend || d.IntN(3) > 0):
		op.Outcome = harness.Fail
	case op.Outcome == harness.Info && d.IntN(12) > 0:
		op.Outcome = harness.Fail
	}
	op.Err = ""
	if op.Outcome == harness.Fail && op.Kind == harness.Acquire {
		op.Err = []string{harness.Held, harness.Held, harness.Held, "", "", "given back"}[d.IntN(6)]
	} else if op.Outcome == harness.Fail {
		op.Err = []string{harness.NotMine, harness.NotMine, "", "READONLY"}[d.IntN(4)]
	}
}

func (w *worker) dedup() harness.Op {
	result := []string{harness.ResultFirst, harness.ResultFirst, harness.ResultSeen}[w.IntN(3)]
	return harness.Op{Kind: harness.Claim, Key: "k", Result: result, TTL: time.Duration(w.IntN(9))}
}

// confirmed claims for a lease. It confirms what it was told to deliver, and now and then something else.
func (w *worker) confirmed() harness.Op {
	if w.IntN(3) == 0 {
		return harness.Op{Kind: harness.Confirm, Key: "k", TTL: time.Duration(w.IntN(20))}
	}
	op := w.dedup()
	if w.IntN(2) == 0 {
		op.TTL = time.Duration(1 + w.IntN(4))
	}
	return op
}

// fence draws tokens that roughly grow with time. Now and then an acquire has no token, or the owner's last one again.
// Now and then it releases or extends.
func (w *worker) fence() harness.Op {
	if w.IntN(5) == 0 {
		op := w.lock()
		if op.Kind != harness.Acquire {
			return op
		}
	}
	if !w.constant || w.held == "" {
		w.tokens++
		w.held = fmt.Sprintf("t%d", w.tokens)
	}
	op := harness.Op{Kind: harness.Acquire, Key: "k", Arg: w.held, TTL: time.Duration(w.IntN(9))}
	if w.IntN(8) > 0 {
		op.Result = strconv.Itoa((2*int(w.now) + w.IntN(9)) / 3)
	}
	return op
}

// fenceOnce is like fence with two differences. No two operations of one worker touch in one instant, since checkers
// leave their order open. And an owner that may still have the lock does not acquire it again, since checkers compare
// two tokens at a time.
func (w *worker) fenceOnce() harness.Op {
	if w.asked {
		w.until, w.asked = max(w.until, w.now+w.lease), false
	}
	w.now++
	op := w.fence()
	if op.Kind == harness.Acquire && op.Arg == w.owns && w.now <= w.until {
		op.Kind, op.Result = []harness.Kind{harness.Extend, harness.Release}[w.IntN(2)], ""
	}
	if op.Kind == harness.Acquire && op.Arg != w.owns {
		w.owns, w.until = op.Arg, 0
	}
	w.asked = op.Kind != harness.Release
	if w.lease = op.TTL; op.TTL == 0 {
		w.lease = endless
	}
	return op
}

// sequence draws numbers that roughly grow with time, from one digit to several, with leading zeros now and then.
func (w *worker) sequence() harness.Op {
	n := 3*int(w.now) + w.IntN(14)
	return harness.Op{Kind: harness.Next, Key: "k", Result: fmt.Sprintf("%0*d", w.IntN(4), n)}
}

// probe returns the harness's acquire.
func (w *worker) probe() harness.Op {
	return harness.Op{Kind: harness.Acquire, Arg: "probe", TTL: time.Duration(1 + w.IntN(4)),
		Err: []string{harness.Held, harness.Held, "", "READONLY"}[w.IntN(4)]}
}

// brief acquires and extends with short leases.
func (w *worker) brief() harness.Op {
	op := w.lock()
	if op.TTL > 0 {
		op.TTL = 1 + op.TTL/3
	}
	return op
}

// deliverer claims, delivers and confirms, or crashes.
func (w *worker) deliverer() harness.Op {
	op := w.confirmed()
	switch w.IntN(4) {
	case 0:
		op = harness.Op{Kind: harness.Deliver, Key: "k"}
	case 1:
		// the reason counts if the operation ends in info
		op.Err = []string{harness.Crashed, harness.FewAcks, "ERR", "timeout"}[w.IntN(4)]
	}
	op.TTL = op.TTL / 2
	return op
}

// asker returns the harness's claim, or its inspection of a mark.
func (w *worker) asker() harness.Op {
	if w.IntN(3) == 0 {
		return harness.Op{Kind: harness.Inspect, Result: []string{"1", "1", ""}[w.IntN(3)],
			TTL: time.Duration(w.IntN(2))}
	}
	return harness.Op{Kind: harness.Claim, TTL: time.Duration(1 + w.IntN(4)),
		Result: []string{harness.ResultSeen, harness.ResultSeen, harness.ResultSeen, harness.ResultFirst}[w.IntN(4)]}
}

// storer draws numbers and inspects what is stored.
func (w *worker) storer() harness.Op {
	op := w.sequence()
	op.Result = strconv.Itoa(int(w.now) + w.IntN(3))
	if w.IntN(2) == 0 {
		op.Kind = harness.Inspect
		op.Result = []string{op.Result, op.Result, op.Result, ""}[w.IntN(4)]
	}
	op.TTL = []time.Duration{0, 0, 6, 15}[w.IntN(4)]
	return op
}

// oneTTL gives all numbers the same TTL.
func oneTTL(d dice, ops []harness.Op) {
	ttl := []time.Duration{0, 6, 15}[d.IntN(3)]
	for i := range ops {
		if ops[i].Kind == harness.Next {
			ops[i].TTL = ttl
		}
	}
}

// onlooker is like storer, but the first worker inspects and the others draw. No two operations of one worker touch in
// one instant.
func (w *worker) onlooker() harness.Op {
	w.now++
	op := w.storer()
	op.Kind = harness.Next
	switch looks := w.id%w.workers == 0; {
	case looks && op.Result == "":
		op.Kind, op.TTL = harness.Inspect, 0
	case looks:
		op.Kind = harness.Inspect
	case op.Result == "":
		op.Result = strconv.Itoa(int(w.now))
	}
	return op
}

// adder adds numbers that nobody else adds.
func (w *worker) adder() harness.Op {
	w.tokens++
	return harness.Op{Kind: harness.Add, Key: "k", Arg: strconv.Itoa(w.tokens*w.workers + w.id%w.workers)}
}

// reader returns the harness's read of some of the numbers that workers may have added.
func (w *worker) reader() harness.Op {
	var there []string
	for v := range 18 {
		if w.IntN(4) > 0 {
			there = append(there, strconv.Itoa(v))
		}
	}
	return harness.Op{Kind: harness.Read, Result: strings.Join(there, ",")}
}
