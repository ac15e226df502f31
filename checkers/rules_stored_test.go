package checkers

import (
	"math/big"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// kept is the rule of Stored. If a sequence may have ended by the time of an inspection, the operations before are
// ignored.
func kept(ops []harness.Op, meta harness.Meta, c counted) {
	num := func(s string) *big.Int {
		if s == "" {
			return big.NewInt(-1)
		}
		return bigOf(s)
	}
	start, last, behind := 0, -1, false
	ended, empty, mortal := time.Duration(-1), time.Duration(-1), false
	for i, x := range ops {
		ours := x.Kind == harness.Next && x.Outcome != harness.Fail || x.Kind == harness.Inspect &&
			x.Outcome == harness.OK
		mortal = mortal || ours && x.TTL > 0
		if x.Kind != harness.Inspect || x.Outcome != harness.OK {
			continue
		}
		if x.Return >= mayEnd(ops, max(start, last), i, meta) {
			start, last, behind = i, -1, false
			ended = x.Return
		}
		explained := func(begun time.Duration) bool { // by a Next that was under way and began the sequence no earlier
			return slices.ContainsFunc(ops[i+1:], func(y harness.Op) bool {
				return y.Kind == harness.Next && y.Outcome != harness.Fail && y.TTL > 0 &&
					max(begun, y.Call)+length(y.TTL, meta.Drift) <= x.Return
			})
		}
		if last >= 0 && ops[last].Return < x.Call && !explained(ops[last].Call) {
			c.add(harness.SequenceRestart, num(x.Result).Cmp(num(ops[last].Result)) < 0)
			c.add(harness.TTLLost, x.Result != "" && x.TTL == 0 && ops[last].TTL > 0)
		}
		now := false
		for _, n := range ops[start:i] {
			if n.Kind == harness.Next && n.Outcome == harness.OK && n.Call > ended &&
				!(n.TTL > 0 && n.Call+length(n.TTL, meta.Drift) <= empty) && n.Return < x.Call &&
				num(n.Result).Cmp(num(x.Result)) > 0 {
				now = now || !slices.ContainsFunc(ops[start:i], func(s harness.Op) bool {
					return s.Kind == harness.Inspect && s.Outcome == harness.OK && num(s.Result).Cmp(num(n.Result)) >= 0
				})
			}
		}
		c.add(harness.ReturnedNotStored, now && !behind && !explained(0))
		last, behind = i, now
		if x.Result == "" {
			empty = x.Return
			if mortal {
				ended = x.Return
			}
		}
	}
}

// mayEnd returns the earliest end of the sequence, as far as the inspection ops[i] may have met it. The TTL that the
// inspection ops[last] showed counts, and the TTL of each Next that may have set it since.
func mayEnd(ops []harness.Op, last, i int, meta harness.Meta) time.Duration {
	j, end := ops[last], endless
	looked := j.Kind == harness.Inspect && j.Outcome == harness.OK
	for k, x := range ops[:i] {
		switch {
		case x.Kind != harness.Next || x.Outcome == harness.Fail:
		case k >= last && looked:
			end = min(end, max(x.Call, j.Call)+length(x.TTL, meta.Drift))
		case k >= last:
			end = min(end, x.Call+length(x.TTL, meta.Drift))
		case looked && (x.Outcome == harness.Info || x.Return >= j.Call):
			end = min(end, j.Call+length(x.TTL, meta.Drift))
		}
	}
	switch {
	case !looked || j.Result == "":
		return end
	case j.TTL == time.Millisecond: // or less
		return min(end, j.Call)
	}
	return min(end, j.Call+length(j.TTL, meta.Drift))
}
