package checkers

import (
	"maps"
	"math"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// These are the rules of the checkers as their doc comments state them, in the plainest way: every operation is
// compared with every other, at every instant. They share only the vocabulary with the checkers.

// counted holds the number of violations of each class in a history. Classes without any are not in it.
type counted map[harness.Class]int

func (c counted) add(class harness.Class, yes bool) {
	if yes {
		c[class]++
	}
}

const endless time.Duration = 1 << 50 // after everything in these histories

// length returns the shortest time that a lease or window may last. If clocks may be wrong, one that counts in
// milliseconds may end it up to a millisecond early.
func length(ttl time.Duration, drift float64) time.Duration {
	lacks := math.Ceil(float64(ttl) * drift)
	switch {
	case ttl == 0:
		return endless
	case drift > 0 && ttl >= time.Millisecond && lacks < float64(time.Millisecond):
		return ttl - time.Millisecond
	}
	return ttl - time.Duration(lacks)
}

// longest returns the longest time that a server may keep a lease or window. A server keeps it until its last
// millisecond has passed.
func longest(ttl time.Duration, drift float64) time.Duration {
	if ttl == 0 {
		return endless
	}
	if ttl < time.Millisecond {
		return time.Duration(math.Ceil(float64(ttl) * (1 + drift)))
	}
	return time.Duration(math.Ceil(float64(ttl+time.Millisecond)*(1+drift))) - 1
}

func sameOwner(a, b harness.Op, meta harness.Meta) bool {
	return a.Arg == b.Arg && meta.Worker(a.Client) == meta.Worker(b.Client)
}

// byKey lists the operations of each key, in their order.
func byKey(ops []harness.Op) map[string][]harness.Op {
	out := map[string][]harness.Op{}
	for _, x := range ops {
		out[x.Key] = append(out[x.Key], x)
	}
	return out
}

// perKey judges each key separately.
func perKey(rule func(ops []harness.Op, meta harness.Meta, c counted)) func([]harness.Op, harness.Meta) counted {
	return func(ops []harness.Op, meta harness.Meta) counted {
		c := counted{}
		for _, of := range byKey(ops) {
			rule(of, meta, c)
		}
		return c
	}
}

// exclusive is the rule of Mutex: two holds of different owners are a violation if each was granted before the other
// can have ended. A renewed hold counts from its first grant if each renewal came in time.
func exclusive(ops []harness.Op, meta harness.Meta, c counted) {
	ends, since := make([]time.Duration, len(ops)), make([]time.Duration, len(ops))
	for i, x := range ops {
		ends[i], since[i] = holdEnd(ops, i, meta), x.Return
		for j, y := range ops[:i] {
			if sameOwner(x, y, meta) && ends[j] > x.Return {
				since[i] = min(since[i], since[j])
			}
		}
	}
	for j, b := range ops {
		class := harness.DoubleGrant
		if b.Kind == harness.Extend {
			class = extended
		}
		overlaps := false
		for i, a := range ops[:j] {
			overlaps = overlaps || ends[i] >= 0 && !sameOwner(a, b, meta) && b.Return < ends[i] && since[i] < ends[j]
		}
		c.add(class, ends[j] >= 0 && overlaps)
	}
}

// extended counts extends that overlap an earlier hold. Each is a double grant, unless its owner was part of one
// already. Rules do not look at that, so their number is an upper bound.
const extended harness.Class = "extended"

// same reports whether a checker counted as its rule does.
func (c counted) same(got counted) bool {
	if c[extended] == 0 {
		return maps.Equal(c, got)
	}
	n := got[harness.DoubleGrant]
	return len(got) == 1 && n >= max(1, c[harness.DoubleGrant]) && n <= c[harness.DoubleGrant]+c[extended]
}

// holdEnd returns the earliest end of the hold of ops[i], or -1 if it was granted nothing.
func holdEnd(ops []harness.Op, i int, meta harness.Meta) time.Duration {
	a := ops[i]
	if a.Outcome != harness.OK || a.Kind != harness.Acquire && a.Kind != harness.Extend {
		return -1
	}
	end := endless
	for j, x := range ops {
		if !sameOwner(x, a, meta) || x.Outcome == harness.Fail && x.Kind != harness.Release || j < i &&
			x.Outcome != harness.Info {
			continue // another owner, or x had no effect after a
		}
		at := max(a.Call, x.Call) // the earliest instant of x after a
		if x.Kind != harness.Release {
			left := at + length(x.TTL, meta.Drift)
			if x.Until > 0 {
				left = min(left, x.Until)
			}
			at = max(at, left)
		}
		end = min(end, at)
	}
	return end
}

// tenureEnd returns the earliest end of the hold of ops[i], including renewals that returned in time.
func tenureEnd(ops []harness.Op, i int, meta harness.Meta) time.Duration {
	end := holdEnd(ops, i, meta)
	until := end
	for j := i + 1; j < len(ops); j++ {
		if sameOwner(ops[i], ops[j], meta) && holdEnd(ops, j, meta) >= 0 && ops[j].Return < end {
			until = max(until, tenureEnd(ops, j, meta))
		}
	}
	return until
}

// duplicated is the rule of Dedup.
func duplicated(ops []harness.Op, meta harness.Meta, c counted) {
	end := func(x harness.Op) time.Duration {
		end := x.Call + length(x.TTL, meta.Drift)
		for _, c := range ops {
			after := c.Kind == harness.Confirm && (c.Outcome == harness.Info || c.Outcome == harness.OK &&
				c.Return >= x.Call)
			if left := max(c.Call, x.Call) + length(c.TTL, meta.Drift); after && left < end {
				end = left // its own confirm does not shorten it
			}
		}
		return end
	}
	marks := func(m harness.Op) bool {
		return isFirstClaim(m) || m.Kind == harness.Confirm && m.Outcome == harness.OK
	}
	var goesOn func(i int, s harness.Op) bool // ops[i] continues a mark that came before s
	goesOn = func(i int, s harness.Op) bool {
		for j, b := range ops[:i] {
			if marks(b) && ops[i].Return < end(b) &&
				(isFirstClaim(b) && b.Return < end(s) || b.Kind == harness.Confirm && goesOn(j, s)) {
				return true
			}
		}
		return false
	}
	for j, s := range ops {
		twice := false
		for i, m := range ops[:j] {
			before := isFirstClaim(m) && m.Return < end(s) || m.Kind == harness.Confirm &&
				(m.Return < s.Call || goesOn(i, s))
			twice = twice || isFirstClaim(s) && marks(m) && s.Return < end(m) && before
		}
		c.add(harness.DuplicateDelivery, twice)
	}
}

func bigOf(s string) *big.Int {
	n, ok := new(big.Int).SetString(s, 10)
	if !ok {
		return nil
	}
	return n
}

// numbered is the rule of Sequence.
func numbered(ops []harness.Op, _ harness.Meta, c counted) {
	ops = slices.DeleteFunc(slices.Clone(ops), func(x harness.Op) bool { return x.Kind != harness.Next })
	for j, b := range ops {
		twice, back := false, false
		for i, a := range ops {
			if a.Outcome != harness.OK || b.Outcome != harness.OK {
				continue
			}
			twice = twice || i < j && bigOf(a.Result).Cmp(bigOf(b.Result)) == 0
			back = back || a.Return < b.Call && bigOf(a.Result).Cmp(bigOf(b.Result)) > 0
		}
		c.add(harness.DuplicateNumber, twice)
		c.add(harness.Regression, back)
	}
}

// fenced is the rule of Fence. A grant that was called before another one returned, and returned before that one can
// have ended, came first, so its token must not be larger. Two owners must not get the same token, in either order.
func fenced(ops []harness.Op, meta harness.Meta, c counted) {
	for j, b := range ops {
		kept, wrong := holdEnd(ops[:j+1], j, meta), false
		for i, a := range ops {
			x, y := bigOf(a.Result), bigOf(b.Result)
			if a.Kind != harness.Acquire || b.Kind != harness.Acquire || a.Outcome != harness.OK ||
				b.Outcome != harness.OK || x == nil || y == nil {
				continue
			}
			first := a.Return < b.Call || a.Return < b.Return && a.Return < kept
			still := !meta.Widened && a.Call <= b.Return && b.Return <= a.Return &&
				a.Return < tenureEnd(ops, j, meta) && !sameOwner(a, b, meta)
			wrong = wrong || (first || still) && y.Cmp(x) < 0 || (first || i < j) && y.Cmp(x) == 0 &&
				!sameOwner(a, b, meta)
		}
		c.add(harness.FenceRegression, wrong)
	}
}

// jammed is the rule of Stuck.
func jammed(ops []harness.Op, meta harness.Meta, c counted) {
	takes := func(x harness.Op) bool {
		return (x.Kind == harness.Acquire || x.Kind == harness.Extend) && x.Outcome != harness.Fail
	}
	for i, p := range ops {
		if p.Client != harness.HarnessClient || p.Kind != harness.Acquire || p.Outcome != harness.Fail || p.Err != "" &&
			p.Err != "held" {
			continue
		}
		before := slices.DeleteFunc(slices.Clone(ops[:i]), func(x harness.Op) bool { return !takes(x) })
		early := slices.ContainsFunc(before,
			func(x harness.Op) bool { return p.Call <= x.Return+longest(x.TTL, meta.Drift) })
		undone := slices.ContainsFunc(ops[i+1:], func(x harness.Op) bool {
			return takes(x) && (x.Outcome == harness.OK || x.Client != harness.HarnessClient && x.Call <= p.Return)
		})
		if len(before) > 0 && !early && !undone {
			c[harness.StuckLock]++
			return // once for each lock
		}
	}
}

// left is the rule of Delivery.
func left(ops []harness.Op, meta harness.Meta, c counted) {
	var lost, immortal bool
	for i, p := range ops {
		if p.Client != harness.HarnessClient || p.Outcome != harness.OK {
			continue
		}
		asked := p.Kind == harness.Claim && p.Result == harness.ResultSeen
		looked := p.Kind == harness.Inspect && p.Result != "" && p.TTL == 0
		if !asked && !looked {
			continue
		}
		var fresh, freshInTime bool // it was told to be new later, and while a mark may have been left
		for j, x := range ops[i+1:] {
			fresh = fresh || isFirstClaim(x)
			freshInTime = freshInTime || isFirstClaim(x) && x.Call <= marksBefore(ops[:i+1+j], meta).over
		}
		meanwhile := slices.ContainsFunc(ops[i+1:], func(x harness.Op) bool {
			return (x.Kind == harness.Claim || x.Kind == harness.Confirm) && x.Outcome != harness.Fail &&
				x.Client != harness.HarnessClient && x.Call <= p.Return
		})
		if meanwhile {
			continue
		}
		m := marksBefore(ops[:i], meta)
		lost = lost || asked && !freshInTime && (m.owed || m.refused && !m.any) && !m.unanswered && !m.probed &&
			!delivered(ops) &&
			(!slices.Contains(meta.Kinds, harness.Confirm) || p.Call > m.over)
		immortal = immortal || !fresh && m.any && m.over < endless && (looked || p.Call > m.over)
	}
	c.add(harness.LostMessage, lost)
	c.add(harness.ImmortalMark, immortal)
}

func isFirstClaim(x harness.Op) bool {
	return x.Kind == harness.Claim && x.Outcome == harness.OK && x.Result == harness.ResultFirst
}

func delivered(ops []harness.Op) bool {
	return slices.ContainsFunc(ops, func(x harness.Op) bool {
		return x.Kind == harness.Deliver &&
			x.Outcome != harness.Fail
	})
}

// knownMarks holds what the claims and confirms before a probe of one message show.
type knownMarks struct {
	over       time.Duration // the latest end of all windows
	any        bool          // a claim or confirm may have marked the message
	owed       bool          // a claim obliged its client to deliver the message
	refused    bool          // a client was told "seen"
	unanswered bool          // a client's claim may have marked the message and lost its answer
	probed     bool          // a probe, or anybody since the first probe, may have marked the message
}

func marksBefore(ops []harness.Op, meta harness.Meta) (m knownMarks) {
	asked := false
	for _, x := range ops {
		ours := x.Client == harness.HarnessClient
		asked = asked || ours && x.Kind == harness.Claim
		if x.Outcome == harness.Fail || x.Kind != harness.Claim && x.Kind != harness.Confirm {
			continue
		}
		m.over = max(m.over, x.Return+longest(x.TTL, meta.Drift))
		if x.Kind == harness.Claim && x.Outcome == harness.OK && x.Result != harness.ResultFirst {
			m.refused = m.refused || !ours
			continue
		}
		m.any = true
		if x.Kind != harness.Claim {
			continue
		}
		told := isFirstClaim(x) || x.Err == "crashed" || x.Err == "too few acknowledgements" || x.Err == "ERR"
		m.owed = m.owed || told && !ours
		m.unanswered = m.unanswered || !told && !ours
		m.probed = m.probed || ours || asked && isFirstClaim(x)
	}
	return m
}

// writesRule is the rule of Writes. It counts single writes, where the checker reports them in runs.
func writesRule(ops []harness.Op, _ harness.Meta, c counted) {
	var last *harness.Op
	for _, x := range ops {
		if x.Kind == harness.Read && x.Client == harness.HarnessClient && x.Outcome == harness.OK {
			last = &x
		}
	}
	if last == nil {
		return
	}
	for _, x := range ops {
		there := slices.Contains(strings.Split(last.Result, ","), x.Arg)
		c.add(harness.LostWrite, x.Kind == harness.Add && x.Outcome == harness.OK && !there && x.Return < last.Call)
		c.add(harness.UnexpectedWrite, x.Kind == harness.Add && x.Outcome == harness.Fail && there)
	}
}

// overdue is the rule of Holders, for each lock with what it guards.
func overdue(ops []harness.Op, meta harness.Meta) counted {
	return perKey(staleWrites)(withTheirLocks(ops), meta)
}

// withTheirLocks returns ops with writes to guarded resources moved to the key of their lock.
func withTheirLocks(ops []harness.Op) []harness.Op {
	ops = slices.Clone(ops)
	for i := range ops {
		ops[i].Key = strings.TrimSuffix(ops[i].Key, ":resource")
	}
	return ops
}
