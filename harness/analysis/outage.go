package analysis

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// failoverMeters measures the failovers of a run. It passes each operation to the meters of those failovers to which
// the operation can belong.
type failoverMeters struct {
	meta       harness.Meta
	faults     []harness.Fault
	served     served // says which node acknowledged each group's writes
	answers    served // says which node answered each group
	acts       *acts
	clockDoubt string // why times of operations cannot be trusted; empty: they can be trusted
	cutNote    string // why the record ends before the run did; empty: the record is complete
	all        []*failoverMeter
	opened     int                     // number of meters that measure already; they come first in the slice all
	windowEnds []time.Duration         // for each index of the slice all: the latest windowEnd of the meters up to it
	pending    map[string]*pendingGaps // gaps for meters that do not measure yet, by excluded groups
}

// pendingGaps measures gaps in service for failovers whose operations are not measured yet, since a gap may still last
// when the measuring begins. Clients in the excluded groups do not count. Meters that exclude the same groups share one
// pendingGaps.
type pendingGaps struct {
	groups          []int // the excluded groups
	answers, writes gap
	meters          int // number of meters that share these gaps and do not measure yet
}

// failoverMeter measures one failover: the first client write that the new primary acknowledged, the writes that the
// old and the new primary executed, the longest time without an answer, and the longest time without a write.
type failoverMeter struct {
	*takeover
	cause         cause
	groups        []int         // client groups that the cause cuts off; they are excluded
	costStart     time.Duration // gaps before this time are not a cost of this failover
	windowStart   time.Duration // operations that return before this time are measured by the field pending
	pending       *pendingGaps  // gaps that began before windowStart
	firstWrite    harness.Op    // first client write that the new primary acknowledged
	executed      int64
	minority      int64
	oldDemoted    time.Duration  // when the old primary became a replica; harness.Forever: never
	previousMeter *failoverMeter // meter of the previous failover; nil: there is none
	recovered     time.Duration  // first time a client not cut off wrote to the new primary; harness.Forever: never
	windowEnd     time.Duration  // operations that are called after this time do not count
	answers       gap
	writes        gap
}

func newFailoverMeters(h harness.History) *failoverMeters {
	w := &failoverMeters{meta: h.Meta, faults: h.Faults, pending: map[string]*pendingGaps{}}
	a := actsOf(h.Events)
	w.acts, w.served, w.answers = a, servedOf(a.events, harness.EventServesWrites), servedOf(a.events,
		harness.EventAnswers)
	untrusted := func(e harness.Event) bool { return e.Kind == harness.EventClockUntrusted }
	if e, ok := a.firstEvent(0, harness.Forever, untrusted); ok {
		w.clockDoubt = fmt.Sprintf("not known: the clock of %s did not run as it was taken to", e.Node)
	}
	if h.End == nil {
		w.cutNote = "the record stops before the run did"
	}
	for _, t := range takeovers(a) {
		m := &failoverMeter{takeover: t, cause: t.causeOf(h.Faults), oldDemoted: t.oldDemotedAt(),
			recovered: harness.Forever}
		if n := len(w.all); n > 0 {
			m.previousMeter = w.all[n-1]
		}
		m.costStart = m.costsFrom(m.cause)
		m.windowEnd = max(t.ends(), addTime(max(t.demotedAt, m.oldDemoted), t.roleDelay))
		for _, i := range m.cause.faults {
			m.groups = append(m.groups, h.Faults[i].Groups...)
		}
		w.addMeter(m)
	}
	return w
}

// addMeter adds the meter of the next failover. Meters are added in the order of their promotions.
func (w *failoverMeters) addMeter(m *failoverMeter) {
	m.windowStart = min(m.costStart, m.promotedAt-m.roleDelay)
	slices.Sort(m.groups)
	m.groups = slices.Compact(m.groups)
	key := fmt.Sprint(m.groups)
	if w.pending[key] == nil {
		w.pending[key] = &pendingGaps{groups: m.groups}
	}
	m.pending = w.pending[key]
	m.pending.meters++
	windowEnd := m.windowEnd
	if n := len(w.windowEnds); n > 0 {
		windowEnd = max(windowEnd, w.windowEnds[n-1])
	}
	w.all, w.windowEnds = append(w.all, m), append(w.windowEnds, windowEnd)
}

// open starts the meters that have to measure operations with the Return t: those with a windowStart up to t.
func (w *failoverMeters) open(t time.Duration) {
	for ; w.opened < len(w.all) && w.all[w.opened].windowStart <= t; w.opened++ {
		m := w.all[w.opened]
		m.answers, m.writes = m.pending.answers, m.pending.writes
		if m.pending.meters--; m.pending.meters == 0 {
			delete(w.pending, fmt.Sprint(m.groups))
		}
	}
}

// costsFrom returns the time from which waiting can be a cost of the takeover: the start of its cause or, without a
// cause, the earliest time at which the primary can have fallen silent.
func (t *takeover) costsFrom(c cause) time.Duration {
	if len(c.faults) == 0 {
		return max(t.previous, c.start-t.downAfter-missedWithin)
	}
	return max(t.previous, c.start)
}

// add measures the next operation. Operations come in order of Return.
func (w *failoverMeters) add(op harness.Op) {
	if op.Client < 0 || !reachesPrimary(op) || len(w.all) == 0 {
		return
	}
	w.open(op.Return)
	group := w.meta.Group(op.Client)
	writer := w.served.nodeFor(group, op.Return)
	refused := op.Denied() && w.isAnswer(op, group, writer)
	for _, b := range w.pending {
		if !slices.Contains(b.groups, group) {
			b.add(op, refused)
		}
	}
	first, _ := slices.BinarySearch(w.windowEnds[:w.opened], op.Call)
	for _, m := range w.all[first:w.opened] {
		if op.Call > m.windowEnd {
			continue
		}
		by := w.executor(m, op, writer, group)
		m.count(op, by)
		if op.Return < m.ends() && !slices.Contains(m.groups, group) {
			m.measure(op, by, refused)
		}
	}
}

// isAnswer reports whether op, a refusal, counts as an answer: a node that may have been a primary refused it. If the
// record does not say which node refused op, isAnswer takes the parameter writer, the node that acknowledged the latest
// write of the client's group. If that is not known either, every refusal counts.
func (w *failoverMeters) isAnswer(op harness.Op, group int, writer string) bool {
	switch {
	case w.answers.recorded:
		return w.acts.couldGrant(w.answers.nodeFor(group, op.Return), op.Call, op.Return)
	case w.served.recorded:
		return w.acts.couldGrant(writer, op.Call, op.Return)
	}
	return true
}

// add adds the next operation of a client outside of the excluded groups. refused is true for a refusal that counts as
// an answer.
func (b *pendingGaps) add(op harness.Op, refused bool) {
	const start, over = harness.Forever, true // so that no gap is complete here
	succeeded := op.Outcome == harness.OK || refused
	b.answers.add(op, succeeded, start, over)
	if asksToWrite(op) {
		b.writes.add(op, succeeded, start, over)
	}
}

// reachesPrimary reports whether op is a request to Redis. The harness itself makes deliveries, and updates of a
// resource that a lock guards.
func reachesPrimary(op harness.Op) bool {
	_, guarded := harness.GuardedBy(op.Key)
	return op.Kind != harness.Deliver && !(guarded && op.Kind == harness.Add)
}

// isWrite reports whether op is an acknowledged write to the system under test.
func isWrite(op harness.Op) bool { return asksToWrite(op) && op.Outcome == harness.OK }

// asksToWrite reports whether op asks for something that Redis grants by a write.
func asksToWrite(op harness.Op) bool {
	return op.Kind == harness.Acquire || op.Kind == harness.Claim || op.Kind == harness.Next || op.Kind == harness.Add
}

// executor returns the node that executed op. If the record says which nodes acknowledge writes, that node is the
// parameter writer, which acknowledged the latest write of the client's group. Otherwise executor has to guess. For an
// operation called after the promotion, or after the end of the old primary's process, it takes the new primary. For
// other operations, and for clients that were cut off, it takes the old one.
func (w *failoverMeters) executor(m *failoverMeter, op harness.Op, writer string, group int) string {
	if w.served.recorded {
		return writer
	}
	from := m.promotedAt
	for _, i := range m.cause.faults {
		switch f := w.faults[i]; {
		case slices.Contains(f.Groups, group) && op.Return <= f.InForceUntil():
			return m.old
		case f.Down(m.old):
			from = max(f.Active, f.Start)
		}
	}
	if op.Call > from {
		return m.new
	}
	return m.old
}

// count counts a write that the given node has executed. A write on the new primary is added to m.executed. A write on
// the old primary is added to m.minority if it came after the promotion and before the old primary stopped taking
// writes.
func (m *failoverMeter) count(op harness.Op, node string) {
	switch {
	case !isWrite(op):
	case m.isByNew(op, node):
		if m.executed++; m.executed == 1 {
			m.firstWrite = op
		}
	case m.old == "" || node != m.old || op.Call <= m.promotedAt || m.demotedBefore(op.Call) ||
		op.Call > addTime(m.oldDemoted, m.roleDelay):
	case m.couldGrant(node, op.Call, op.Return):
		m.minority++
	}
}

// demotedBefore reports whether, before the given time, the new primary had become a replica again and no third node
// was promoted. The old primary is then the only primary again.
func (t *takeover) demotedBefore(at time.Duration) bool {
	return t.demotedAt < t.next && at > t.demotedAt
}

// oldDemotedAt returns the first time after the promotion at which the old primary was a replica, or harness.Forever if
// it never was. It may have become a primary again later.
func (t *takeover) oldDemotedAt() time.Duration {
	for _, r := range t.reigns[t.old] {
		if r.to > t.promotedAt {
			return r.to
		}
	}
	return harness.Forever
}

// measure counts an operation of a connected client, for the longest time without an answer and the longest time
// without a write. The parameter node is the node that executed or refused it. The parameter refused is true if the
// operation is a refusal that counts as an answer.
func (m *failoverMeter) measure(op harness.Op, node string, refused bool) {
	gapStart, done := m.costStart, m.recovered < op.Return
	if m.previousMeter != nil && op.Return <= min(m.previousMeter.recovered, m.previousMeter.ends()) {
		gapStart = op.Return // a gap that ends now is a cost of the previous failover
	}
	succeeded := op.Outcome == harness.OK || refused
	m.answers.add(op, succeeded, gapStart, done)
	if asksToWrite(op) {
		m.writes.add(op, succeeded, gapStart, done)
	}
	if isWrite(op) && m.isByNew(op, node) {
		m.recovered = min(m.recovered, op.Return)
	}
}

// ends returns when the failover stops costing clients anything: when the new primary is a replica again, or another
// node has taken over.
func (t *takeover) ends() time.Duration { return min(t.next, t.demotedAt) }

// isByNew reports whether the new primary executed op. The parameter node is the node that probably did. If the record
// does not name the new primary, every node but the old primary counts as the new one between this promotion and the
// next.
func (m *failoverMeter) isByNew(op harness.Op, node string) bool {
	if m.new == "" {
		return op.Call > m.promotedAt && op.Call < m.next && (m.old == "" || node != m.old)
	}
	return node == m.new && op.Return >= m.promotedAt-m.roleDelay && m.wasPrimary(op.Call, op.Return)
}

func (w *failoverMeters) failovers() []Failover {
	var all []Failover
	for _, m := range w.all {
		all = append(all, w.failover(m))
	}
	return all
}

// downtimeFrom returns the time from which a lack of writes counts for this failover. Until the previous failover's new
// primary has taken its first write, it counts for the previous failover.
func (m *failoverMeter) downtimeFrom() time.Duration {
	if m.previousMeter == nil {
		return m.costStart
	}
	return max(m.costStart, m.previousMeter.firstProbeWrite().At)
}

func (w *failoverMeters) failover(m *failoverMeter) Failover {
	silent, load := m.unplanned(m.cause)
	f := Failover{
		Silent: silent, Load: load,
		Fault: -1, Name: m.cause.name, Old: m.old, New: m.new, Start: m.cause.start, Promoted: m.promotedAt,
		Stages: m.stages(m.cause), Servers: m.downtime(m.downtimeFrom()), Outage: m.answers.outage(),
		Writes:         m.writes.outage(),
		ExecutedWrites: m.executed, MinorityWrites: m.minority, MissingBytes: m.behind(),
		extraDelay: m.roleDelay - maxRoleDelay,
	}
	if len(m.cause.faults) > 0 {
		f.Fault = m.cause.faults[0]
	}
	if len(m.cause.faults) > 1 {
		f.Candidates = m.cause.faults
	}
	for _, i := range m.cause.beside {
		f.OtherFaults = append(f.OtherFaults, w.faults[i].Name)
	}
	if m.presumed != m.old {
		f.Mistaken = m.presumed
	}
	if m.demotedAt != harness.Forever {
		f.NewUntil = m.demotedAt
	}
	if m.oldDemoted != harness.Forever {
		f.OldUntil = m.oldDemoted
	}
	w.fillFirstWrite(&f, m)
	w.doubtStages(&f)
	return f
}

// fillFirstWrite fills in the stage of the first client write. If the clocks cannot be trusted, it clears all figures
// that come from operations.
func (w *failoverMeters) fillFirstWrite(f *Failover, m *failoverMeter) {
	i := slices.Index(Milestones(), Writable)
	if m.executed > 0 {
		f.Stages[i] = seenAt(m.firstWrite.Return, fmt.Sprintf("client %d", m.firstWrite.Client))
		f.Stages[i].Name, f.Stages[i].After = Writable, m.firstWrite.Return-f.Start
	}
	if w.clockDoubt != "" {
		f.Stages[i] = Stage{Name: Writable, Note: w.clockDoubt}
		f.Outage, f.Writes, f.ExecutedWrites, f.MinorityWrites = Outage{}, Outage{}, 0, 0
	}
}

// doubtStages adds a note to each missing stage if the record ends before the run did: the stage may have come later.
func (w *failoverMeters) doubtStages(f *Failover) {
	for i, s := range f.Stages {
		if !s.Seen && w.cutNote != "" && !strings.HasPrefix(s.Note, "not known") {
			f.Stages[i].Note = fmt.Sprintf("not known: %s, and until then %s", w.cutNote, s.Note)
		}
	}
}
