package checkers

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/units"
)

// Delivery returns the checker of what a dedup filter leaves behind. No message is marked unless it was delivered, and
// no mark outlives its window.
//
// A probe is a claim by [harness.HarnessClient] after the load. A probe P that was answered ok with
// [harness.ResultSeen] shows
//
//   - a [harness.LostMessage] if the message was lost, as defined below;
//   - a [harness.ImmortalMark] if P.Call > Return + TTL*(1+Meta.Drift) of every earlier claim and confirm of its Key
//     that did not fail. Those of the harness count, too. At least one of these may have marked the message, and none
//     has TTL 0, which never ends. A TTL of a millisecond or more counts as one millisecond more, as in [Stuck].
//
// A message is lost if its Key has no Deliver, or only failed ones, if no earlier probe can have marked it, and if one
// of these holds as well:
//
//   - a client's claim before P was answered [harness.ResultFirst];
//   - a client's claim before P ended in info, and its client's work ended with it. The client crashed (Err is
//     [harness.Crashed]) or was told to stop (Err is an error reply of Redis, or [harness.FewAcks]);
//   - every client's claim was answered "seen", although nobody can have marked the message.
//
// Any other claim in info may have set the mark and only lost its answer. A message with such a claim is not judged.
// Where [harness.Meta].Kinds promises confirms, a claim is a lease. Then P also has to come after every lease and
// window, as for an immortal mark.
//
// Neither class is reported if a claim or confirm by a client was under way when P returned. A claim that returns after
// P and is answered "first" shows that the mark has ended, so it is not immortal. If that claim was called before every
// lease and window had ended, the message is not lost either. A claim called later does not save the message: until
// then, others were told that somebody delivers it.
//
// An inspection can also show an immortal mark, at any time. It is an ok Inspect by the harness that finds a mark
// (Result) without an end (TTL 0). At least one claim or confirm may have marked the message, and none has TTL 0: a
// mark that was asked for with a window has an end from the start.
//
// One probe may show both classes. Each message is reported once for each class, at the end, for the first probe that
// shows it. A message whose probes decide nothing makes the verdict Unknown, and so does a history without probes.
// Whether marks end is judged only for messages that were probed after their windows, or inspected; figures count
// these.
//
// The harness promises to probe only when no client is left that could deliver. By then no client's command can still
// be executed, and none was executed after its operation's Return. Where claims are leases, it probes after the lease.
// It also promises that the store was empty at the start, and that it inspects only keys known to be marks. Sources:
// "Atomic operations by Lua" (see workloads); soundness rules 2, 3 and 5.
//
// The first pass over the history collects the messages that are probed, and the second one judges them. Memory is
// about 400 bytes for each of them, or 1,300 if it is lost, whatever the length of the run. Time is O(1) per operation.
// Where the history cannot be read again, as while a run goes on, the verdict is Unknown.
func Delivery() harness.Checker { return delivery{} }

type delivery struct{}

func (delivery) Name() string { return "delivery" }

func (c delivery) Check(ctx context.Context, h harness.History, report func(harness.Anomaly)) harness.Judgement {
	p := &deliveryPass{
		tally: newTally(h, report), messages: map[string]*message{},
		leases: slices.Contains(h.Meta.Kinds, harness.Confirm),
	}
	err := eachOp(ctx, h, p.collect)
	if again := eachOp(ctx, h, p.op); err == nil {
		err = again
	}
	undecidedDoubt := p.end()
	if err == nil && p.read != p.ops {
		err = errOnce
	}
	return p.judge(judgement{
		name: c.Name(), err: err,
		valid: fmt.Sprintf("none of %s messages asked for is lost, none of the %s asked for after their window is "+
			"still marked, none of %s marks looked at is without an end",
			units.Count(int64(p.probed)), units.Count(int64(p.outlived)), units.Count(int64(p.marksFound))),
		absent: []string{doubtIf(p.probed == 0, "no message was asked for after the load")},
		doubts: []string{undecidedDoubt},
		figures: []harness.Figure{
			figureAsked.Count(p.probed), figureOutlived.Count(p.outlived),
			figureLooked.Count(p.marksFound), figureExcused.Count(p.excused),
			figureLostMessages.Count(p.counts[harness.LostMessage]),
			figureImmortal.Count(p.counts[harness.ImmortalMark]),
		},
	})
}

// deliveryPass makes the two passes over a history. collect finds the messages that the harness asks about, and op
// follows what becomes of each. For example, client 1 crashes before it delivers, and the mark stays:
//
//	client 1   |--claim: first--|  crashes
//	harness                                  |--probe: seen--|
//	message            owed                                lost, if nobody has delivered it by the end
//
// So apply handles a claim or confirm x of a probed message in three steps:
//
//  1. withdraw drops the findings of earlier probes that x disproves.
//  2. If x is a probe, probe judges by what was claimed before it. Inspections are judged by inspect.
//  3. noteClaim records what x may have marked, and until when.
//
// The findings that are left at the end are reported.
type deliveryPass struct {
	*tally
	leases   bool                // confirms are promised, so a claim is a lease
	ops      int                 // number of operations that the first pass saw
	read     int                 // number of operations that the second pass has seen
	messages map[string]*message // the messages that were probed or inspected
	listed   []*message          // the same messages, in order of their first probe or inspection

	// Counts for the figures.
	probed     int // messages probed
	outlived   int // messages with a probe that was answered after all windows had ended
	marksFound int // number of marks that inspections found
	excused    int // messages marked and not delivered, which a lost answer may excuse
}

// message holds what is known about one key.
type message struct {
	// What claims and confirms have done so far.
	windowsOver time.Duration // the latest end of all windows asked for
	last        *harness.Op   // the last claim or confirm that may have marked the message
	obliging    *harness.Op   // the first claim that obliged its client to deliver
	refused     *harness.Op   // a client's first claim answered "seen" although nothing can have marked the message
	unanswered  bool          // a claim may have marked the message, and its answer was lost
	delivered   bool

	// What probes have done so far.
	listed            bool // in deliveryPass.listed
	probed            bool
	probeSeen         bool // a probe was answered "seen"
	probeUnanswered   bool // a probe ended in info, so it may have set the mark
	claimedAfterProbe bool // a claim was answered "first" since the first probe
	outlived          bool // a probe was answered after all windows had ended

	// What the probes show, unless a later operation disproves it.
	lost, immortal *harness.Anomaly
}

// collect handles an operation of the first pass: it collects the messages that are probed or inspected.
func (p *deliveryPass) collect(x harness.Op) {
	p.ops++
	if (isProbe(x) || isInspection(x)) && p.messages[x.Key] == nil {
		p.messages[x.Key] = &message{}
	}
}

func isProbe(x harness.Op) bool { return x.Client == harness.HarnessClient && x.Kind == harness.Claim }

// isInspection reports whether x is an ok inspection of a mark by the harness.
func isInspection(x harness.Op) bool {
	return x.Client == harness.HarnessClient && x.Kind == harness.Inspect && x.Outcome == harness.OK
}

// op handles an operation of the second pass.
func (p *deliveryPass) op(x harness.Op) {
	p.read++
	switch x.Kind {
	case harness.Claim, harness.Confirm, harness.Deliver, harness.Inspect:
		if m := p.messages[x.Key]; m != nil {
			p.apply(m, x)
		}
	}
}

// apply applies x to the message m, which is probed or inspected.
func (p *deliveryPass) apply(m *message, x harness.Op) {
	probe := isProbe(x)
	switch {
	case x.Outcome == harness.Fail && !probe:
	case x.Kind == harness.Deliver:
		m.delivered = true
	case isInspection(x):
		p.inspect(m, x)
	case x.Kind == harness.Claim || x.Kind == harness.Confirm:
		m.withdraw(x)
		if probe {
			p.probe(m, x)
		}
		if x.Outcome != harness.Fail {
			m.noteClaim(x, lastKept(x, p.meta.Drift))
		}
	}
}

// withdraw drops the findings about m that x, a claim or confirm, disproves.
func (m *message) withdraw(x harness.Op) {
	underWay := func(a *harness.Anomaly) bool { return x.Client != harness.HarnessClient && x.Call <= a.To }
	if m.lost != nil && (toldFirst(x) && x.Call <= m.windowsOver || underWay(m.lost)) {
		m.lost = nil
	}
	if m.immortal != nil && (toldFirst(x) || underWay(m.immortal)) {
		m.immortal = nil
	}
}

func (p *deliveryPass) probe(m *message, x harness.Op) {
	p.list(m)
	if !m.probed {
		m.probed = true
		p.probed++
	}
	if x.Outcome != harness.OK {
		m.probeUnanswered = m.probeUnanswered || x.Outcome == harness.Info
		return
	}
	over := m.last != nil && x.Call > m.windowsOver
	if over && !m.outlived {
		m.outlived = true
		p.outlived++
	}
	if x.Result != harness.ResultSeen {
		return
	}
	m.probeSeen = true
	if m.lost == nil && m.isUndelivered() && (x.Call > m.windowsOver || !p.leases) {
		m.lost = m.lostMessage(x, p.leases)
	}
	if m.immortal == nil && over {
		m.immortal = m.immortalMark(x)
	}
}

// isUndelivered reports whether the message ought to have been delivered by the time of a probe, and was not. It
// returns false if the client of another claim may have set the mark, or may still deliver the message.
func (m *message) isUndelivered() bool {
	bySomebodyElse := m.unanswered || m.probeUnanswered || m.claimedAfterProbe
	return m.isOwed() && !m.delivered && !bySomebodyElse
}

// isOwed reports whether the message ought to have been delivered. Either a claim obliged its client to deliver, or
// every claim was answered "seen" although nobody can have marked the message.
func (m *message) isOwed() bool { return m.obliging != nil || m.refused != nil && m.last == nil }

func (p *deliveryPass) inspect(m *message, x harness.Op) {
	if x.Result == "" {
		return
	}
	p.list(m)
	p.marksFound++
	if m.immortal == nil && x.TTL == 0 && m.last != nil && m.windowsOver < forever {
		m.immortal = m.immortalMark(x)
	}
}

// list adds m to p.listed, once.
func (p *deliveryPass) list(m *message) {
	if !m.listed {
		m.listed = true
		p.listed = append(p.listed, m)
	}
}

// noteClaim records what x, a claim or confirm that did not fail, may have marked. The parameter latestEnd is the
// latest end of x's window.
func (m *message) noteClaim(x harness.Op, latestEnd time.Duration) {
	m.windowsOver = max(m.windowsOver, latestEnd)
	m.claimedAfterProbe = m.claimedAfterProbe || toldFirst(x) && m.probed
	if x.Outcome == harness.OK && x.Kind == harness.Claim && !toldFirst(x) { // it found a mark
		if m.refused == nil && m.last == nil && x.Client != harness.HarnessClient {
			m.refused = new(x)
		}
		return
	}
	m.last = new(x)
	switch {
	case x.Kind != harness.Claim:
	case !obligesDelivery(x):
		m.unanswered = m.unanswered || x.Client != harness.HarnessClient
	case m.obliging == nil:
		m.obliging = m.last
	}
}

// obligesDelivery reports whether only the client of the claim x could have delivered the message, if x set the mark.
// That is so if x was answered "first", or ended in info because its client crashed or was told to stop. The caller has
// ruled out the answer "seen".
func obligesDelivery(x harness.Op) bool {
	return x.Outcome == harness.OK || x.Err == harness.Crashed || x.Err == harness.FewAcks ||
		harness.IsErrorReply(x.Err)
}

// toldFirst reports whether x is a claim that was answered "first".
func toldFirst(x harness.Op) bool {
	return x.Kind == harness.Claim && x.Outcome == harness.OK && x.Result == harness.ResultFirst
}

// end reports the findings that remain. It returns a reason for Unknown if for some messages it cannot tell whether
// they were lost. If the second pass saw fewer operations than the first, it may have missed a delivery, so end reports
// nothing.
func (p *deliveryPass) end() string {
	if p.read != p.ops {
		return ""
	}
	remaining := 0
	for _, m := range p.listed {
		lost := m.lost != nil && !m.delivered
		if lost {
			p.add(*m.lost)
		}
		if m.immortal != nil {
			p.add(*m.immortal)
		}
		switch {
		case lost || !m.probed || m.claimedAfterProbe || m.probeSeen && m.delivered: // decided, or not asked for
		case m.probeSeen && m.unanswered && !m.probeUnanswered: // its client may have lost only the answer
			p.excused++
		default:
			remaining++
		}
	}
	return doubtIf(remaining > 0, "%d of %d messages asked for may be lost or not", remaining, p.probed)
}

func (m *message) lostMessage(probe harness.Op, claimsAreLeases bool) *harness.Anomaly {
	by, claimed := m.obliging, "which %s claimed at %s"
	if by == nil {
		by, claimed = m.refused, "which nobody had claimed when %s asked for it at %s and was told that it had been "+
			"seen"
	}
	a := pairAnomaly(harness.LostMessage, *by, probe, fmt.Sprintf(
		"%s, "+claimed+", was never delivered, and %s is told at %s that it was",
		by.Key, clientName(by.Client), formatTime(by.Call), clientName(probe.Client), formatTime(probe.Return)))
	if claimsAreLeases {
		a.Spans = pastLease(*by, m.windowsOver, probe)
	}
	return &a
}

func (m *message) immortalMark(probe harness.Op) *harness.Anomaly {
	by := *m.last
	a := pairAnomaly(harness.ImmortalMark, by, probe, fmt.Sprintf(
		"%s is %s at %s; %s's %s at %s, for %s, was the last that may have marked it",
		by.Key, howFound(probe), formatTime(probe.Return), clientName(by.Client), by.Kind, formatTime(by.Call),
		windowName(by)))
	a.Spans = pastLease(by, m.windowsOver, probe)
	return &a
}

// howFound says what the probe found out about the mark.
func howFound(probe harness.Op) string {
	if probe.Kind == harness.Inspect {
		return "marked without an end"
	}
	return "still marked"
}

// pairAnomaly returns an anomaly that the operations a and b on one key show. It lasts from the Call of a to the Return
// of b.
func pairAnomaly(class harness.Class, a, b harness.Op, note string) harness.Anomaly {
	return harness.Anomaly{Class: class, Key: b.Key, From: a.Call, To: b.Return, Ops: []harness.Op{a, b}, Note: note}
}
