package model

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

// Mind stands for everything that a client's threads have read so far, in order. It holds what the client did after the
// last thing that it read. Minds form a tree, with a branch for each thing read. Program.Observe and Program.Finally
// act on what they read as clients do, so each of their calls has minds in the same tree.
type Mind struct {
	Reaction
	Asks Ask // for a call of Observe or Finally: what it asks for; Reaction.Stop is unused then
	ID   visited.ID

	after map[Event]*Mind
}

// Reaction is what a client did after an event, until it waited again.
type Reaction struct {
	Acts    []Act // what the client did, in order
	Stop    Stop  // where the client waits
	Watches bool  // the client watches keys

	Threads   int    // threads that the client has or had besides its first
	Cancelled uint32 // a bit for each thread whose sleep was canceled by its context
}

// Act is something that a client does without waiting: it ends an operation or goes to sleep.
type Act struct {
	Op    harness.Op    // the operation, without valid times, if Sleep is 0
	Took  time.Duration // for an operation of Observe or Finally: how long it took
	Sleep time.Duration
	Rests bool // the client sleeps between two operations
}

// equal reports whether two acts are the same, comparing operations with EqualOps.
func (a Act) equal(b Act) bool {
	return a.Took == b.Took && a.Sleep == b.Sleep && a.Rests == b.Rests && EqualOps(a.Op, b.Op)
}

// EqualOps reports whether two operations are the same. The wording in which a library says that an outcome is unknown
// does not count, since how it notices the end of a connection may be chance.
func EqualOps(a, b harness.Op) bool {
	if a.Outcome == harness.Info && b.Outcome == harness.Info && isFreeText(a.Err) && isFreeText(b.Err) {
		a.Err = b.Err
	}
	return a == b
}

// isFreeText reports whether Op.Err is a wording on which no checker depends.
func isFreeText(reason string) bool {
	return reason != harness.Crashed && reason != harness.FewAcks && !harness.IsErrorReply(reason)
}

// Stop is where a client waits for the scheduler.
type Stop struct {
	Kind    StopKind
	Pending *command.Pending // for InCommand
	Joins   int              // for InJoin: the thread that it waits for
}

// StopKind is what a thread of a client does when it stops for the scheduler.
type StopKind uint8

// Kinds of Stop.
const (
	InCommand StopKind = iota // waits for the reply to a command
	InSleep                   // waits for time to pass, inside an operation
	InClock                   // is about to read its clock
	InWork                    // works between two operations, such as delivering a message
	InNap                     // sleeps, and has other threads
	InRead                    // waits for a message of its subscription
	InJoin                    // waits for another thread of its client to end
	InStart                   // a new thread that has not begun
	AtEnd                     // is done
	InMemory                  // waits for another goroutine of its process, such as for a mutex
	InMillis                  // is about to read its clock in whole milliseconds
)

// Event is something that a client, Observe or Finally reads or notices.
type Event struct {
	Kind     EventKind
	Thread   int  // the client's thread that reads it, from 0
	Promoted bool // a replica has been promoted, so a connection may lead to the old primary
	Text     string
	At       time.Duration // reading of a clock
}

// EventKind is what is read or noticed in an Event.
type EventKind uint8

// Kinds of Event.
const (
	Begins     EventKind = iota // the schedule begins; Text names the client
	Answered                    // Text is the reply
	Unanswered                  // there was no answer
	Cut                         // the connection's state was lost with its primary
	ClockRead                   // At is the reading of the clock
	Awake                       // the client's work or sleep is over
	Crashed                     // the client has crashed and gets no answers
	Observes                    // Observe begins, after the operation in Text
	// Finally begins, or gets an answer from interleave.After; Text is this answer
	Finishes
	Passed // time has passed for Observe or Finally; Text is the number of remaining keys
)

// Ask is what Observe or Finally asks for.
type Ask struct {
	Kind    AskKind
	Command command.Command // for AsksRedis
	For     time.Duration   // how much time is to pass
}

// AskKind is a kind of Ask.
type AskKind uint8

// Kinds of Ask.
const (
	AsksNothing AskKind = iota // the call of Observe or Finally has ended
	AsksRedis
	AsksPass
	AsksPassAll
	AsksClock
	AsksOps
	AsksOwnerRefused
)

// After returns the mind after an event; nil: unknown.
func (n *Mind) After(event Event) *Mind { return n.after[event] }

// child returns the mind that follows parent after an event. It adds this mind if necessary.
func (m *Memory) child(parent *Mind, event Event) (next *Mind, isNew bool) {
	if next := parent.after[event]; next != nil {
		return next, false
	}
	if parent.after == nil {
		parent.after = map[Event]*Mind{}
	}
	m.grow()
	next = &Mind{ID: event.IDAfter(parent.ID)}
	parent.after[event] = next
	return next, true
}

// IDAfter returns the ID of the mind that a client has after the event, given the ID of its mind before the event.
func (e Event) IDAfter(before visited.ID) visited.ID {
	b := visited.AppendInts(visited.AppendID(nil, before), e.Kind)
	if e.Thread > 0 {
		b = visited.AppendInts(b, -e.Thread)
	}
	return visited.IDOf(visited.AppendText(visited.AppendInts(visited.AppendBools(b, e.Promoted), e.At), e.Text))
}

// Learn stores what a client did after an event. It gets the client's mind before the event, and returns the client's
// mind from then on. The error wraps schedule.ErrNotRepeated if the client did something else the last time. The error
// calls scripts by their names in the table scripts.
func (m *Memory) Learn(client fmt.Stringer, before *Mind, event Event, did Reaction,
	scripts *command.Scripts) (*Mind, error) {
	next, isNew := m.child(before, event)
	if isNew {
		next.Reaction = did
		return next, nil
	}
	switch known := next.Reaction; {
	case (did.Stop.Kind == AtEnd) != (known.Stop.Kind == AtEnd):
		return nil, schedule.Diverged(client)
	case len(known.Acts) != len(did.Acts):
		return nil, fmt.Errorf("%w: %s ended %s and then %s, but ended %s and then %s when all was the same before",
			schedule.ErrNotRepeated,
			client, did.endedText(), did.Stop.inWords(scripts), known.endedText(), known.Stop.inWords(scripts))
	case !known.Stop.sameCommand(did.Stop):
		return nil, fmt.Errorf("%w: %s %s, and %s when all was the same before", schedule.ErrNotRepeated, client,
			did.Stop.inWords(scripts), known.Stop.inWords(scripts))
	case known.Threads != did.Threads || known.Cancelled != did.Cancelled || known.Stop.Joins != did.Stop.Joins:
		m.Disable("a client's threads behave differently each time")
	case !slices.EqualFunc(known.Acts, did.Acts, Act.equal) || known.Watches != did.Watches ||
		!known.Stop.sameBytes(did.Stop):
		m.Disable("a client's commands or results differ each time, as random tokens do")
	}
	return next, nil
}

// LearnLook stores what Observe or Finally did after an event, and what it asked for next. It gets the mind before the
// event, and returns the mind from then on.
func (m *Memory) LearnLook(before *Mind, event Event, acts []Act, next Ask) *Mind {
	n, isNew := m.child(before, event)
	if isNew {
		n.Acts, n.Asks = acts, next
	} else if !slices.Equal(n.Acts, acts) || n.Asks.Kind != next.Kind || n.Asks.For != next.For ||
		!bytes.Equal(n.Asks.Command.Raw, next.Command.Raw) {
		m.Disable("the program does not look at the store in the same way each time")
	}
	return n
}

func (d Reaction) endedText() string {
	n := 0
	for _, a := range d.Acts {
		if a.Sleep == 0 {
			n++
		}
	}
	switch n {
	case 0:
		return "no operation"
	case 1:
		return "1 operation"
	}
	return fmt.Sprintf("%d operations", n)
}

// sameCommand reports whether two stops have the same kind. If the client waits for a reply, its command has to have
// the same name and keys as well.
func (s Stop) sameCommand(other Stop) bool {
	if s.Kind != other.Kind || s.Kind != InCommand {
		return s.Kind == other.Kind
	}
	x, y := s.Pending.Next(), other.Pending.Next()
	return bytes.Equal(x.Args[0], y.Args[0]) && slices.Equal(x.Reads, y.Reads) && slices.Equal(x.Writes, y.Writes)
}

// sameBytes reports whether two stops send the same bytes. Call it only if sameCommand returns true for them.
func (s Stop) sameBytes(other Stop) bool {
	return s.Kind != InCommand || bytes.Equal(s.Pending.Transaction, other.Pending.Transaction) &&
		slices.EqualFunc(s.Pending.Queue, other.Pending.Queue, func(a, b command.Command) bool {
			return bytes.Equal(a.Raw, b.Raw)
		})
}

// inWords describes the stop in words that follow a client's name, such as "sent GET k".
func (s Stop) inWords(scripts *command.Scripts) string {
	switch s.Kind {
	case InCommand:
		return "sent " + strings.TrimSpace(s.Pending.Next().Text(scripts))
	case InSleep, InNap:
		return "slept"
	case InClock, InMillis:
		return "looked at its clock"
	case InWork:
		return "worked between two operations"
	case AtEnd:
		return "was done"
	}
	return "waited"
}
