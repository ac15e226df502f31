package checkers

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/stretchr/testify/require"
)

// guarded returns an add to what the lock k guards, by the owner of that token.
func guarded(client int, token string, value int, call, ret time.Duration) harness.Op {
	op := add(client, value, call, ret)
	op.Key, op.Result = harness.Guarded("k"), token
	return op
}

func TestHolders(t *testing.T) {
	stale := []harness.Class{harness.StaleHolder}
	const none = "no write to what a lock guards was recorded"
	// Owner a is granted the lock for 10 between 1 and 2. Owner b is granted it between 20 and 21, and writes between
	// 22 and 23.
	a, b, bWrote := acquire(0, "a", 1, 2, 10), acquire(1, "b", 20, 21, 10), guarded(1, "b", 7, 22, 23)
	late := guarded(0, "a", 8, 24, 24)
	runCases(t, Holders(), []verdictCase{
		{name: "empty", h: of(), unknown: none},
		{name: "writes that nothing guards", h: of(a, add(0, 1, 3, 4)), unknown: none},
		{name: "in its lease", h: of(a, guarded(0, "a", 1, 3, 4), release(0, "a", 5, 6), b, bWrote)},
		{name: "after its lease and the next owner's write", want: stale, h: of(a, b, bWrote, late)},
		{name: "at the end of its lease", h: of(a, acquire(1, "b", 3, 4, 10), guarded(1, "b", 7, 5, 6),
			guarded(0, "a", 8, 12, 13))},
		{name: "just after it", want: stale,
			h: of(a, acquire(1, "b", 3, 4, 10), guarded(1, "b", 7, 5, 6), guarded(0, "a", 8, 13, 13))},
		{name: "refused", h: of(a, b, bWrote, withErr("stale token", fail(late)))},
		{name: "the next owner has not written yet",
			h: of(a, b, guarded(0, "a", 8, 22, 22), guarded(1, "b", 7, 23, 24))},
		{name: "the next owner wrote to another resource",
			h: of(a, b, on("k", b), guarded(0, "a", 1, 3, 4),
				on(harness.Guarded("j"), guarded(1, "b", 7, 22, 23)), late),
			unknown: "1 of 3 writes to what a lock guards are of owners that are not known to have been granted it"},
		{name: "asked for once before, without an answer",
			h: of(info(acquire(0, "a", 0, 1, 10)), asClient(3, acquire(0, "a", 1, 2, 10)), b, bWrote,
				asClient(3, late))},
		{name: "given up", h: of(a, release(0, "a", 3, 4), b, bWrote, late), unknown: "1 of 2 writes"},
		{name: "granted, perhaps", h: of(info(a), b, bWrote, asClient(3, late)), unknown: "1 of 2 writes"},
	})
}

// holder acquires, extends, writes and now and then releases, with leases so short that many have ended.
func (w *worker) holder() harness.Op {
	if w.held == "" || w.IntN(6) == 0 {
		if w.held == "" || !w.constant {
			w.tokens++
		}
		w.held = fmt.Sprintf("t%d", w.tokens)
		return harness.Op{Kind: harness.Acquire, Key: "k", Arg: w.held, TTL: time.Duration(1 + w.IntN(12)/4)}
	}
	switch w.IntN(8) {
	case 0:
		op := w.extend(w.held)
		op.TTL = time.Duration(w.IntN(5))
		return op
	case 1:
		token := w.held
		w.held = ""
		return harness.Op{Kind: harness.Release, Key: "k", Arg: token}
	}
	return harness.Op{Kind: harness.Add, Key: harness.Guarded("k"), Arg: strconv.Itoa(int(w.now)), Result: w.held}
}

// staleWrites is the rule of Holders for one lock and what it guards, as the doc comment of Holders states it.
func staleWrites(ops []harness.Op, meta harness.Meta, c counted) {
	writer := func(x harness.Op) owner { return owner{meta.Worker(x.Client), x.Result} }
	for i, w := range ops {
		if w.Kind != harness.Add || w.Outcome != harness.OK {
			continue
		}
		a, over, ok := holding(ops[:i], writer(w), meta)
		if !ok || w.Call <= over {
			continue
		}
		c.add(harness.StaleHolder, slices.ContainsFunc(ops, func(x harness.Op) bool {
			if x.Kind != harness.Add || x.Outcome != harness.OK || x.Return >= w.Call || writer(x) == writer(w) {
				return false
			}
			j := slices.Index(ops, x)
			b, _, ok := holding(ops[:j], writer(x), meta)
			return ok && b.Call > a.Return
		}))
	}
}

// holding returns the last ok acquire in ops that o has not released since, and the latest end of its leases.
func holding(ops []harness.Op, o owner, meta harness.Meta) (a harness.Op, over time.Duration, ok bool) {
	late := false // it may renew its lease at any time
	for _, x := range ops {
		if ownerOf(x, meta) != o {
			continue
		}
		late = late || setsLease(x) && x.Outcome == harness.Info
		switch {
		case x.Kind == harness.Release:
			a, over, ok = harness.Op{}, 0, false
			continue
		case !setsLease(x) || x.Kind == harness.Extend && over == 0:
			continue
		case x.Kind == harness.Acquire && x.Outcome == harness.OK:
			a, ok = x, true
		}
		over = max(over, leaseOver(x, meta.Drift))
		if late {
			over = forever
		}
	}
	return a, over, ok
}

func TestHoldersAtEqualInstants(t *testing.T) {
	all := successors{{acquire: acquire(0, "a", 0, 0, 1), write: add(0, 1, 1, 1)},
		{acquire: acquire(1, "b", 2, 2, 1), write: add(1, 2, 3, 5)},
		{acquire: acquire(2, "c", 6, 6, 1), write: add(2, 3, 7, 9)}}
	kept := append(successors(nil), all...).prune(5)
	s, ok := kept.lastBefore(5)
	require.True(t, ok)
	require.Equal(t, all[0].write, s.write,
		"a write called at 5 may still come: the one answered then is not before it")
	s, ok = append(successors(nil), all...).prune(9).lastBefore(9)
	require.True(t, ok)
	require.Equal(t, all[1].write, s.write)
	require.Len(t, append(successors(nil), all...).prune(10), 1)
	require.False(t, all.withSuccessor(successor{acquire: acquire(0, "d", 7, 7, 1),
		write: add(0, 4, 10, 11)})[0].gapBefore, "nothing was dropped")
	require.Len(t, all.withSuccessor(successor{acquire: acquire(0, "d", 6, 6, 1), write: add(0, 4, 10, 11)}), 3,
		"asked for its lock no later than the last")
}

// Extends by owners that were never granted the lock do not displace a grant that is kept.
func TestHoldersExtendsOfNothing(t *testing.T) {
	ops := []harness.Op{acquire(0, "a", 1, 2, 5)}
	for i := range time.Duration(2 * maxUnreleased) {
		ops = append(ops, extend(0, "lost"+i.String(), 3, 3, 5))
	}
	ops = append(ops, acquire(1, "b", 20, 21, 50), guarded(1, "b", 1, 22, 23), guarded(0, "a", 2, 24, 25))
	_, found := judge(t, Holders(), of(ops...))
	require.Equal(t, []harness.Class{harness.StaleHolder}, classes(found))
}
