package checkers

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/units"
)

// Dedup returns the checker of message deduplication: inside the window of a message one worker is told that it is new.
//
// An ok claim with the result [harness.ResultFirst] marks its Key from some time in [Call, Return] until
// Call + TTL*(1-Meta.Drift) at least; TTL 0 marks it for ever. Two of them, F and S, are a violation if S returned before
// F's mark could be gone and F returned before S's could: neither order explains both. The second condition matters only for
// a claim that was under way for longer than its window, whose mark may have come and gone before F was called. Claims that
// ended in info may or may not have marked.
//
// Where messages are confirmed, the TTL of a claim is its lease, and claims after that are legitimate until one is
// confirmed. An ok confirm C marks its Key on [C.Return, C.Call + TTL*(1-Meta.Drift)] for certain, whoever sent it; S
// is a violation if it was called after C had returned and returned before that end. So it is, though it was called
// before, if C returned when the mark of a claim M, or of another confirm that went on with M, could not be gone, and
// S cannot have come before M: from M on the message was marked all the while. A confirm sets the mark anew, to a
// shorter window too: a mark M can be gone at max(C.Call, M.Call) + TTL*(1-Meta.Drift) of any other confirm C of its
// Key that did not fail and may have been executed after M, that is, unless it was ok and had returned before M was
// called. A claim that meets a mark changes nothing, however late it is executed. Sources: soundness rules 2 and 3.
//
// A claim is a violation only when no confirm that was called in time can come any more: at once where the workloads promise
// other kinds alone, else when all workers have spoken, or at the end. A record that stops before that leaves doubts, unless
// it has no confirm at all and promises none. That rests on two promises of a run: where kinds are promised and confirms are
// not, nobody confirms, and the harness, which is none of the workers, confirms nothing. Of a history that others recorded
// neither may hold: see [DedupConfirmed].
//
// A history in which most claims were answered when their window could be over shows nothing: the verdict is Unknown.
//
// Every further claim is one violation, against the earliest claim or confirm in force. Messages whose window has passed
// are forgotten: time for a claim is O(1) amortised for each mark of its message that is in force, of which there is one unless
// the filter fails. Memory is bounded by twice the marks in their window, the latest confirms of 16,384 messages
// (with shorter windows than later marks have, more of them make the verdict Unknown), and 4,096 claims that are not decided.
func Dedup() harness.Checker { return dedup{} }

// DedupConfirmed is [Dedup] for a history which is known to hold confirms, whatever its workloads promise. If some are by
// [harness.HarnessClient], that is one of those who have to speak before a claim is a violation.
func DedupConfirmed(byHarness bool) harness.Checker {
	return dedup{confirmed: true, byHarness: byHarness}
}

type dedup struct{ confirmed, byHarness bool }

func (dedup) Name() string { return "dedup" }

func (c dedup) Check(ctx context.Context, h harness.History, found func(harness.Anomaly)) harness.Judgement {
	p := newDedupPass(h, c, found)
	err := eachOp(ctx, h, p.op)
	undecided := p.undecided(err == nil && isComplete(h))
	return p.judge(judgement{
		name: c.Name(), err: err, figures: p.figures(),
		valid:  fmt.Sprintf("none of %s messages was new twice", units.Count(int64(p.messages))),
		absent: []string{noneSeen(p.claims, harness.Claim), p.uncertain()}, doubts: []string{undecided, p.tooManyClaims()},
	})
}

func newDedupPass(h harness.History, known dedup, found func(harness.Anomaly)) *dedupPass {
	promised := known.confirmed || slices.Contains(h.Meta.Kinds, harness.Confirm)
	p := &dedupPass{tally: newTally(h, found), marks: map[string][]mark{}, promised: promised}
	p.waits = promised || len(h.Meta.Kinds) == 0
	if promised {
		p.slowest.workers, p.slowest.among, p.slowest.widened = h.Meta.Workers, known.byHarness, h.Meta.Widened
	}
	return p
}

// dedupPass is one pass over a history.
type dedupPass struct {
	*tally
	marks                map[string][]mark // by message: the claims and confirms in force, in order of Return
	swept                int               // messages left by the last sweep
	claims, confirms     int               // all claims, ok confirms
	messages, duplicates int
	inside               int // claims told "first" that were answered inside their window

	confirmed confirms
	promised  bool // the workloads promise confirms, or there are known to be some
	waits     bool // a confirm may still come that a claim has to wait for
	heeded    bool // a confirm that may have set marks anew
	slowest   watermark
	queue     []*suspected // in order of Return
	suspects  map[string][]*suspected
	unjudged  int
}

// uncertain returns a doubt if most claims were answered when their window could be over: such a history cannot show much.
func (p *dedupPass) uncertain() string {
	if firsts := p.messages + p.duplicates; firsts > 2*p.inside {
		return fmt.Sprintf("only %d of %d claims were answered inside their window: it is too short for this load", p.inside, firsts)
	}
	return ""
}

// mark is an ok claim that was told "first", or an ok confirm.
type mark struct {
	harness.Op
	claim *harness.Op   // that a confirm belongs to, if it is still known
	ends  time.Duration // the earliest time at which it can be gone
	bases []*mark       // of a confirm: marks that were in force when it returned, so that it went on with them
}

// basesKept bounds the marks with which a confirm goes on.
const basesKept = 4

func (p *dedupPass) op(x harness.Op) {
	if p.slowest.hear(x); p.slowest.low > 0 {
		p.decideBefore(p.slowest.low)
	}
	switch {
	case x.Kind == harness.Claim:
		p.claims++
		if x.Outcome == harness.OK && x.Result == harness.ResultFirst {
			p.judgeFirst(x)
		}
	case x.Kind == harness.Confirm && x.Outcome != harness.Fail:
		this := mark{Op: x, claim: p.claimOf(x), ends: p.end(x)}
		p.noteConfirm(x)
		if x.Outcome == harness.OK {
			p.confirms++
			this.goOn(p.marks[x.Key])
			p.addMark(p.marks[x.Key], this)
		}
	}
}

// judgeFirst judges x, a claim that was told "first".
func (p *dedupPass) judgeFirst(x harness.Op) {
	this, marks := mark{Op: x, ends: p.end(x)}, p.marks[x.Key]
	if x.Return < this.ends {
		p.inside++
	}
	if s := ruledOut(marks, this); s != nil {
		p.keepSuspect(s)
	} else {
		p.messages++
	}
	p.addMark(marks, this)
}

// ruledOut returns this claim with those of marks that rule it out, as far as is known; nil if none does.
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
			s.more = true
			break
		}
		s.against = append(s.against, *m)
	}
	return s
}

// rulesOut reports whether m certainly came before this claim, and is certainly not gone when the claim returns.
func (m *mark) rulesOut(this *mark) bool {
	return m.ends > this.Return && m.evidenceBefore(this) != nil
}

// evidenceBefore lists the marks that show that m was set before this claim was told, should m still be in force when the claim returns: m alone, or
// a claim that this one cannot have come before, and the confirms that went on with it, of which the last is m. It is nil if nothing shows it.
func (m *mark) evidenceBefore(this *mark) []*mark {
	if m.Kind == harness.Confirm && m.Return < this.Call {
		return []*mark{m}
	}
	return m.goneOnSince(this)
}

// goneOnSince lists a claim that this one cannot have come before, and the confirms that went on with it, of which the last is m; nil: there are none.
func (m *mark) goneOnSince(this *mark) []*mark {
	if m.Kind == harness.Claim && m.Return < this.ends {
		return []*mark{m}
	}
	for _, b := range m.bases {
		if m.Return >= b.ends {
			continue
		}
		if all := b.goneOnSince(this); all != nil {
			return append(all, m)
		}
	}
	return nil
}

// goOn notes with which marks the confirm m goes on: nobody can have been told "first" between one of them and m.
func (m *mark) goOn(marks []mark) {
	for i := range marks {
		if b := marks[i]; b.ends > m.Return && len(m.bases) < basesKept {
			m.bases = append(m.bases, &b)
		}
	}
}

// addMark adds m to the marks of its message and forgets what is past.
func (p *dedupPass) addMark(marks []mark, m mark) {
	if len(marks) == cap(marks) {
		marks = withoutPast(marks, m.Return)
	}
	p.marks[m.Key] = append(marks, m)
	p.sweep(m.Return)
}

// withoutPast returns marks without those that can be gone at now.
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

// claimOf finds the claim that c confirms: the last one of its worker.
func (p *dedupPass) claimOf(c harness.Op) *harness.Op {
	worker := p.meta.Worker(c.Client)
	marks := p.marks[c.Key]
	for i := range slices.Backward(marks) {
		if marks[i].Kind == harness.Claim && p.meta.Worker(marks[i].Client) == worker {
			claim := marks[i].Op
			return &claim
		}
	}
	return nil
}

// end returns the earliest time at which the mark of x can be gone, as far as is known when x returns.
func (p *dedupPass) end(x harness.Op) time.Duration {
	end, unsure := p.confirmed.earliestEnd(x, p.meta.Drift)
	if unsure {
		p.unjudged++
	}
	return end
}

// sweep forgets what is past, each time that the messages have doubled. Whatever comes later returns no earlier.
func (p *dedupPass) sweep(now time.Duration) {
	if len(p.marks) < 2*p.swept+1024 {
		return
	}
	for key, marks := range p.marks {
		if len(marks) == 1 && marks[0].ends > now {
			continue
		}
		left := withoutPast(marks, now)
		switch {
		case len(left) == 0:
			delete(p.marks, key)
		case len(left) < len(marks):
			p.marks[key] = left
		}
	}
	p.swept = len(p.marks)
}

// figures lists the counts. A message that comes again after its window counts as another message.
func (p *dedupPass) figures() []harness.Figure {
	out := []harness.Figure{figureMessages.Count(p.messages), figureDuplicates.Count(p.duplicates)}
	if p.messages > 0 {
		per := 1000 * float64(p.duplicates) / float64(p.messages)
		out = append(out, figureDuplicateRate.Of(per))
	}
	if p.confirms > 0 {
		out = append(out, figureConfirms.Count(p.confirms))
	}
	return out
}

func duplicateAnomaly(first mark, this *mark) harness.Anomaly {
	second, shown := this.Op, first.evidenceBefore(this)
	a := harness.Anomaly{Class: harness.DuplicateDelivery, Key: first.Key, From: min(first.Call, second.Call), To: second.Return}
	for _, m := range shown {
		a.Ops, a.From = append(a.Ops, m.Op), min(a.From, m.Call)
	}
	a.Ops = append(a.Ops, second)
	if first.Kind == harness.Confirm {
		a.Note = fmt.Sprintf("%s was told at %s that %s is new, though %s had confirmed it at %s, for %s", clientName(second.Client),
			formatTime(second.Return), first.Key, clientName(first.Client), formatTime(first.Return), windowName(first.Op))
		if first.claim != nil && len(shown) == 1 {
			a.Ops = []harness.Op{*first.claim, first.Op, second}
			a.From = min(a.From, first.claim.Call)
		}
		return a
	}
	a.Note = fmt.Sprintf("%s and %s were both told that %s is new, at %s and at %s, inside its window of %s",
		clientName(first.Client), clientName(second.Client), first.Key, formatTime(first.Return), formatTime(second.Return), windowName(first.Op))
	return a
}

// span returns the time in which the message is certainly marked by m.
func (m *mark) span(owner int) []harness.Span {
	return certainSpan(harness.Span{Client: m.Client, Owner: owner, From: m.Return, To: m.ends, Until: harness.LeaseEnds})
}

func windowName(op harness.Op) string {
	if op.TTL == 0 {
		return "all time"
	}
	return op.TTL.String()
}
