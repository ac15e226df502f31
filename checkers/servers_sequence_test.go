package checkers

import (
	"math/big"
	"slices"
	"strconv"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// counter is a sequence: the last number that it returned. It may skip numbers.
type counter int

func (last counter) do(d deed, _ time.Duration) (world, bool) {
	if d.optional {
		return last + 1, true
	}
	n, err := strconv.Atoi(d.Result)
	return counter(n), err == nil && counter(n) > last
}

// counterExplained is the specification of Sequence.
func counterExplained(ops []harness.Op, meta harness.Meta, every bool) bool {
	deeds := deedsOf(ops, meta, func(x harness.Op) bool { return x.Outcome != harness.Fail })
	return execution{deeds: deeds, every: every}.explains(counter(-1))
}

// storedServer is what is stored for a sequence: it never goes back, unless the sequence ends. Like the rule of Stored,
// it is more lenient than a real one:
//
//   - the sequence may end at any time from its earliest end on. Each Next may have begun it anew, at its Call or after
//     the last inspection;
//   - a Next may set the TTL after it has drawn the number: until its Return, or at any later time if it is in info;
//   - numbers need not be stored while a Next is under way for longer than its TTL. What an inspection lacks then, the
//     next ones may lack as well;
//   - any drawn number may be stored, also one that is larger than all that are known to be drawn.
type storedServer struct {
	facts   map[int]lookFacts // by index of the inspection
	least   *big.Int          // the least that is stored, as inspections have shown
	issued  *big.Int          // the largest that Nexts have returned
	behind  bool              // the last inspection showed less than issued, which was not judged
	ends    time.Duration
	limited bool          // it had a TTL at the last inspection
	seen    time.Duration // the Call of the last inspection
	last    int           // the index of the last inspection
	// nothing is the Return of the last inspection that found nothing of a sequence with a TTL, or -1. Numbers called
	// by then may have been drawn before.
	nothing time.Duration
	drawn   []deed
}

// lookFacts describes an inspection with what the whole history says about it.
type lookFacts struct {
	mortal bool // the sequence had been seen to have a TTL
	// slow says that a Next was under way that had been called a whole TTL before. Then nothing is said about numbers
	// that are not stored.
	slow bool
}

func (s storedServer) do(d deed, at time.Duration) (world, bool) {
	n := bigOf(d.Result)
	if d.Kind == harness.Next {
		from := s.seen
		if d.index > s.last {
			from = max(d.Call, s.seen)
		}
		s.ends = min(s.ends, from+d.length)
		s.drawn = append(slices.Clip(s.drawn), d)
		if d.Outcome == harness.OK && d.Call > s.nothing && n.Cmp(s.issued) > 0 {
			s.issued = n
		}
		return s, true
	}
	if n == nil {
		n = big.NewInt(-1)
	}
	lacks := n.Cmp(s.issued) < 0 && s.issued.Cmp(s.least) > 0
	excused := lacks && (s.behind || s.facts[d.index].slow)
	there := d.Result != ""
	ended := at >= s.ends
	if !ended && (n.Cmp(s.least) < 0 || lacks && !excused || there && d.TTL == 0 && s.limited) {
		return nil, false
	}
	if s.behind = excused; !excused {
		s.issued = n
	}
	s.least, s.limited, s.seen, s.last, s.ends = n, d.TTL > 0, d.Call, d.index, endless
	if there {
		s.ends = d.Call + d.length
	} else if s.facts[d.index].mortal {
		s.nothing = d.Return
	}
	for _, x := range s.drawn {
		switch {
		case x.index > d.index: // it was still under way
			s.ends = min(s.ends, max(x.Call, d.Call)+x.length)
		case x.Outcome == harness.Info || x.Return >= d.Call:
			s.ends = min(s.ends, d.Call+x.length)
		}
	}
	return s, true
}

// storedExplained is the specification of Stored.
func storedExplained(ops []harness.Op, meta harness.Meta, every bool) bool {
	facts, mortal := map[int]lookFacts{}, false
	deeds := deedsOf(ops, meta, func(x harness.Op) bool {
		return x.Kind == harness.Next && x.Outcome != harness.Fail || x.Kind == harness.Inspect &&
			x.Outcome == harness.OK
	})
	for i, d := range deeds {
		mortal = mortal || d.TTL > 0
		facts[d.index] = lookFacts{mortal: mortal, slow: slices.ContainsFunc(deeds[i:], func(y deed) bool {
			return y.Kind == harness.Next && y.TTL > 0 && y.Call+y.length <= d.Return
		})}
	}
	none := big.NewInt(-1)
	return execution{deeds: deeds, every: every}.explains(storedServer{facts: facts, least: none, issued: none,
		ends: endless, last: -1, nothing: -1})
}
