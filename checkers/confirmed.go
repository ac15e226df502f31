package checkers

import (
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// endAfterConfirm returns the earliest end of the mark m if the server executes the confirm c after it has set m.
func endAfterConfirm(c, m harness.Op, drift float64) time.Duration {
	return harness.EarliestEnd(max(c.Call, m.Call), c.TTL, drift)
}

// mayFollow reports whether c is a confirm that the server may have executed after it set the mark m.
func mayFollow(c, m harness.Op) bool {
	return c.Kind == harness.Confirm && c.Outcome != harness.Fail && (c.Outcome == harness.Info || c.Return >= m.Call)
}

// confirmsKept bounds the messages in each map of the type confirms, at about 300 bytes a message.
const confirmsKept = 1 << 13

// confirms holds, by message, the confirms that may shorten marks which come later in the history. The server may
// execute a confirm in info at any time after its Call. It may execute an ok confirm after it has set a mark, unless
// the Call of the mark is after the confirm's Return.
type confirms struct {
	young, old map[string][]harness.Op // ok confirms in two generations; when the young one is full, the old is dropped
	late       map[string][]harness.Op // confirms in info

	// What is known of the confirms that were dropped to bound memory.
	droppedOK, droppedInfo time.Duration // the shortest window of those that were ok, and of those in info; 0: none
	droppedUntil           time.Duration // the last Return of dropped confirms that were ok
}

// add keeps the confirm c for later marks. Confirms have to be added in order of Return.
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

// withoutRedundant adds the confirm c to the confirms of one message, and leaves out those that c or another one makes
// redundant. A confirm is redundant if another confirm was called no later, returned no earlier, and has the same or a
// shorter window.
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

// shortestWindow returns the shortest of the window n and the windows of these confirms. If n is 0, no window was known
// before.
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

// earliestEnd returns the earliest end of the mark m. Any confirm that came before m in the history may have shortened
// m. If the shortest end would be due to a confirm that was dropped to bound memory, dependsOnDropped is true. In that
// case the end is m.Call plus the shortest window that was dropped.
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

// suspected is a claim that was answered "first" although earlier marks forbid that answer. It is not reported at once:
// a confirm that has not returned yet may have shortened these marks.
type suspected struct {
	claim       mark
	against     []mark // the marks that forbid the claim, the earliest againstKept of them
	moreAgainst bool   // there are more marks that forbid the claim than the field against has
}

// againstKept bounds suspected.against.
const againstKept = 16

// noteConfirm lets the confirm c shorten the marks of its message to the end that c may have given them. The marks that
// suspected claims of the message keep are shortened, too, so c may excuse such a claim.
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

// shorten lowers the earliest end of m to the end that the confirm c may have given it. It also lowers the ends of the
// marks that m continues.
func (m *mark) shorten(c harness.Op, drift float64) {
	m.ends = min(m.ends, endAfterConfirm(c, m.Op, drift))
	for _, earlier := range m.continued {
		earlier.shorten(c, drift)
	}
}

// keepSuspect puts s into the queue, where s waits until no further confirm can excuse its claim. If the checker
// expects no confirms, it decides s at once. If the queue is full, the claim counts as not judged.
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

// decideBefore decides the suspected claims that returned before the time in the parameter low. No later operation is
// called before that time, so no later confirm can excuse these claims.
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

// decide reports the claim of s as a duplicate if a mark in s.against still forbids the answer "first". If none does,
// but s.against had no room for some marks that forbade it, the claim counts as not judged.
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

// end decides the suspected claims that remain. If the record stops early and may lack a confirm that excuses such a
// claim, end returns a reason for Unknown instead. A record may lack a confirm if it has confirms, or if confirms were
// promised.
func (p *dedupPass) end(complete bool) string {
	if complete || !p.sawConfirm && !p.promised {
		p.decideBefore(forever)
	}
	return doubtIf(len(p.queue) > 0, "the record stops before %d possible duplicates were decided", len(p.queue))
}
