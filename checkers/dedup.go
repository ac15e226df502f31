package checkers

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/units"
)

// Dedup returns the checker of message deduplication: within the window of a message, only one worker is told that it
// is new.
//
// An ok claim with the result [harness.ResultFirst] sets a mark on its Key. The mark is set between Call and Return,
// and it ends at Call + TTL*(1-Meta.Drift) at the earliest. A TTL of 0 has no end. Two such claims are a violation if
// each returned before the mark of the other can have ended: then they cannot both have been new, in whichever order
// the server executed them. If a claim was under way for longer than its window, its mark may have come and gone before
// the other claim was called. A claim that ended in info may or may not have set a mark.
//
// Where messages are confirmed, the TTL of a claim is its lease. Once the lease has ended, the message may be claimed
// again, until it is confirmed. An ok confirm C by any client certainly marks its Key from C.Return to C.Call +
// TTL*(1-Meta.Drift). A claim S that was answered "first" is a violation if it returned before that end and
//
//   - S was called after C had returned; or
//   - C continues the mark of a claim M, directly or through earlier confirms, and S cannot have come before M. A
//     confirm continues a mark that had not ended when the confirm returned. So the message was marked from M on.
//
// A confirm replaces the mark of its message, possibly by a shorter one. So any other confirm C of a Key may let a mark
// M of that Key end at max(C.Call, M.Call) + TTL*(1-Meta.Drift), with the TTL of C. A failed confirm does not count,
// nor does an ok confirm that had returned before M was called. A claim that meets a mark changes nothing, however late
// it is executed. Sources: soundness rules 2 and 3.
//
// A confirm that was called early enough may excuse a claim, even if it returns after the claim. So a claim is reported
// only when no confirm can excuse it any longer: once every worker has had a later operation, or at the end of the
// record. If the workloads promise kinds, but no confirms, a claim is reported at once. If the record stops before the
// run did, claims that still wait make the verdict Unknown, unless the record has no confirm and promises none.
//
// The checker relies on two promises of a run. If kinds are promised and confirms are not, nobody confirms. The
// harness, which is not one of the workers, never confirms. Histories that other programs recorded may break both
// promises: see [DedupConfirmed].
//
// If most claims were answered only when their window may have ended, the history shows nothing and the verdict is
// Unknown.
//
// Every further claim answered "first" is one violation, against the earliest claim or confirm in force. Messages are
// forgotten after their window. The time for a claim is amortised O(1) for each mark of its message that is in force. A
// filter that works has one mark in force. Memory is bounded by twice the marks in their window, the latest confirms of
// 16,384 messages and 4,096 undecided claims. The verdict is Unknown if more claims are undecided, or if confirms were
// dropped whose windows are shorter than the windows of later marks.
func Dedup() harness.Checker { return dedup{} }

// DedupConfirmed returns [Dedup] for a history that is known to hold confirms, whatever its workloads promise. The
// parameter byHarness says that [harness.HarnessClient] sent some of them. In that case a claim is reported only once
// the harness, too, has had a later operation.
func DedupConfirmed(byHarness bool) harness.Checker {
	return dedup{confirmed: true, byHarness: byHarness}
}

type dedup struct{ confirmed, byHarness bool }

func (dedup) Name() string { return "dedup" }

func (c dedup) Check(ctx context.Context, h harness.History, report func(harness.Anomaly)) harness.Judgement {
	p := newDedupPass(h, c, report)
	err := eachOp(ctx, h, p.op)
	undecidedDoubt := p.end(err == nil && isComplete(h))
	return p.judge(judgement{
		name: c.Name(), err: err, figures: p.figures(),
		valid: fmt.Sprintf("none of %s messages was new twice", units.Count(int64(p.messages))),
		absent: []string{noneSeen(p.claims, harness.Claim), doubtIf(p.messages+p.duplicates > 2*p.answeredInside,
			"only %d of %d claims were answered inside their window: it is too short for this load",
			p.answeredInside, p.messages+p.duplicates)},
		doubts: []string{undecidedDoubt, doubtIf(p.unjudged > 0, "%d claims were not judged: too many others waited, "+
			"or confirms with shorter windows were too many", p.unjudged)},
	})
}

func newDedupPass(h harness.History, c dedup, report func(harness.Anomaly)) *dedupPass {
	promised := c.confirmed || slices.Contains(h.Meta.Kinds, harness.Confirm)
	p := &dedupPass{tally: newTally(h, report), marks: map[string][]mark{}, promised: promised,
		suspects: map[string][]*suspected{}}
	p.awaitsConfirms = promised || len(h.Meta.Kinds) == 0
	if promised {
		p.watermark.workers = h.Meta.Workers
		p.watermark.awaitsHarness = c.byHarness
		p.watermark.widened = h.Meta.Widened
	}
	return p
}

// dedupPass is one pass over a history.
type dedupPass struct {
	*tally
	marks                map[string][]mark // claims and confirms in force, by message; each list is in order of Return
	sizeAfterSweep       int               // number of messages after the last sweep
	claims, confirms     int               // number of claims, and of ok confirms
	messages, duplicates int
	answeredInside       int // number of claims answered "first" within their window

	confirmed      confirms
	promised       bool // confirms are promised, or known to occur
	awaitsConfirms bool // a claim has to wait for confirms that may be under way
	sawConfirm     bool // a confirm that may have shortened marks was seen
	watermark      watermark
	queue          []*suspected // suspected claims in order of Return
	suspects       map[string][]*suspected
	unjudged       int
}

// mark is what is known of one mark on a message. It was set by an ok claim that was answered "first", or by an ok
// confirm.
type mark struct {
	harness.Op
	claim     *harness.Op   // the claim to which a confirm belongs, if it is still known
	ends      time.Duration // earliest end of the mark
	continued []*mark       // marks that a confirm continues: those in force when it returned
}

// continuedKept bounds mark.continued.
const continuedKept = 4

func (p *dedupPass) op(x harness.Op) {
	if p.watermark.note(x); p.watermark.low > 0 {
		p.decideBefore(p.watermark.low)
	}
	switch {
	case x.Kind == harness.Claim:
		p.claims++
		if x.Outcome == harness.OK && x.Result == harness.ResultFirst {
			p.judgeFirst(x)
		}
	case x.Kind == harness.Confirm && x.Outcome != harness.Fail:
		this := p.newMark(x)
		this.claim = p.claimOf(x)
		p.noteConfirm(x)
		if x.Outcome == harness.OK {
			p.confirms++
			this.continueMarks(p.marks[x.Key])
			p.addMark(p.marks[x.Key], this)
		}
	}
}

// judgeFirst judges x, a claim that was answered "first".
func (p *dedupPass) judgeFirst(x harness.Op) {
	this, marks := p.newMark(x), p.marks[x.Key]
	if x.Return < this.ends {
		p.answeredInside++
	}
	if s := ruledOut(marks, this); s != nil {
		p.keepSuspect(s)
	} else {
		p.messages++
	}
	p.addMark(marks, this)
}

// ruledOut compares the given claim with the marks of its message. If some of them forbid the answer "first", it
// returns the claim with these marks, else nil.
func ruledOut(marks []mark, this mark) (s *suspected) {
	for i := range marks {
		m := &marks[i]
		if !m.rulesOut(&this) {
			continue
		}
		if s == nil {
			s = &suspected{claim: this}
		}
		if len(s.against) == againstKept {
			s.moreAgainst = true
			break
		}
		s.against = append(s.against, *m)
	}
	return s
}

// rulesOut reports whether m forbids the answer "first" to the given claim. It does so if m was certainly set before
// the claim and cannot have ended when the claim returned.
func (m *mark) rulesOut(this *mark) bool {
	return m.ends > this.Return && m.evidenceBefore(this) != nil
}

// evidenceBefore lists marks which prove that the message was marked before the given claim was executed. They are m
// alone, or a chain that ends with m, as chainSince returns it. The result is nil if there is no proof. The caller has
// checked that m had not ended when the claim returned.
func (m *mark) evidenceBefore(this *mark) []*mark {
	if m.Kind == harness.Confirm && m.Return < this.Call {
		return []*mark{m}
	}
	return m.chainSince(this)
}

// chainSince returns a chain of marks that ends with m: the mark of a claim, followed by confirms, each of which
// continues the mark before it. The claim of the chain must have come before the given claim. chainSince returns nil if
// there is no such chain.
func (m *mark) chainSince(this *mark) []*mark {
	if m.Kind == harness.Claim && m.Return < this.ends {
		return []*mark{m}
	}
	for _, earlier := range m.continued {
		if m.Return >= earlier.ends {
			continue
		}
		if all := earlier.chainSince(this); all != nil {
			return append(all, m)
		}
	}
	return nil
}

// continueMarks records which marks the confirm m continues: those that had not ended when m returned. From the
// beginning of such a mark until m the message was marked, so no claim in between can have been answered "first".
func (m *mark) continueMarks(marks []mark) {
	for i := range marks {
		if earlier := marks[i]; earlier.ends > m.Return && len(m.continued) < continuedKept {
			m.continued = append(m.continued, &earlier)
		}
	}
}

// addMark adds m to the marks of its message. When their slice is full, it first drops those that may have ended.
func (p *dedupPass) addMark(marks []mark, m mark) {
	if len(marks) == cap(marks) {
		marks = withoutPast(marks, m.Return)
	}
	p.marks[m.Key] = append(marks, m)
	p.sweep(m.Return)
}

// withoutPast returns the given marks without those that may have ended by the time in the parameter now.
func withoutPast(marks []mark, now time.Duration) []mark {
	kept := 0
	for i := range marks {
		if marks[i].ends <= now {
			continue
		}
		if kept < i {
			marks[kept] = marks[i]
		}
		kept++
	}
	clear(marks[kept:])
	return marks[:kept]
}

// claimOf returns the claim that c confirms: the last claim of the same worker for that message. It returns nil if that
// is not known.
func (p *dedupPass) claimOf(c harness.Op) *harness.Op {
	worker := p.meta.Worker(c.Client)
	marks := p.marks[c.Key]
	for i := range slices.Backward(marks) {
		if marks[i].Kind == harness.Claim && p.meta.Worker(marks[i].Client) == worker {
			return new(marks[i].Op)
		}
	}
	return nil
}

// newMark returns the mark of x with its earliest end. If a confirm that was dropped to bound memory may have moved
// that end, x counts as not judged.
func (p *dedupPass) newMark(x harness.Op) mark {
	end, dependsOnDropped := p.confirmed.earliestEnd(x, p.meta.Drift)
	if dependsOnDropped {
		p.unjudged++
	}
	return mark{Op: x, ends: end}
}

// sweep drops the marks that have ended by the given time, but only if the number of messages has doubled since the
// last sweep. Later operations return no earlier than that time, so they cannot meet a dropped mark.
func (p *dedupPass) sweep(now time.Duration) {
	if len(p.marks) < 2*p.sizeAfterSweep+1024 {
		return
	}
	for key, marks := range p.marks {
		if len(marks) == 1 && marks[0].ends > now {
			continue
		}
		kept := withoutPast(marks, now)
		switch {
		case len(kept) == 0:
			delete(p.marks, key)
		case len(kept) < len(marks):
			p.marks[key] = kept
		}
	}
	p.sizeAfterSweep = len(p.marks)
}

// figures lists the counts. If a message is claimed again after its window, it counts as another message.
func (p *dedupPass) figures() []harness.Figure {
	out := []harness.Figure{figureMessages.Count(p.messages), figureDuplicates.Count(p.duplicates)}
	if p.messages > 0 {
		out = append(out, figureDuplicateRate.Of(1000*float64(p.duplicates)/float64(p.messages)))
	}
	if p.confirms > 0 {
		out = append(out, figureConfirms.Count(p.confirms))
	}
	return out
}

func duplicateAnomaly(first mark, this *mark) harness.Anomaly {
	second, shown := this.Op, first.evidenceBefore(this)
	a := harness.Anomaly{Class: harness.DuplicateDelivery, Key: first.Key, From: min(first.Call, second.Call),
		To: second.Return}
	for _, m := range shown {
		a.Ops, a.From = append(a.Ops, m.Op), min(a.From, m.Call)
	}
	a.Ops = append(a.Ops, second)
	if first.Kind == harness.Confirm {
		a.Note = fmt.Sprintf("%s was told at %s that %s is new, though %s had confirmed it at %s, for %s",
			clientName(second.Client), formatTime(second.Return), first.Key, clientName(first.Client),
			formatTime(first.Return), windowName(first.Op))
		if first.claim != nil && len(shown) == 1 {
			a.Ops = []harness.Op{*first.claim, first.Op, second}
			a.From = min(a.From, first.claim.Call)
		}
		return a
	}
	a.Note = fmt.Sprintf("%s and %s were both told that %s is new, at %s and at %s, inside its window of %s",
		clientName(first.Client), clientName(second.Client), first.Key, formatTime(first.Return),
		formatTime(second.Return), windowName(first.Op))
	return a
}

// span returns the time in which m certainly marks the message.
func (m *mark) span(owner int) []harness.Span {
	return certainSpan(harness.Span{Client: m.Client, Owner: owner, From: m.Return, To: m.ends,
		Until: harness.LeaseEnds})
}

func windowName(op harness.Op) string {
	if op.TTL == 0 {
		return "all time"
	}
	return op.TTL.String()
}
