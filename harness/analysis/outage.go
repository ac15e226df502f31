package analysis

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// failoverMeters passes each operation to the meters of those failovers whose window it falls into.
type failoverMeters struct {
	meta    harness.Meta
	faults  []harness.Fault
	served  served // who acknowledged the writes of each group
	answers served // who answered each group
	acts    *acts
	doubt   string // why times of operations mean nothing; empty: they do
	end     string // why the record stops before the run did; empty: it does not
	all     []*failoverMeter
	opened  int                // so many of them, the first ones, have a window that has begun
	done    []time.Duration    // by index: from when on operations that are called change neither this meter nor one before it
	before  map[string]*waited // by the groups that are left out, for meters whose window has not begun
}

// waited says how long clients have waited, apart from some groups, and needs no start.
type waited struct {
	groups          []int // left out
	answers, writes gap
	users           int // meters whose window has not begun
}

// failoverMeter finds, of one failover, the first write that the new primary acknowledged, what each of the two
// executed, and the longest time without an answer and without a write until then.
type failoverMeter struct {
	*takeover
	cause    cause
	groups   []int         // client groups that the cause cuts off
	since    time.Duration // what happened before costs this failover nothing
	opens    time.Duration // what returns before changes nothing but waited
	waited   *waited       // until then
	first    harness.Op    // the first write of the new primary
	executed int64
	minority int64
	ceased   time.Duration  // when the old primary was seen as a replica; harness.Forever: never
	before   *failoverMeter // of the failover before; nil: there is none
	over     time.Duration  // when the new primary had executed a write of a client that was not cut off; harness.Forever: never
	done     time.Duration  // what is called later changes nothing
	answers  gap
	writes   gap
}

func newFailoverMeters(h harness.History) *failoverMeters {
	w := &failoverMeters{meta: h.Meta, faults: h.Faults, before: map[string]*waited{}}
	a := actsOf(h.Events)
	w.acts, w.served, w.answers = a, servedOf(a.events, harness.EventServes), servedOf(a.events, harness.EventAnswers)
	untrusted := func(e harness.Event) bool { return e.Kind == harness.EventClockUntrusted }
	if e, ok := a.first(0, harness.Forever, untrusted); ok {
		w.doubt = fmt.Sprintf("not known: the clock of %s did not run as it was taken to", e.Node)
	}
	if h.End == nil {
		w.end = "the record stops before the run did"
	}
	for _, t := range takeovers(a) {
		m := &failoverMeter{takeover: t, cause: t.causeOf(h.Faults), ceased: t.replaced(), over: harness.Forever}
		if n := len(w.all); n > 0 {
			m.before = w.all[n-1]
		}
		m.since = m.costsFrom(m.cause)
		m.done = max(t.ends(), addTime(max(t.until, m.ceased), t.late))
		for _, i := range m.cause.faults {
			m.groups = append(m.groups, h.Faults[i].Groups...)
		}
		w.expect(m)
	}
	return w
}

// expect adds the next meter. Windows begin in the order of the promotions.
func (w *failoverMeters) expect(m *failoverMeter) {
	m.opens = min(m.since, m.at-m.late)
	slices.Sort(m.groups)
	m.groups = slices.Compact(m.groups)
	key := fmt.Sprint(m.groups)
	if w.before[key] == nil {
		w.before[key] = &waited{groups: m.groups}
	}
	m.waited = w.before[key]
	m.waited.users++
	done := m.done
	if n := len(w.done); n > 0 {
		done = max(done, w.done[n-1])
	}
	w.all, w.done = append(w.all, m), append(w.done, done)
}

// open begins the windows that an operation which returned at t falls into.
func (w *failoverMeters) open(t time.Duration) {
	for ; w.opened < len(w.all) && w.all[w.opened].opens <= t; w.opened++ {
		m := w.all[w.opened]
		m.answers, m.writes = m.waited.answers, m.waited.writes
		if m.waited.users--; m.waited.users == 0 {
			delete(w.before, fmt.Sprint(m.groups))
		}
	}
}

// costsFrom returns when the takeover can have begun to cost anything. Without a cause it is when the primary can have
// fallen silent.
func (t *takeover) costsFrom(c cause) time.Duration {
	if len(c.faults) == 0 {
		return max(t.from, c.start-t.downAfter-missedWithin)
	}
	return max(t.from, c.start)
}

// add takes the next operation, in order of Return.
func (w *failoverMeters) add(op harness.Op) {
	if op.Client < 0 || !reachesPrimary(op) || len(w.all) == 0 {
		return
	}
	w.open(op.Return)
	group := w.meta.Group(op.Client)
	node := w.served.by(group, op.Return)
	refused := op.Denied() && w.isAnswer(op, group, node)
	for _, b := range w.before {
		if !slices.Contains(b.groups, group) {
			b.add(op, refused)
		}
	}
	first, _ := slices.BinarySearch(w.done[:w.opened], op.Call)
	for _, m := range w.all[first:w.opened] {
		if op.Call > m.done {
			continue
		}
		by := w.executor(m, op, node, group)
		m.count(op, by)
		if op.Return < m.ends() && !slices.Contains(m.groups, group) {
			m.hear(op, by, refused)
		}
	}
}

// isAnswer reports whether a refusal comes from a node that could have granted. served is the node that acknowledged the
// group's latest write: of a record that does not say who answered, that one did.
func (w *failoverMeters) isAnswer(op harness.Op, group int, served string) bool {
	switch {
	case w.answers.known:
		return w.acts.couldGrant(w.answers.by(group, op.Return), op.Call, op.Return)
	case w.served.known:
		return w.acts.couldGrant(served, op.Call, op.Return)
	}
	return true
}

// add takes the next operation, of a group that is not left out.
func (b *waited) add(op harness.Op, refused bool) {
	const start, over = harness.Forever, true // no gap ends here
	got := op.Outcome == harness.OK || refused
	b.answers.add(op, got, start, over)
	if asksToWrite(op) {
		b.writes.add(op, got, start, over)
	}
}

// reachesPrimary reports whether op asks something of the system. Updates of what a lock guards and deliveries stay in the harness.
func reachesPrimary(op harness.Op) bool {
	_, guarded := harness.GuardedBy(op.Key)
	return op.Kind != harness.Deliver && !(guarded && op.Kind == harness.Add)
}

// isWrite reports whether op is an acknowledged write to the system.
func isWrite(op harness.Op) bool { return asksToWrite(op) && op.Outcome == harness.OK }

// asksToWrite reports whether op, if it is granted, is a write.
func asksToWrite(op harness.Op) bool {
	return op.Kind == harness.Acquire || op.Kind == harness.Claim || op.Kind == harness.Next || op.Kind == harness.Add
}

// executor returns the node that executed the acknowledged operation, as far as this failover is concerned. node is who
// answered the group by then. If the record does not say who answered, the new primary did what was called after the
// promotion, or after the old primary's process had ended, except for clients that were cut off.
func (w *failoverMeters) executor(m *failoverMeter, op harness.Op, node string, group int) string {
	if w.served.known {
		return node
	}
	from := m.at
	for _, i := range m.cause.faults {
		switch f := w.faults[i]; {
		case slices.Contains(f.Groups, group) && op.Return <= f.Until():
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

// count takes an operation that the node executed.
func (m *failoverMeter) count(op harness.Op, node string) {
	switch {
	case !isWrite(op):
	case m.isByNew(op, node):
		if m.executed++; m.executed == 1 {
			m.first = op
		}
	case m.old == "" || node != m.old || op.Call <= m.at || m.reverted(op.Call) || op.Call > addTime(m.ceased, m.late):
	case m.couldGrant(node, op.Call, op.Return):
		m.minority++
	}
}

// reverted reports whether the new primary had been made a replica by then, before another took over: the old one is
// the only primary.
func (t *takeover) reverted(by time.Duration) bool { return t.until < t.end && by > t.until }

// replaced returns when the old primary was seen as a replica; harness.Forever: never. It may have become a primary
// again, in a later failover.
func (t *takeover) replaced() time.Duration {
	for _, r := range t.reigns[t.old] {
		if r.to > t.at {
			return r.to
		}
	}
	return harness.Forever
}

// hear takes the next operation of a client that was not cut off, executed or refused by the node. refused: by a node
// that may have been a primary, so that its refusal is an answer.
func (m *failoverMeter) hear(op harness.Op, node string, refused bool) {
	since, over := m.since, m.over < op.Return
	if m.before != nil && op.Return <= min(m.before.over, m.before.ends()) {
		since = op.Return // what ends now is the cost of the failover before
	}
	got := op.Outcome == harness.OK || refused
	m.answers.add(op, got, since, over)
	if asksToWrite(op) {
		m.writes.add(op, got, since, over)
	}
	if isWrite(op) && m.isByNew(op, node) {
		m.over = min(m.over, op.Return)
	}
}

// ends returns when the failover costs clients nothing more: the new primary is a replica again, or another took over.
func (t *takeover) ends() time.Duration { return min(t.end, t.until) }

// isByNew reports whether the new primary executed the operation that the node answered. Of a new primary without a
// name it is taken to have done what was called after the promotion.
func (m *failoverMeter) isByNew(op harness.Op, node string) bool {
	if m.new == "" {
		return op.Call > m.at && op.Call < m.end && (m.old == "" || node != m.old)
	}
	return node == m.new && op.Return >= m.at-m.late && m.reigned(op.Call, op.Return)
}

func (w *failoverMeters) failovers() []Failover {
	var all []Failover
	for _, m := range w.all {
		all = append(all, w.failover(m))
	}
	return all
}

// downtimeFrom returns from when on a time without writes is a cost of this failover: not before the new primary of the failover
// before took its first write.
func (m *failoverMeter) downtimeFrom() time.Duration {
	if m.before == nil {
		return m.since
	}
	return max(m.since, m.before.firstOwnWrite().At)
}

func (w *failoverMeters) failover(m *failoverMeter) Failover {
	f := Failover{
		Fault: -1, Name: m.cause.name, Old: m.old, New: m.new, Start: m.cause.start, Promoted: m.at,
		Stages: m.stages(m.cause), Servers: m.downtime(m.downtimeFrom()), Outage: m.answers.outage(), Writes: m.writes.outage(),
		Executed: m.executed, Minority: m.minority, Behind: m.behind(m.cause.start), later: m.late - seenWithin,
	}
	if len(m.cause.faults) > 0 {
		f.Fault = m.cause.faults[0]
	}
	if len(m.cause.faults) > 1 {
		f.OneOf = m.cause.faults
	}
	for _, i := range m.cause.beside {
		f.Beside = append(f.Beside, w.faults[i].Name)
	}
	if m.subject != m.old {
		f.Instead = m.subject
	}
	if m.until != harness.Forever {
		f.Until = m.until
	}
	if m.ceased != harness.Forever {
		f.Ceased = m.ceased
	}
	w.firstWrite(&f, m)
	w.doubtStages(&f)
	return f
}

// firstWrite fills in the stage of the first write.
func (w *failoverMeters) firstWrite(f *Failover, m *failoverMeter) {
	i := slices.Index(Milestones(), Writable)
	if m.executed > 0 {
		f.Stages[i] = seenAt(m.first.Return, fmt.Sprintf("client %d", m.first.Client))
		f.Stages[i].Name, f.Stages[i].After = Writable, m.first.Return-f.Start
	}
	if w.doubt != "" {
		f.Stages[i] = Stage{Name: Writable, Note: w.doubt}
		f.Outage, f.Writes, f.Executed, f.Minority = Outage{}, Outage{}, 0, 0
	}
}

// doubtStages says of stages that were not seen that the record may lack them.
func (w *failoverMeters) doubtStages(f *Failover) {
	for i, s := range f.Stages {
		if !s.Seen && w.end != "" && !strings.HasPrefix(s.Note, "not known") {
			f.Stages[i].Note = fmt.Sprintf("not known: %s, and until then %s", w.end, s.Note)
		}
	}
}
