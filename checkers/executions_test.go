package checkers

import (
	"slices"
	"testing"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// Brute force decides whether any execution explains a short history. It shares only the vocabulary with the checkers,
// their rules and porcupine. A specification is a plain server that does one thing after the other, and every order is
// tried.

// deed is the effect of one operation on the server. It happens at one instant in [from, to]. An optional deed may
// never happen.
type deed struct {
	harness.Op
	index    int // index of the operation in the history
	worker   int
	from, to time.Duration
	optional bool
	length   time.Duration // the shortest length of the lease or window that it asks for
	ends     time.Duration // the earliest end of the lease or window that it begins
	lasts    time.Duration // the latest end of that lease or window, if it began by Return
	passed   []deed        // for an extend: grants to others, since its owner's last grant, that have ended
	owner    guard         // for a write: the owner that writes
	nested   bool          // for a release: its owner acquired more than once
	kept     time.Duration // what ends was known to be when the operation returned
}

// world is a server in some state. It is never changed in place.
type world interface {
	// do returns the server after it executed d at that instant, or false if it would have answered differently.
	do(d deed, at time.Duration) (world, bool)
}

// execution searches for an order in which the server can have done the deeds, which are the effects of operations.
type execution struct {
	deeds []deed
	end   time.Duration // after everything that has to happen
	every bool          // try every instant for each deed, not only the first at which it can happen
}

// explains reports whether some execution, beginning with w, does all deeds that are not optional, each within its
// time.
func (e execution) explains(w world) bool {
	for _, d := range e.deeds {
		if !d.optional {
			e.end = max(e.end, d.to+1)
		}
	}
	return e.goOn(w, 0, make([]bool, len(e.deeds)))
}

// goOn tries each deed that is left as the next one, at the time now or later. Deeds of one instant may happen in any
// order, even those of one worker. Unless e.every is set, a deed is tried only at the first instant at which it can
// happen: a later one leaves less time for the others.
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

// deedsOf returns the deeds, the effects on the server, of those ops for which does returns true. ops are in order of
// Return. Ok operations happened between Call and Return, the others at any time after Call, or never.
func deedsOf(ops []harness.Op, meta harness.Meta, does func(harness.Op) bool) (out []deed) {
	for i, x := range ops {
		if !does(x) {
			continue
		}
		d := deed{Op: x, index: i, worker: meta.Worker(x.Client), from: x.Call, to: x.Return,
			length: length(x.TTL, meta.Drift)}
		d.ends, d.lasts = d.Call+d.length, d.Return+longest(d.TTL, meta.Drift)
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

// lastly adds a deed of no kind after all others. A server can do it only if it may end in the state that it has by
// then.
func lastly(deeds []deed) []deed {
	var end time.Duration
	for _, d := range deeds {
		end = max(end, d.Return+1)
	}
	return append(deeds, deed{from: end, to: end})
}

// differs reports whether brute force and c disagree on one of limit random histories.
func (p property) differs(t *testing.T, c harness.Checker, limit int) bool {
	for seed := range limit {
		one := p.small(seeded(uint64(seed)))
		if g, _ := judge(t, c, one.h); p.objects(one, g) == p.explained(one, false) {
			return true
		}
	}
	return false
}

func propertyOf(name string) property {
	return properties[slices.IndexFunc(properties, func(p property) bool { return p.name == name })]
}
