package checkers

import (
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// endAfterConfirm returns the earliest end of the mark m if the confirm c is executed after it.
func endAfterConfirm(c, m harness.Op, drift float64) time.Duration {
	return harness.EarliestEnd(max(c.Call, m.Call), c.TTL, drift)
}

// mayFollow reports whether the confirm c may have been executed after the mark m was set.
func mayFollow(c, m harness.Op) bool {
	return c.Kind == harness.Confirm && c.Outcome != harness.Fail && (c.Outcome == harness.Info || c.Return >= m.Call)
}

// confirmsKept bounds the messages whose confirms are kept for later marks: once for ok confirms and once for those in
// info. Each takes about 300 bytes.
const confirmsKept = 1 << 13

// confirms holds the confirms that the server may execute after a mark still to come. A confirm in info may be executed
// at any later time, an ok one after any mark that was called before it returned.
type confirms struct {
	young, old, late map[string][]harness.Op

	// The shortest windows of the confirms that were dropped, and the last Return of the ok ones among them.
	droppedOK, droppedInfo time.Duration // 0: none was dropped
	droppedUntil           time.Duration
}

// add keeps c. Confirms come in order of Return.
func (all *confirms) add(c harness.Op, drift float64) {
	if c.Outcome == harness.Info {
		if len(all.late) >= confirmsKept && all.late[c.Key] == nil {
			all.droppedInfo = shortestWindow(all.droppedInfo, all.late, drift)
			all.late = nil
		}
		if all.late == nil {
			all.late = map[string][]harness.Op{}
		}
		all.late[c.Key] = withoutRedundant(all.late[c.Key], c)
		return
	}
	if len(all.young) >= confirmsKept && all.young[c.Key] == nil {
		all.droppedOK = shortestWindow(all.droppedOK, all.old, drift)
		for _, ofMessage := range all.old {
			all.droppedUntil = max(all.droppedUntil, ofMessage[len(ofMessage)-1].Return)
		}
		all.young, all.old = nil, all.young
	}
	if all.young == nil {
		all.young = map[string][]harness.Op{}
	}
	all.young[c.Key] = withoutRedundant(all.young[c.Key], c)
}

// withoutRedundant returns all, the confirms of one message, together with c, less those that are redundant. A confirm
// is redundant if another was called no later, returned no earlier and has no longer window.
func withoutRedundant(all []harness.Op, c harness.Op) []harness.Op {
	window := func(x harness.Op) time.Duration { return harness.EarliestEnd(0, x.TTL, 0) }
	kept := all[:0]
	for _, x := range all {
		if x.Outcome == harness.Info && x.Call <= c.Call && window(x) <= window(c) {
			return all
		}
		if c.Call > x.Call || window(c) > window(x) {
			kept = append(kept, x)
		}
	}
	return append(kept, c)
}

// shortestWindow returns the shortest window of these confirms, or n if that is shorter and not 0.
func shortestWindow(n time.Duration, byMessage map[string][]harness.Op, drift float64) time.Duration {
	for _, ofMessage := range byMessage {
		for _, c := range ofMessage {
			if w := max(1, harness.EarliestEnd(0, c.TTL, drift)); n == 0 || w < n {
				n = w
			}
		}
	}
	return n
}

// earliestEnd returns the earliest end of the mark m, given the confirms seen before it. dependsOnDropped says that a
// confirm which was dropped may have set this end.
func (all *confirms) earliestEnd(m harness.Op, drift float64) (end time.Duration, dependsOnDropped bool) {
	end = harness.EarliestEnd(m.Call, m.TTL, drift)
	for _, byMessage := range [...]map[string][]harness.Op{all.young, all.old, all.late} {
		if len(byMessage) == 0 {
			continue
		}
		for _, c := range byMessage[m.Key] {
			if mayFollow(c, m) {
				end = min(end, endAfterConfirm(c, m, drift))
			}
		}
	}
	dropped := all.droppedInfo
	if all.droppedOK > 0 && m.Call <= all.droppedUntil && (dropped == 0 || all.droppedOK < dropped) {
		dropped = all.droppedOK
	}
	if dropped > 0 && dropped < end-m.Call {
		return m.Call + dropped, true
	}
	return end, false
}

// suspected is a claim that earlier marks rule out, unless a confirm still under way has shortened these.
type suspected struct {
	claim       mark
	against     []mark // the first againstKept marks that rule it out
	moreAgainst bool   // there are more of these
}

// againstKept bounds the marks kept for one claim that they rule out. The first ones are kept.
const againstKept = 16

// noteConfirm applies the confirm c, which may have shortened marks before later claims were told "first".
func (p *dedupPass) noteConfirm(c harness.Op) {
	p.sawConfirm = true
	marks := p.marks[c.Key]
	for i := range marks {
		marks[i].shorten(c, p.meta.Drift)
	}
	for _, s := range p.suspects[c.Key] {
		s.claim.shorten(c, p.meta.Drift)
		for i := range s.against {
			s.against[i].shorten(c, p.meta.Drift)
		}
	}
	p.confirmed.add(c, p.meta.Drift)
}

// shorten applies the confirm c to m and to the marks that m continues.
func (m *mark) shorten(c harness.Op, drift float64) {
	m.ends = min(m.ends, endAfterConfirm(c, m.Op, drift))
	for _, earlier := range m.continued {
		earlier.shorten(c, drift)
	}
}

// keepSuspect keeps s until every confirm that was called in time has come.
func (p *dedupPass) keepSuspect(s *suspected) {
	if !p.awaitsConfirms {
		p.decide(s)
		return
	}
	if len(p.queue) == maxUndecided {
		p.unjudged++
		return
	}
	p.queue = append(p.queue, s)
	p.suspects[s.claim.Key] = append(p.suspects[s.claim.Key], s)
}

// decideBefore decides the claims that returned before low. No operation still to come was called before low.
func (p *dedupPass) decideBefore(low time.Duration) {
	n := 0
	for ; n < len(p.queue) && p.queue[n].claim.Return < low; n++ {
		s := p.queue[n]
		if p.suspects[s.claim.Key] = p.suspects[s.claim.Key][1:]; len(p.suspects[s.claim.Key]) == 0 {
			delete(p.suspects, s.claim.Key)
		}
		p.decide(s)
		p.queue[n] = nil
	}
	p.queue = p.queue[n:]
}

// decide reports the claim of s as a duplicate, if it is one.
func (p *dedupPass) decide(s *suspected) {
	for i := range s.against {
		if m := &s.against[i]; m.rulesOut(&s.claim) {
			p.duplicates++
			a := duplicateAnomaly(*m, &s.claim)
			a.Spans = append(m.span(0), s.claim.span(1)...)
			p.add(a)
			return
		}
	}
	if s.moreAgainst {
		p.unjudged++
		return
	}
	p.messages++
}

// end decides the remaining claims, and returns a doubt if the record stops too early for that. A history without
// confirms, where none was promised, counts as that of a filter without confirms.
func (p *dedupPass) end(complete bool) string {
	if complete || !p.sawConfirm && !p.promised {
		p.decideBefore(forever)
	}
	return doubtIf(len(p.queue) > 0, "the record stops before %d possible duplicates were decided", len(p.queue))
}
