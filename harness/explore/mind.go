package explore

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/explore/internal/command"
	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
	"github.com/doublegrant/doublegrant/harness/explore/internal/visited"
)

// mind stands for all that a client has read so far, and holds what it did then. Minds form a tree: each branch is one thing that is
// read. The program's own looks at the store are in the same tree.
type mind struct {
	acts    []act // what it did, in its order
	at      parked
	watches bool // it watches keys
	asks    ask  // of the program's look at the store: what it asks for; at is not used
	after   map[event]*mind
	id      visited.ID // of all that was read: tells minds apart
}

// act is one thing that a client does without waiting: it ends an operation or goes to sleep.
type act struct {
	op    harness.Op    // valid if sleep is 0. Times are not valid
	took  time.Duration // of an operation of the program's own: how long it took
	sleep time.Duration
}

// event is one thing that a client, or the program's look at the store, reads or notices.
type event struct {
	kind     eventKind
	promoted bool // a replica has been promoted: a connection may lead to the old primary
	text     string
	at       time.Duration // of a clock
}

type eventKind uint8

const (
	begins     eventKind = iota // the schedule begins; text says for whom
	answered                    // text is the reply
	unanswered                  // there is no answer
	cut                         // the connection's state was lost with its primary
	looked                      // at is what the clock shows
	awake                       // its work or its sleep is over
	crashed                     // nothing is answered any more
	observes                    // the program looks at the store after an operation, which text describes
	finishes                    // the program looks at the store at the end of the schedule
	passed                      // time has passed; text says how many keys are left
)

// ask is something that the program's look at the store waits for.
type ask struct {
	kind    askKind
	command command.Command
	d       time.Duration // by how much time is to pass
}

type askKind uint8

const (
	asksNothing askKind = iota // it has ended
	asksRedis
	asksPass
	asksPassAll
	asksClock
	asksOps
)

// child returns the mind after an event, and makes it if it is not known yet.
func (m *memory) child(of *mind, heard event) (next *mind, isNew bool) {
	if next := of.after[heard]; next != nil {
		return next, false
	}
	if of.after == nil {
		of.after = map[event]*mind{}
	}
	m.grow()
	next = &mind{id: heard.after(of.id)}
	of.after[heard] = next
	return next, true
}

// after returns the id of the mind that has noticed the event after all that of stands for.
func (e event) after(of visited.ID) visited.ID {
	b := visited.AppendInts(visited.AppendID(nil, of), e.kind)
	return visited.IDOf(visited.AppendText(visited.AppendInts(visited.AppendBools(b, e.promoted), e.at), e.text))
}

// noteAct keeps an act of the actor, until it waits again.
func (a *actor) noteAct(done act) {
	if a.ex.memory != nil {
		done.op.Call, done.op.Return = 0, 0
		a.acts = append(a.acts, done)
	}
}

// learnMind keeps what a client that has just come to its next wait has done since the last. The error wraps schedule.ErrNotRepeated if it did
// something else the last time.
func (ex *execution) learnMind(a *actor) error {
	m := ex.memory
	if !ex.learns() {
		return nil
	}
	if a.mind == nil || a.hasThreads() || len(ex.waiters) > 0 {
		m.disable("a client has several threads")
		return nil
	}
	acts := a.acts
	a.acts = nil
	watches := ex.w.dialers[a.index].watching()
	if watches > 1 {
		m.disable("a client watches keys on two connections")
	}
	if watches == 0 {
		a.watched = nil
	}
	if a.clockReads > a.records+1 || slices.ContainsFunc(acts, func(d act) bool { return d.op.Until != 0 || d.op.Due != 0 }) {
		m.disable("a client looks at the time of the schedule")
	}
	at := parked{kind: a.parkedAt.kind}
	switch at.kind {
	case inCommand:
		at.pending = a.parkedAt.pending.Snapshot()
	case inSleep, inClock, inWork, atEnd:
	default:
		m.disable("a client waits for something else than an answer")
	}
	a.heard.promoted = ex.promoted
	next, isNew := m.child(a.mind, a.heard)
	if isNew {
		next.acts, next.at, next.watches = acts, at, watches > 0
	} else if err := ex.compareMinds(a, next, acts, at, watches > 0); err != nil {
		return err
	}
	a.mind = next
	return nil
}

// compareMinds compares what a client did with what it did the last time after reading the same.
func (ex *execution) compareMinds(a *actor, known *mind, acts []act, at parked, watches bool) error {
	if (at.kind == atEnd) != (known.at.kind == atEnd) {
		return diverged(a)
	}
	if known.at.kind != at.kind || len(known.acts) != len(acts) || at.kind == inCommand && !sameStep(known.at.pending, at.pending) {
		return fmt.Errorf("%w: %s %s, and %s when all was the same before", schedule.ErrNotRepeated, a, at.does(ex.w.Scripts), known.at.does(ex.w.Scripts))
	}
	same := slices.Equal(known.acts, acts) && known.watches == watches
	if at.kind == inCommand {
		same = same && slices.EqualFunc(known.at.pending.Queue, at.pending.Queue, func(a, b command.Command) bool { return bytes.Equal(a.Raw, b.Raw) }) &&
			bytes.Equal(known.at.pending.Transaction, at.pending.Transaction)
	}
	if !same {
		ex.memory.disable("a client's commands or results differ each time, as random tokens do")
	}
	return nil
}

// does says what a client does at the place where it waits, after its name.
func (at parked) does(s *command.Scripts) string {
	switch at.kind {
	case inCommand:
		return "sent " + strings.TrimSpace(at.pending.Queue[0].Text(s))
	case inSleep, inNap:
		return "slept"
	case inClock:
		return "looked at its clock"
	case inWork:
		return "worked between two operations"
	case atEnd:
		return "was done"
	}
	return "waited"
}

// sameStep reports whether two commands that come next have the same name and touch the same keys.
func sameStep(a, b *command.Pending) bool {
	x, y := a.Queue[0], b.Queue[0]
	return bytes.Equal(x.Args[0], y.Args[0]) && slices.Equal(x.Reads, y.Reads) && slices.Equal(x.Writes, y.Writes)
}

// watching counts the connections on which the client watches keys.
func (s *dialer) watching() (n int) {
	for _, c := range s.watchers {
		if len(c.Watched) > 0 && !c.isGone() && c.wire != nil {
			n++
		}
	}
	return n
}
