package checkers

import (
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// filterServer is a dedup filter: a message is new while it is not marked. A window may end from Call + TTL*(1-drift)
// on. A confirm that may be executed after a mark was set may shorten that mark. Like the rule of Dedup, the server is
// more lenient than a real one: a confirm replaces only a mark that lasts beyond the confirm's Return. Any other
// confirm forbids the answer "first" only to claims that are called after it has returned.
type filterServer struct {
	marked    time.Duration // end of the mark
	confirmed []deed
}

func (s filterServer) do(d deed, at time.Duration) (world, bool) {
	switch {
	case d.Kind == harness.Confirm:
		switch {
		case d.Outcome != harness.OK:
		case s.marked > d.Return:
			s.marked = max(s.marked, d.ends) // the confirms that may follow have shortened it already
		case s.marked > at:
			return nil, false // it comes once that mark can have ended
		}
		s.confirmed = append(slices.Clip(s.confirmed), d)
		return s, true
	case slices.ContainsFunc(s.confirmed,
		func(c deed) bool { return (c.Return < d.Call || d.index < c.index) && d.Return < c.ends }):
		return s, d.optional // it may have been told "seen"
	case slices.ContainsFunc(s.confirmed, func(c deed) bool {
		return c.Outcome == harness.OK && d.index < c.index && c.Return < d.ends && at < c.ends
	}):
		return s, d.optional // the confirm comes after it, and then replaces the mark
	case s.marked > at:
		return s, d.optional
	}
	s.marked = d.ends
	return s, true
}

// filterExplained is the specification of Dedup. Any filter may tell a claim "seen".
func filterExplained(ops []harness.Op, meta harness.Meta, every bool) bool {
	deeds := deedsOf(ops, meta, func(x harness.Op) bool {
		return x.Outcome == harness.OK && (x.Kind == harness.Confirm || x.Result == harness.ResultFirst) ||
			x.Outcome == harness.Info && x.Kind == harness.Claim
	})
	for i := range deeds {
		d := &deeds[i]
		for j, c := range ops {
			if c.Kind != harness.Confirm || c.Outcome == harness.Fail || c.Outcome == harness.OK && c.Return < d.Call ||
				j == d.index {
				continue
			}
			d.ends = min(d.ends, max(d.Call, c.Call)+length(c.TTL, meta.Drift))
		}
	}
	return execution{deeds: deeds, every: every}.explains(filterServer{})
}
