package explore

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// This file brings commands to Redis and answers to clients, in time, late or never.

// deliver brings a client's command to Redis and its answer to the client, unless the choice says that one of them is
// lost.
func (ex *execution) deliver(c interleave.Choice, a *actor) error {
	gate := a.at.conn
	if a.lost != nil && bytes.Equal(a.lost, gate.queue[0].raw) {
		ex.meet(harness.SentAgain)
	}
	switch c.Kind() {
	case interleave.LosesAnswers:
		ex.left.LostAnswers--
		if gate.queue[0].changes() {
			a.lost = gate.queue[0].raw
		}
		err := ex.send(gate)
		gate.out, gate.failed = nil, errUnanswered
		ex.trace.unanswered("the answer is lost")
		ex.meet(harness.AnswerLost)
		return err
	case interleave.LosesCommands:
		ex.left.LostCommands--
		ex.trace.unsent(ex, gate.queue[0], "the command is lost")
		gate.failed = errUnanswered
		ex.meet(harness.CommandLost)
	case interleave.Delays:
		ex.left.Late--
		ex.trace.unsent(ex, gate.queue[0], "no answer: the command is late")
		left, err := gate.leave()
		if err != nil {
			return err
		}
		left.client, left.at, left.arrived = a.index, len(ex.path), left.wire == nil
		ex.late = append(ex.late, left)
	default:
		return ex.send(gate)
	}
	return nil
}

// arrive executes a command that its client has given up.
func (ex *execution) arrive(n int) (did move, err error) {
	if n >= len(ex.late) || ex.late[n].arrived {
		return did, fmt.Errorf("%w: there is no late command %d", errDiverged, n+1)
	}
	l := &ex.late[n]
	l.arrived = true
	ex.meet(harness.CommandLate)
	did.access = l.access()
	for _, c := range l.commands {
		reply, err := l.wire.ask(c.raw, 1)
		if err != nil {
			return did, err
		}
		ex.trace.arrived(ex, *l, c, reply)
		ex.executed(c, reply)
	}
	return did, nil
}

// send sends the next command of a connection and looks at the reply.
func (ex *execution) send(c *conn) error {
	next := c.queue[0]
	if next.blocks() {
		return stopped("client %d's %s waits for what others do, which cannot be explored", ex.last+1, strings.ToUpper(name(next.args)))
	}
	before := len(c.out)
	if err := c.send(); err != nil {
		return err
	}
	reply := c.out[before:]
	ex.trace.sent(ex, next, reply, c.failed)
	if ex.unacknowledged(next, reply) {
		ex.disturbed = true
	}
	ex.executed(next, reply)
	if wait := next.waits(); wait > 0 && next.acks() > ex.w.hearing() {
		return ex.passTo(ex.now + wait)
	}
	return nil
}

// executed notes the effects of an executed command on what can happen next.
func (ex *execution) executed(c command, reply []byte) {
	if c.changes() {
		ex.known = false
		ex.used = ex.used || ex.held
	}
	ex.timed = ex.timed || c.setsTTL()
	if c.scripts {
		ex.w.learn(c)
	}
	ex.clocked = ex.clocked || c.readsClock(ex.w)
	if missing(reply) {
		ex.meet(harness.ScriptMissing)
		ex.disturbed = ex.disturbed || ex.w.primary == firstPrimary && !ex.w.flushed
	}
}

// unacknowledged reports whether a WAIT got fewer acknowledgements than it asked for, or than there are replicas that hear
// the primary if those are fewer.
func (ex *execution) unacknowledged(c command, reply []byte) bool {
	wanted := min(c.acks(), ex.w.hearing())
	got, err := integer(reply)
	return wanted > 0 && err == nil && got < wanted
}
