package checkers

import (
	"fmt"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// setsAnew returns the earliest end that the mark m can have if the confirm c is executed after m.
func setsAnew(c, m harness.Op, drift float64) time.Duration {
	return harness.EarliestEnd(max(c.Call, m.Call), c.TTL, drift)
}

// mayFollow reports whether the confirm c may have been executed after the mark m was set.
func mayFollow(c, m harness.Op) bool {
	return c.Kind == harness.Confirm && c.Outcome != harness.Fail && (c.Outcome == harness.Info || c.Return >= m.Call)
}

// confirmsKept bounds the messages whose confirms are kept for marks still under way, once for confirms that were ok and once
// for those that ended in info. Each takes about 300 bytes.
const confirmsKept = 1 << 13

// confirms holds the confirms that may be executed after a mark that is still to come. A confirm that ended in info may be
// executed at any later time, an ok one after a mark that was called before it returned.
type confirms struct {
	young, old, late map[string][]harness.Op

	// The shortest windows of the confirms that were dropped, and the last Return of the ok ones among them.
	droppedOK, droppedInfo time.Duration // 0: none was dropped
	droppedUntil           time.Duration
}

// add keeps c, which comes in order of Return.
func (all *confirms) add(c harness.Op, drift float64) {
	if c.Outcome == harness.Info {
		if len(all.late) >= confirmsKept && all.late[c.Key] == nil {
			all.droppedInfo = shortestWindow(all.droppedInfo, all.late, drift)
			all.late = nil
		}
		if all.late == nil {
			all.late = map[string][]harness.Op{}
		}
		all.late[c.Key] = withoutNeedless(all.late[c.Key], c)
		return
	}
	if len(all.young) >= confirmsKept && all.young[c.Key] == nil {
		all.droppedOK = shortestWindow(all.droppedOK, all.old, drift)
		for _, of := range all.old {
			all.droppedUntil = max(all.droppedUntil, of[len(of)-1].Return)
		}
		all.young, all.old = nil, all.young
	}
	if all.young == nil {
		all.young = map[string][]harness.Op{}
	}
	all.young[c.Key] = withoutNeedless(all.young[c.Key], c)
}

// withoutNeedless returns the confirms of one message together with c, without needless ones. A confirm is needless if another was
// called no later, returned no earlier, and has no longer window.
func withoutNeedless(of []harness.Op, c harness.Op) []harness.Op {
	window := func(x harness.Op) time.Duration { return harness.EarliestEnd(0, x.TTL, 0) }
	kept := of[:0]
	for _, x := range of {
		if x.Outcome == harness.Info && x.Call <= c.Call && window(x) <= window(c) {
			return of
		}
		if c.Call > x.Call || window(c) > window(x) {
			kept = append(kept, x)
		}
	}
	return append(kept, c)
}

// shortestWindow returns the shortest window of those confirms, or n if that is smaller and not 0.
func shortestWindow(n time.Duration, of map[string][]harness.Op, drift float64) time.Duration {
	for _, cs := range of {
		for _, c := range cs {
			if w := max(1, harness.EarliestEnd(0, c.TTL, drift)); n == 0 || w < n {
				n = w
			}
		}
	}
	return n
}

// earliestEnd returns the earliest end of the mark m, given the confirms that have come before it. It is unsure if that depends on a
// confirm that was dropped.
func (all *confirms) earliestEnd(m harness.Op, drift float64) (end time.Duration, unsure bool) {
	end = harness.EarliestEnd(m.Call, m.TTL, drift)
	for _, from := range [...]map[string][]harness.Op{all.young, all.old, all.late} {
		if len(from) == 0 {
			continue
		}
		for _, c := range from[m.Key] {
			if mayFollow(c, m) {
				end = min(end, setsAnew(c, m, drift))
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

// suspected is a claim that marks rule out, unless a confirm that is still under way set these anew meanwhile.
type suspected struct {
	claim   mark
	against []mark // marks that rule it out, the first againstKept of them
	more    bool   // more marks rule it out
}

// againstKept bounds the marks that are kept for one claim which they rule out. The first ones are kept.
const againstKept = 16

// noteConfirm notes the confirm c, which may have set marks anew before claims were told "first".
func (p *dedupPass) noteConfirm(c harness.Op) {
	p.heeded = true
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

// shorten notes the confirm c, which may have set m anew, and the marks with which it goes on.
func (m *mark) shorten(c harness.Op, drift float64) {
	m.ends = min(m.ends, setsAnew(c, m.Op, drift))
	for _, b := range m.bases {
		b.shorten(c, drift)
	}
}

// keepSuspect keeps s until no confirm that was called in time can come any more.
func (p *dedupPass) keepSuspect(s *suspected) {
	if !p.waits {
		p.decide(s)
		return
	}
	if len(p.queue) == maxUndecided {
		p.unjudged++
		return
	}
	if p.suspects == nil {
		p.suspects = map[string][]*suspected{}
	}
	p.queue = append(p.queue, s)
	p.suspects[s.claim.Key] = append(p.suspects[s.claim.Key], s)
}

// decideBefore decides what returned before low, the time before which no operation to come was called.
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

// decide says whether the claim of s is a duplicate.
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
	if s.more {
		p.unjudged++
		return
	}
	p.messages++
}

// undecided returns a doubt if the record stops before it is known of each claim whether it is a duplicate. A history without any
// confirm, where none was promised, counts as that of a filter without confirms.
func (p *dedupPass) undecided(complete bool) string {
	if complete || !p.heeded && !p.promised {
		p.decideBefore(forever)
	}
	if len(p.queue) == 0 {
		return ""
	}
	return fmt.Sprintf("the record stops before %d possible duplicates were decided", len(p.queue))
}

// tooManyClaims returns a doubt if claims could not be judged for lack of room.
func (p *dedupPass) tooManyClaims() string {
	if p.unjudged == 0 {
		return ""
	}
	return fmt.Sprintf("%d claims were not judged: too many others waited, or confirms with shorter windows were too many", p.unjudged)
}
