package explore

import (
	"bytes"
	"fmt"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/explore/internal/command"
	"github.com/doublegrant/doublegrant/harness/explore/internal/model"
	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// This file sends commands to Redis and answers to clients: in time, late or never.

// deliver carries out a client's command as the choice says: normally, slowly, late, or so that the command or its
// answer is lost. It returns what the client reads. It also reports whether Redis blocks the command, so that there is
// no answer yet.
func (ex *execution) deliver(c interleave.Choice, a *actor) (event model.Event, blocks bool, err error) {
	next := *a.parkedAt.Pending.Next()
	if a.unansweredCommand != nil && bytes.Equal(a.unansweredCommand, next.Raw) {
		ex.noteSituation(harness.SentAgain)
	}
	switch c.Kind() {
	case interleave.LosesAnswers:
		ex.remaining.LostAnswers--
		if next.Changes() {
			a.unansweredCommand = next.Raw
		}
		err = ex.backend.sendUnanswered(a)
		ex.trace.Unanswered("the answer is lost")
		ex.noteSituation(harness.AnswerLost)
		return model.Event{Kind: model.Unanswered}, false, err
	case interleave.LosesCommands:
		ex.remaining.LostCommands--
		ex.trace.Unsent(next, "the command is lost")
		ex.backend.drop(a)
		ex.noteSituation(harness.CommandLost)
		return model.Event{Kind: model.Unanswered}, false, nil
	case interleave.Delays:
		ex.remaining.Late--
		ex.trace.Unsent(next, "no answer: the command is late")
		event, err = ex.delay(a)
		return event, false, err
	}
	if c.Kind() == interleave.Slows {
		return ex.deliverSlowly(a)
	}
	return ex.backend.send(a)
}

// deliverSlowly executes a command that reads the server's clock, and lets a millisecond pass during its execution.
// Redis expires keys by the time at which the command began, even if TIME inside a script returns a later one.
func (ex *execution) deliverSlowly(a *actor) (event model.Event, blocks bool, err error) {
	ex.noteSituation(harness.ScriptSlow)
	ex.slowUsed, ex.slowNow = true, true
	event, blocks, err = ex.backend.send(a)
	if ex.slowNow = false; err != nil {
		return event, blocks, err
	}
	return event, blocks, ex.passTo(ex.nextMillisecond())
}

// delay lets an actor go on without an answer to its next command, and keeps the command as a late one.
func (ex *execution) delay(a *actor) (event model.Event, err error) {
	late, event, err := ex.backend.giveUp(a)
	if err != nil {
		return event, err
	}
	late.client, late.at = a.index, len(ex.path)
	if !late.arrived {
		for i := range late.commands[1:] { // the first has its Access already
			late.commands[i+1].Access, _ = command.AccessOf(late.commands[i+1].Args)
		}
		if len(late.pending.Watched) > 0 {
			late.watched, a.watched = a.watched, nil
		}
	}
	ex.lateCommands = append(ex.lateCommands, late)
	return event, nil
}

// arrive executes a late command.
func (ex *execution) arrive(n int) (did schedule.Move, err error) {
	if n >= len(ex.lateCommands) || ex.lateCommands[n].arrived {
		return did, fmt.Errorf("%w: there is no late command %d", schedule.ErrNotRepeated, n+1)
	}
	l := &ex.lateCommands[n]
	l.arrived = true
	ex.noteSituation(harness.CommandLate)
	did = ex.arrivalOf(n)
	return did, ex.backend.execute(l)
}

// noteEffects records those effects of an executed command that decide what can happen later: it wrote while
// replication was stopped, gave a key a TTL, or read a clock. It also records that Redis lacked a script.
func (ex *execution) noteEffects(c command.Command, reply []byte) {
	if c.Changes() {
		ex.wroteSinceStop = ex.wroteSinceStop || ex.replicationStopped
	}
	if c.Meaning != nil { // computed before
		ex.TTLSet, ex.ClockRead = ex.TTLSet || c.Meaning.Sets, ex.ClockRead || c.Meaning.Clock
	} else {
		ex.TTLSet, ex.ClockRead = ex.TTLSet || c.SetsTTL(), ex.ClockRead || ex.w.Scripts.ReadsClock(c.Args)
	}
	if saysNoScript(reply) {
		ex.noteSituation(harness.ScriptMissing)
	}
}
