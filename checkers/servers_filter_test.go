package checkers

import (
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// filterServer is a dedup filter: a message is new while it is not marked. A window may end from Call + TTL*(1-drift) on. A confirm
// that may have been executed after the mark sets a window of its own, which may end as early, and it may be executed again and
// again. It differs from a real one in what the rule of Dedup leaves open: a confirm sets the mark anew only if that is in force beyond its Return, and
// is executed after a claim whose mark is. Any other forbids only claims that are called after it has returned, and does so until they return: claims
// that were under way then, and are answered later, may be told "first".
type filterServer struct {
	marked    time.Duration // until when
	confirmed []deed
}

func (s filterServer) do(d deed, at time.Duration) (world, bool) {
	switch {
	case d.Kind == harness.Confirm:
		switch {
		case d.Outcome != harness.OK:
		case s.marked > d.Return:
			s.marked = max(s.marked, d.ends) // what may follow a mark has shortened it already
		case s.marked > at:
			return nil, false // it comes when that mark can be gone
		}
		s.confirmed = append(slices.Clip(s.confirmed), d)
		return s, true
	case slices.ContainsFunc(s.confirmed, func(c deed) bool { return (c.Return < d.Call || d.index < c.index) && d.Return < c.ends }):
		return s, d.optional // it may have been told "seen"
	case slices.ContainsFunc(s.confirmed, func(c deed) bool {
		return c.Outcome == harness.OK && d.index < c.index && c.Return < d.ends && at < c.ends
	}):
		return s, d.optional // the confirm comes after it: then it sets the mark anew
	case s.marked > at:
		return s, d.optional
	}
	s.marked = d.ends
	return s, true
}

// filterExplained is the specification of Dedup. A claim that was told "seen" may have been told so by any filter.
func filterExplained(ops []harness.Op, meta harness.Meta, every bool) bool {
	deeds := deedsOf(ops, meta, func(x harness.Op) bool {
		return x.Outcome == harness.OK && (x.Kind == harness.Confirm || x.Result == harness.ResultFirst) ||
			x.Outcome == harness.Info && x.Kind == harness.Claim
	})
	for i := range deeds {
		d := &deeds[i]
		for j, c := range ops {
			if c.Kind != harness.Confirm || c.Outcome == harness.Fail || c.Outcome == harness.OK && c.Return < d.Call || j == d.index {
				continue
			}
			d.ends = min(d.ends, max(d.Call, c.Call)+length(c.TTL, meta.Drift))
		}
	}
	return execution{deeds: deeds, every: every}.explains(filterServer{})
}
