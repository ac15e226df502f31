package checkers

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/units"
)

// Delivery returns the checker of what a dedup filter leaves behind: no message is marked without having been handed on,
// and no mark outlives its window.
//
// A probe is a claim by [harness.HarnessClient] after the load. A probe P that was answered ok with [harness.ResultSeen] is
//
//   - a [harness.LostMessage] if no Deliver of its Key that did not fail is in the history, and a client's claim before it
//     was told [harness.ResultFirst], or may have marked it and ended in info with its client: because that crashed (Err is
//     [harness.Crashed]), or was told to go no further (Err is an error reply of Redis, or [harness.FewAcks]). Any other
//     claim that ended in info may have marked it too, and its answer may only have got lost: where there is one, the
//     message is not judged. Nor does anybody deliver a message of which each client's claim was told "seen", though nobody
//     may have marked it: that is lost as well. No earlier probe may have marked it. Where [harness.Meta].Kinds promises confirms,
//     a claim is a lease, and P has to come after every end as below;
//   - a [harness.ImmortalMark] if P.Call > Return + TTL*(1+Meta.Drift) of every claim and confirm of its Key before it that
//     did not fail, those of the harness among them. One at least may have marked it, and none has TTL 0, which marks for
//     ever. A TTL of a millisecond or more counts as one more, as in [Stuck].
//
// Neither is said if a claim or confirm of a client turns out later to have been called by the time of P.Return. No mark is immortal of a
// message of which a later claim is told "first". Nor is that message lost, unless the claim came after every end as below: whoever asked
// before was told that somebody hands it on.
//
// An ok Inspect of a message by the harness that finds a mark (Result) without an end (TTL 0) is an immortal mark as well,
// under the same conditions but for the time: a mark that was asked for with a window has an end from the beginning.
//
// One probe may be both. Each message is reported once for each class, at the end, for the first such probe. A message
// whose probes show neither that it is lost nor that it is not makes the verdict Unknown, and so does a history without
// probes. Whether marks end is judged only of messages asked for after their windows, or looked at; figures count them.
//
// The harness promises to ask only when nobody is left who could deliver, when nothing that a client has sent can still
// be executed or was executed after the Return of its operation, and, of a filter that claims for a lease, when the lease
// is over. It promises a store that was empty at the start, and to look only at what is known to be a mark. Sources:
// "Atomic operations by Lua" (see workloads); soundness rules 2, 3 and 5.
//
// Any message may be asked for in the end, so the first pass over the history collects which are, and a second one judges
// these. Memory is about 400 bytes for each of them, 1,300 where it is lost, whatever the length of the run. Time is O(1)
// an operation. Where the history cannot be read again, as while a run goes on, the verdict is Unknown.
func Delivery() harness.Checker { return delivery{} }

type delivery struct{}

func (delivery) Name() string { return "delivery" }

func (c delivery) Check(ctx context.Context, h harness.History, found func(harness.Anomaly)) harness.Judgement {
	p := &deliveryPass{
		tally: newTally(h, found), messages: map[string]*message{}, leases: slices.Contains(h.Meta.Kinds, harness.Confirm),
	}
	err := eachOp(ctx, h, p.collect)
	if again := eachOp(ctx, h, p.op); err == nil {
		err = again
	}
	undecided := p.end()
	if err == nil && p.read != p.ops {
		err = errOnce
	}
	return p.judge(judgement{
		name: c.Name(), err: err,
		valid: fmt.Sprintf("none of %s messages asked for is lost, none of the %s asked for after their window is still marked, "+
			"none of %s marks looked at is without an end", units.Count(int64(p.asked)), units.Count(int64(p.outlived)), units.Count(int64(p.looked))),
		absent: []string{p.none()}, doubts: []string{undecided},
		figures: []harness.Figure{
			figureAsked.Count(p.asked), figureOutlived.Count(p.outlived),
			figureLooked.Count(p.looked), figureExcused.Count(p.excused),
			figureLostMessages.Count(p.counts[harness.LostMessage]), figureImmortal.Count(p.counts[harness.ImmortalMark]),
		},
	})
}

// deliveryPass makes the two passes over a history.
type deliveryPass struct {
	*tally
	leases   bool                // claims are leases, which confirms make windows
	ops      int                 // of the first pass
	read     int                 // of the second
	messages map[string]*message // those asked for or looked at
	probed   []*message          // asked for or looked at, in that order
	asked    int                 // messages
	looked   int                 // marks found
	outlived int                 // asked for, with an answer, when every window was over
	excused  int                 // marked and not delivered, perhaps because an answer got lost
}

// message holds what is known about one key.
type message struct {
	over        time.Duration // latest time at which a window asked for so far can be over
	owing, last *harness.Op   // the first claim that obliged its client, and the last claim or confirm, that may have marked it
	refused     *harness.Op   // the first client's claim that was told "seen", though nothing may have marked it
	unanswered  bool          // a claim that may have marked it may only have lost its answer
	delivered   bool

	// What a probe shows, unless something later shows that it is not so.
	lost, immortal *harness.Anomaly

	probed   bool // asked for or looked at
	asked    bool // there was a probe
	free     bool // from the first probe on a claim was told "first"
	own      bool // a probe ended in info: the mark may be its
	seen     bool // a probe was told "seen"
	outlived bool // a probe was answered when every window was over
}

// collect sees an operation in the first pass: it notes which messages are asked for or looked at.
func (p *deliveryPass) collect(x harness.Op) {
	p.ops++
	if (isProbe(x) || inspects(x)) && p.messages[x.Key] == nil {
		p.messages[x.Key] = &message{}
	}
}

// isProbe reports whether x is a probe.
func isProbe(x harness.Op) bool { return x.Client == harness.HarnessClient && x.Kind == harness.Claim }

// inspects reports whether x is the harness's look at a mark.
func inspects(x harness.Op) bool {
	return x.Client == harness.HarnessClient && x.Kind == harness.Inspect && x.Outcome == harness.OK
}

// op sees an operation in the second pass.
func (p *deliveryPass) op(x harness.Op) {
	p.read++
	switch x.Kind {
	case harness.Claim, harness.Confirm, harness.Deliver, harness.Inspect:
		if m := p.messages[x.Key]; m != nil {
			p.useToJudge(m, x)
		}
	}
}

// useToJudge uses x to judge the message m, which is asked for or looked at.
func (p *deliveryPass) useToJudge(m *message, x harness.Op) {
	probe := isProbe(x)
	switch {
	case x.Outcome == harness.Fail && !probe:
	case x.Kind == harness.Deliver:
		m.delivered = true
	case inspects(x):
		p.look(m, x)
	case x.Kind == harness.Claim || x.Kind == harness.Confirm:
		m.withdraw(x)
		if probe {
			p.probe(m, x)
		}
		if x.Outcome != harness.Fail {
			m.noteWindow(x, lastKept(x, p.meta.Drift))
		}
	}
}

// probe judges the probe x.
func (p *deliveryPass) probe(m *message, x harness.Op) {
	p.noteProbed(m)
	if !m.asked {
		m.asked = true
		p.asked++
	}
	if x.Outcome != harness.OK {
		m.own = m.own || x.Outcome == harness.Info
		return
	}
	over := m.last != nil && x.Call > m.over
	if over && !m.outlived {
		m.outlived = true
		p.outlived++
	}
	if x.Result != harness.ResultSeen {
		return
	}
	m.seen = true
	if m.lost == nil && m.isOwed() && !m.unanswered && !m.delivered && !m.free && !m.own && (x.Call > m.over || !p.leases) {
		m.lost = m.lostMessage(x, p.leases)
	}
	if m.immortal == nil && over {
		m.immortal = m.immortalMark(x)
	}
}

// look judges x, which looked at the message's mark.
func (p *deliveryPass) look(m *message, x harness.Op) {
	if x.Result == "" {
		return
	}
	p.noteProbed(m)
	p.looked++
	if m.immortal == nil && x.TTL == 0 && m.last != nil && m.over < forever {
		m.immortal = m.immortalMark(x)
	}
}

// noteProbed keeps m for the end.
func (p *deliveryPass) noteProbed(m *message) {
	if !m.probed {
		m.probed = true
		p.probed = append(p.probed, m)
	}
}

// withdraw takes back what x, a claim or confirm, shows to be wrong.
func (m *message) withdraw(x harness.Op) {
	underWay := func(a *harness.Anomaly) bool { return x.Client != harness.HarnessClient && x.Call <= a.To }
	if m.lost != nil && (toldFirst(x) && x.Call <= m.over || underWay(m.lost)) {
		m.lost = nil
	}
	if m.immortal != nil && (toldFirst(x) || underWay(m.immortal)) {
		m.immortal = nil
	}
}

// noteWindow notes x, a claim or confirm that did not fail, whose window is over by then at the latest.
func (m *message) noteWindow(x harness.Op, over time.Duration) {
	m.over = max(m.over, over)
	m.free = m.free || toldFirst(x) && m.asked
	if x.Outcome == harness.OK && x.Kind == harness.Claim && !toldFirst(x) { // it found a mark
		if m.refused == nil && m.last == nil && x.Client != harness.HarnessClient {
			m.refused = copyOf(x)
		}
		return
	}
	m.last = copyOf(x)
	switch {
	case x.Kind != harness.Claim:
	case !obligesDelivery(x):
		m.unanswered = m.unanswered || x.Client != harness.HarnessClient
	case m.owing == nil:
		m.owing = m.last
	}
}

// isOwed reports whether some client had to deliver the message, or each was told that another one had, which nobody had.
func (m *message) isOwed() bool { return m.owing != nil || m.refused != nil && m.last == nil }

// obligesDelivery reports whether a message that the claim x has marked is lost if nobody delivers it: x was told "first", or it
// ended in info because its client crashed or was told to go no further.
func obligesDelivery(x harness.Op) bool {
	return x.Outcome == harness.OK || x.Err == harness.Crashed || x.Err == harness.FewAcks || harness.IsErrorReply(x.Err)
}

// toldFirst reports whether x is a claim that was told that its message is new.
func toldFirst(x harness.Op) bool {
	return x.Kind == harness.Claim && x.Outcome == harness.OK && x.Result == harness.ResultFirst
}

// copyOf returns a pointer to a copy of x.
func copyOf(x harness.Op) *harness.Op { return &x }

// end reports what was found, and returns a doubt if nothing is known of some messages. A second pass with fewer operations than
// the first may lack the delivery of a message, so it shows nothing.
func (p *deliveryPass) end() string {
	if p.read != p.ops {
		return ""
	}
	undecided := 0
	for _, m := range p.probed {
		lost := m.lost != nil && !m.delivered
		if lost {
			p.add(*m.lost)
		}
		if m.immortal != nil {
			p.add(*m.immortal)
		}
		switch {
		case lost || !m.asked || m.free || m.seen && m.delivered:
		case m.seen && m.unanswered && !m.own:
			p.excused++
		default:
			undecided++
		}
	}
	if undecided == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d messages asked for may be lost or not", undecided, p.asked)
}

// none returns a doubt if the history has no probes.
func (p *deliveryPass) none() string {
	if p.asked > 0 {
		return ""
	}
	return "no message was asked for after the load"
}

func (m *message) lostMessage(probe harness.Op, claimsAreLeases bool) *harness.Anomaly {
	by, claimed := m.owing, "which %s claimed at %s"
	if by == nil {
		by, claimed = m.refused, "which nobody had claimed when %s asked for it at %s and was told that it had been seen"
	}
	a := pairAnomaly(harness.LostMessage, *by, probe, fmt.Sprintf(
		"%s, "+claimed+", was never delivered, and %s is told at %s that it was",
		by.Key, clientName(by.Client), formatTime(by.Call), clientName(probe.Client), formatTime(probe.Return)))
	if claimsAreLeases {
		a.Spans = pastLease(*by, m.over, probe)
	}
	return &a
}

func (m *message) immortalMark(probe harness.Op) *harness.Anomaly {
	by := *m.last
	a := pairAnomaly(harness.ImmortalMark, by, probe, fmt.Sprintf(
		"%s is %s at %s; %s's %s at %s, for %s, was the last that may have marked it",
		by.Key, howFound(probe), formatTime(probe.Return), clientName(by.Client), by.Kind, formatTime(by.Call), windowName(by)))
	a.Spans = pastLease(by, m.over, probe)
	return &a
}

// howFound says what the probe has found out about a mark.
func howFound(probe harness.Op) string {
	if probe.Kind == harness.Inspect {
		return "marked without an end"
	}
	return "still marked"
}

// pairAnomaly returns the anomaly that two operations on one key show, b called after a.
func pairAnomaly(class harness.Class, a, b harness.Op, note string) harness.Anomaly {
	return harness.Anomaly{Class: class, Key: b.Key, From: a.Call, To: b.Return, Ops: []harness.Op{a, b}, Note: note}
}
