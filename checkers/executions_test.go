package checkers

import (
	"slices"
	"testing"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/stretchr/testify/require"
)

// Brute force: whether any execution explains a short history. It shares nothing with the checkers, their rules and porcupine
// but the vocabulary: a specification is a plain server that does one thing after the other, and every order is tried.

// deed is the effect of one operation on the server. It happens at one instant of [from, to]; an optional deed may never happen.
type deed struct {
	harness.Op
	index    int // of the operation in the history
	worker   int
	from, to time.Duration
	optional bool
	length   time.Duration // of the lease or window that it asks for, the shortest
	ends     time.Duration // the earliest end of the lease or window that it begins
}

// world is a specification: a server in some state. It is never changed in place.
type world interface {
	// do returns the server after it executed d at that instant; false if it would have given another answer.
	do(d deed, at time.Duration) (world, bool)
}

// execution is the search for an order in which the deeds can have been done.
type execution struct {
	deeds []deed
	end   time.Duration // later than everything that is bound to happen
	every bool          // try every instant for each deed, not only the first at which it can be done
}

// explains reports whether some execution, beginning with w, does all deeds that are not optional, each within its time.
func (e execution) explains(w world) bool {
	for _, d := range e.deeds {
		if !d.optional {
			e.end = max(e.end, d.to+1)
		}
	}
	return e.goOn(w, 0, make([]bool, len(e.deeds)))
}

// goOn tries each deed that is not done as the next one, at now or later. What happens in one instant may have happened in any
// order, even if one worker did it. The first instant at which a deed can be done is enough: a later one only leaves less time to
// the others.
func (e execution) goOn(w world, now time.Duration, done []bool) bool {
	finished := true
	for i, d := range e.deeds {
		if !d.optional && !done[i] {
			if d.to < now {
				return false
			}
			finished = false
		}
	}
	if finished {
		return true
	}
	for i, d := range e.deeds {
		if done[i] {
			continue
		}
		done[i] = true
		for at := max(now, d.from); at <= min(d.to, e.end); at++ {
			next, ok := w.do(d, at)
			if ok && e.goOn(next, at, done) {
				return true
			}
			if ok && !e.every {
				break
			}
		}
		done[i] = false
	}
	return false
}

// deedsOf turns ops, which are in order of Return, into deeds, as far as does says so. Those that were ok were done between
// Call and Return, others at any time after Call, or never.
func deedsOf(ops []harness.Op, meta harness.Meta, does func(harness.Op) bool) (out []deed) {
	for i, x := range ops {
		if !does(x) {
			continue
		}
		d := deed{Op: x, index: i, worker: meta.Worker(x.Client), from: x.Call, to: x.Return, length: length(x.TTL, meta.Drift)}
		d.ends = d.Call + d.length
		if x.Until > 0 {
			d.ends = min(d.ends, x.Until)
		}
		if x.Outcome != harness.OK {
			d.optional, d.to = true, endless
		}
		out = append(out, d)
	}
	return out
}

// Brute force alone finds the defects that are planted in the checkers: their verdicts differ from its own.
func TestBruteForceFindsPlantedBugs(t *testing.T) {
	for _, p := range properties {
		if p.explains == nil {
			continue
		}
		for name, b := range blind {
			b.Checker = p.checker
			require.True(t, p.differs(t, b, 20_000), "%s, which %s", p.name, name)
		}
		if p.name != "sequence" && p.name != "writes" { // which know of no drift
			require.True(t, p.differs(t, driftless{p.checker}, 5000), "%s, which ignores drift", p.name)
		}
		require.False(t, p.differs(t, p.checker, 1000), p.name)
	}
}

// differs reports whether brute force differs from what c says of one history among so many.
func (p property) differs(t *testing.T, c harness.Checker, limit int) bool {
	for seed := range limit {
		one := p.small(seeded(uint64(seed)))
		if g, _ := judge(t, c, one.h); (g.Verdict == harness.Invalid) == p.explained(one, false) {
			return true
		}
	}
	return false
}

// Histories that no execution explains, with one beside each that differs in one thing and has an explanation. The
// checkers say the same.
func TestBruteForce(t *testing.T) {
	for _, tc := range []struct {
		property  string
		bad, good []harness.Op
	}{
		{"mutex", []harness.Op{acquire(0, "a", 1, 2, 10), acquire(1, "b", 1, 3, 10)},
			[]harness.Op{acquire(0, "a", 1, 2, 10), acquire(1, "b", 1, 11, 10)}},
		{"mutex", []harness.Op{acquire(0, "a", 0, 1, 0), info(release(0, "a", 4, 9)), acquire(1, "b", 2, 3, 0)},
			[]harness.Op{acquire(0, "a", 0, 1, 0), info(release(0, "a", 3, 9)), acquire(1, "b", 2, 3, 0)}},
		{"mutex", []harness.Op{acquire(0, "a", 0, 1, 0), extend(0, "a", 2, 3, 6), acquire(1, "b", 4, 7, 5), acquire(2, "c", 9, 14, 5)},
			[]harness.Op{acquire(0, "a", 0, 1, 0), extend(0, "a", 2, 3, 6), acquire(1, "b", 4, 8, 5), acquire(2, "c", 9, 14, 5)}},
		{"mutex", []harness.Op{acquire(0, "a", 0, 1, 9), info(release(1, "a", 2, 3)), acquire(2, "c", 4, 5, 9)},
			[]harness.Op{acquire(0, "a", 0, 1, 9), info(release(0, "a", 2, 3)), acquire(2, "c", 4, 5, 9)}},
		{"mutex", []harness.Op{acquire(0, "a", 0, 1, 8), acquire(1, "b", 2, 9, 5), acquire(2, "c", 3, 6, 20)},
			[]harness.Op{acquire(0, "a", 0, 1, 8), acquire(1, "b", 2, 9, 5), acquire(2, "c", 3, 8, 20), release(2, "c", 9, 10)}},
		{"dedup", []harness.Op{claim(0, 0, 1, 10), claim(1, 2, 9, 10)}, []harness.Op{claim(0, 0, 1, 10), claim(1, 2, 10, 10)}},
		{"dedup", []harness.Op{claim(0, 0, 9, 4), claim(1, 1, 2, 9)}, []harness.Op{claim(0, 0, 9, 4), claim(1, 1, 4, 9)}},
		{"dedup, confirmed", []harness.Op{claim(0, 0, 1, 2), confirm(0, 2, 3, 10), claim(1, 4, 11, 2)},
			[]harness.Op{claim(0, 0, 1, 2), confirm(0, 2, 3, 10), claim(1, 3, 11, 2)}},
		{"sequence", []harness.Op{next(0, 0, 1, "2"), next(1, 0, 2, "2")}, []harness.Op{next(0, 0, 1, "2"), info(next(1, 0, 2, "2"))}},
		{"sequence", []harness.Op{next(0, 0, 1, "10"), next(1, 2, 3, "9")}, []harness.Op{next(0, 0, 1, "10"), next(1, 1, 3, "9")}},
		{"writes", []harness.Op{add(0, 1, 0, 1), info(add(1, 2, 0, 1)), read(2, 3, "2")}, []harness.Op{add(0, 1, 0, 2), info(add(1, 2, 0, 1)), read(2, 3, "2")}},
		{"writes", []harness.Op{fail(add(0, 1, 0, 1)), read(2, 3, "1")}, []harness.Op{info(add(0, 1, 0, 1)), read(2, 3, "1")}},
	} {
		p := propertyOf(tc.property)
		for i, ops := range [][]harness.Op{tc.bad, tc.good} {
			h := of(ops...)
			one := history{slices.SortedStableFunc(slices.Values(ops), func(a, b harness.Op) int { return int(a.Return - b.Return) }), h}
			require.Equal(t, i == 1, p.explained(one, false), "%v", one)
			require.Equal(t, i == 1, p.explained(one, true), "%v", one)
			g, _ := judge(t, p.checker, h)
			require.Equal(t, i == 1, g.Verdict != harness.Invalid, "%v: %v", one, g)
		}
	}
}

func propertyOf(name string) property {
	return properties[slices.IndexFunc(properties, func(p property) bool { return p.name == name })]
}
