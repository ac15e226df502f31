package explore

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/explore/internal/findings"
	"github.com/doublegrant/doublegrant/harness/explore/internal/keyspace"
	"github.com/doublegrant/doublegrant/harness/explore/internal/model"
	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
	"github.com/doublegrant/doublegrant/harness/explore/internal/visited"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// This file detects that two schedules reach the same state. What follows is then the same for both, step by step, and
// so is what checkers see of it. So it is explored once. Two states are the same if these are equal:
//
// - the content of the primary, and of the replica to be promoted, and the watched keys;
// - every client's mind, its sleep and its current operation;
// - the number of steps, the time, the rest of the budget, the late commands, and the sleep set, since it prunes what
//   follows;
// - the history, except for the order of concurrent operations, which independent moves can change. Of a time only the
//   millisecond counts, and which operations had ended when another began. If a checker has found something, its place
//   in the schedule counts too, or a shorter counterexample would be lost.
//
// A state is stored as a hash of 128 bits. The hash is the same in every process, so that another can continue the
// search: it contains no pointers, and no numbers that depend on the order of discovery.

// states holds the states that a part's schedules have reached.
type states struct {
	*visited.Table
	describing sync.Mutex          // guards the fields below
	suspects   map[visited.ID]bool // by history: whether a checker finds something in it
	buf        []byte
}

// newStates returns the states of a part that begins with some known states.
func newStates(known *visited.Table) *states {
	return &states{Table: known, suspects: map[visited.ID]bool{}}
}

// visit returns the ID of the schedule's current state, and whether the state was known. A new state counts as known
// from now on.
func (t *states) visit(ctx context.Context, ex *execution, asleep []*schedule.Move) (id visited.ID, known bool) {
	t.describing.Lock()
	defer t.describing.Unlock()
	t.buf = ex.appendHistory(t.buf[:0])
	history := visited.IDOf(t.buf)
	t.buf = ex.appendState(t.buf, asleep)
	if t.checkHistory(ctx, history, ex) {
		for _, a := range findings.Check(ctx, ex.spec.Checkers, ex.historySoFar()).Anomalies {
			t.buf = visited.AppendInts(visited.AppendText(t.buf, string(a.Class)),
				findings.LengthUntil(ex.stepTimes, a.To))
		}
	}
	if a := ex.undeclared; a != nil {
		t.buf = visited.AppendInts(visited.AppendText(t.buf, string(a.Class)), findings.LengthUntil(ex.stepTimes, a.To))
	}
	id = visited.IDOf(t.buf)
	return id, t.Visit(id)
}

// checkHistory reports whether a checker finds something in the history so far. The argument history is the hash of
// this history, so that equal histories are checked once.
func (t *states) checkHistory(ctx context.Context, history visited.ID, ex *execution) bool {
	if len(ex.ops) == 0 {
		return false
	}
	found, known := t.suspects[history]
	if !known {
		found = len(findings.Check(ctx, ex.spec.Checkers, ex.historySoFar()).Anomalies) > 0
		if len(t.suspects) < visited.MostStates {
			t.suspects[history] = found
		}
	}
	return found
}

// historySoFar returns the history of a schedule under way, which has no end.
func (ex *execution) historySoFar() harness.History {
	h := ex.history()
	h.End = nil
	return h
}

// appendHistory appends to b the operations so far, client by client.
func (ex *execution) appendHistory(b []byte) []byte {
	of := harness.Meta{Workers: len(ex.actors) + 1}
	for client := harness.HarnessClient; client <= len(ex.actors); client++ {
		for i := range ex.ops {
			op := &ex.ops[i]
			if of.Worker(op.Client) != client {
				continue
			}
			b = visited.AppendInts(b, client+2, op.Client)
			b = visited.AppendText(b, string(op.Kind))
			b = visited.AppendText(visited.AppendText(visited.AppendText(visited.AppendText(b, op.Key), op.Arg),
				op.Result), op.Err)
			b = visited.AppendInts(b, op.TTL, op.Until, op.Due, op.Call/keyspace.Grain, op.Return/keyspace.Grain)
			b = visited.AppendInts(b, op.Outcome)
			b = ex.appendEndedBefore(b, op.Call)
		}
	}
	if ex.promoted { // the checkers know it
		b = ex.appendInstant(append(b, 1), ex.lostFrom)
	}
	return append(b, 0)
}

// appendCall appends to b the time from which the lease or window of the current operation is counted, if that is known
// already: see calledAt.
func (a *actor) appendCall(b []byte) []byte {
	if a.slept && a.countsFromEffect() {
		b = append(b, 2)
	}
	if !a.inOp {
		return b
	}
	b = a.ex.appendInstant(b, a.callAt)
	if a.tookEffect && a.countsFromEffect() {
		b = a.ex.appendInstant(append(b, 1), a.tookEffectAt)
	}
	return b
}

// appendInstant appends an instant to b: its millisecond, and how many operations of each client had ended before it.
func (ex *execution) appendInstant(b []byte, at time.Duration) []byte {
	return ex.appendEndedBefore(visited.AppendInts(b, at/keyspace.Grain), at)
}

// appendEndedBefore appends to b how many operations of each client had ended before a given time.
func (ex *execution) appendEndedBefore(b []byte, at time.Duration) []byte {
	of := harness.Meta{Workers: len(ex.actors) + 1}
	var counts [interleave.MaxClients + 2]uint8
	for i := range ex.ops {
		if ex.ops[i].Return < at {
			counts[of.Worker(ex.ops[i].Client)+1]++
		}
	}
	return append(b, counts[:len(ex.actors)+2]...)
}

// appendState appends to b what decides how the schedule can go on, apart from what the clients have seen: the state of
// Redis, the rest of the budget, the late commands, and the moves that need not be tried here.
func (ex *execution) appendState(b []byte, asleep []*schedule.Move) []byte {
	b = visited.AppendInts(b, len(ex.path))
	b = ex.backend.describe(b)
	r := ex.remaining
	b = visited.AppendInts(b, r.Crashes, r.Expiries, r.Approaches, r.Failovers, r.Flushes,
		r.LostAnswers, r.LostCommands, r.Late)
	b = visited.AppendBools(b, ex.replicationStopped, ex.wroteSinceStop, ex.promoted, ex.slowUsed, ex.TTLSet,
		ex.ClockRead, ex.Expired, ex.TooManyEnds, ex.GrantedFree != "")
	// decides which client can crash, and otherwise only the order in which moves are tried
	if ex.last != nil && r.Crashes > 0 {
		b = visited.AppendBools(visited.AppendInts(b, ex.last.index+1, ex.last.thread), ex.justStepped)
	}
	if len(ex.path) > 0 { // time does not pass twice in a row
		b = visited.AppendBools(b, ex.path[len(ex.path)-1].IsTime())
	}
	for i := range ex.lateCommands {
		l := &ex.lateCommands[i]
		b = visited.AppendBools(b, l.arrived, l.at < len(ex.path))
		b = visited.AppendInts(b, l.client, l.node, len(l.commands))
		for _, c := range l.commands {
			b = visited.AppendText(b, string(c.Raw))
		}
		if l.pending != nil {
			b = visited.AppendText(b, string(l.pending.Transaction))
		}
		b = appendWatched(b, l.watched)
	}
	met := slices.Clone(ex.situations)
	slices.Sort(met)
	for _, name := range met {
		b = visited.AppendText(b, string(name))
	}
	sleeping := slices.Clone(asleep)
	slices.SortFunc(sleeping, func(x, y *schedule.Move) int { return int(x.Choice) - int(y.Choice) })
	for _, m := range sleeping {
		b = visited.AppendInts(b, m.Choice)
		b = visited.AppendBools(b, m.Begins, m.Ends, m.TimePasses, m.Silent, m.DependsOnTime, m.Approaches)
	}
	return b
}

// appendMinds appends to b the store and each client's state, in a schedule from memory.
func (ex *modelled) appendMinds(b []byte) []byte {
	ex.store = ex.store.At(ex.memory, ex.now)
	b = visited.AppendID(b, ex.store.ID)
	if ex.replicationStopped {
		b = visited.AppendID(b, ex.replica.ID)
	}
	if ex.hasThreads() {
		for _, a := range ex.actors {
			if ex.isAlive(a.index) {
				b = appendWatched(visited.AppendID(b, a.mind.ID), a.watched)
			}
		}
		return ex.appendThreads(b)
	}
	b = visited.AppendInts(b, ex.now)
	for _, a := range ex.actors {
		b = a.appendState(b)
	}
	return b
}

// appendState appends a client's state to b. If the client is done or has crashed, what it has read does not matter.
func (a *actor) appendState(b []byte) []byte {
	if a.done {
		return append(b, 2)
	}
	b = visited.AppendID(b, a.mind.ID)
	b = visited.AppendBools(b, a.started, a.done, a.crashed, a.cutOffUnrecorded, a.inOp, a.commands > 0)
	b = a.appendCall(b)
	if a.wakeAt > a.ex.now {
		b = visited.AppendInts(b, a.wakeAt)
	}
	return appendWatched(visited.AppendText(append(b, 0), string(a.unansweredCommand)), a.watched)
}

func appendWatched(b []byte, watched []model.Watched) []byte {
	for _, k := range watched {
		b = visited.AppendBools(visited.AppendText(b, k.Name), k.Existed, k.Touched)
	}
	return append(b, 0)
}
