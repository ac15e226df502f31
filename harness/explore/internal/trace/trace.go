// Package trace writes down the steps of a schedule for people: what was sent and answered, and what the client
// believes from then on.
package trace

import (
	"fmt"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/explore/internal/command"
	"github.com/doublegrant/doublegrant/harness/explore/internal/keyspace"
	"github.com/doublegrant/doublegrant/harness/explore/internal/resp"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// Trace writes down the steps of a schedule for people. A nil trace writes nothing.
type Trace struct {
	Steps   []interleave.Step
	Stores  bool             // the store after each step is written down as well
	scripts *command.Scripts // the names of scripts
	names   command.Names    // short forms of words and scripts in the steps so far
}

// New returns a trace without steps. The table scripts holds the names of scripts. If stores is true, the store after
// each step is written as well.
func New(scripts *command.Scripts, stores bool) *Trace {
	return &Trace{Stores: stores, scripts: scripts, names: command.Names{}}
}

// text writes a command, with this schedule's short forms.
func (t *Trace) text(c command.Command) string { return c.TextAmong(t.scripts, t.names) }

// Keys writes keys, with this schedule's short forms.
func (t *Trace) Keys(all ...string) string {
	var shown []string
	for _, k := range all {
		shown = append(shown, t.names.Short(resp.Printable(k)))
	}
	return resp.Clip(strings.Join(shown, ", "), longKeys)
}

// longKeys bounds a list of keys, in bytes.
const longKeys = 120

// Current returns the current step; nil: nothing is written.
func (t *Trace) Current() *interleave.Step {
	if t == nil {
		return nil
	}
	return &t.Steps[len(t.Steps)-1]
}

// also appends words to the text of a step. If the text is not empty, the separator sep comes first.
func also(s *interleave.Step, sep, what string) {
	if s.Command != "" {
		s.Command += sep
	}
	s.Command += what
}

// StartStep begins a step.
func (t *Trace) StartStep(at time.Duration, c interleave.Choice) {
	if t == nil {
		return
	}
	s := interleave.Step{Number: len(t.Steps) + 1, At: at, Choice: c}
	i, isClient := c.Client()
	switch {
	case !isClient:
		s.Command = map[interleave.Choice]string{
			interleave.StopReplication: "replication stops: the replica hears nothing from here on",
			interleave.Promote:         "the replica becomes the primary, without what it did not hear",
			interleave.FlushScripts:    "SCRIPT FLUSH",
		}[c]
	case c.IsCrash():
		s.Client, s.Command = i+1, "crashes"
	default:
		s.Client = i + 1
	}
	t.Steps = append(t.Steps, s)
}

// Sent writes a command and its reply. If lost is not nil, the client gets this error instead of the reply.
func (t *Trace) Sent(c command.Command, reply []byte, lost error) {
	s := t.Current()
	if s == nil {
		return
	}
	waits := s.Command // the client slept before
	if waits != "" {
		waits += ", then "
	}
	if s.Command = waits + t.text(c); command.Name(c.Args) == "exec" {
		s.Command = waits + "MULTI … EXEC, writes " + t.Keys(c.Writes...)
	}
	if s.Choice.Kind() == interleave.Slows {
		s.Command += ", while a millisecond passes"
	}
	if lost != nil {
		s.Reply = "(lost) " + lost.Error()
		return
	}
	if reply != nil {
		s.Reply = resp.ReplyText(reply)
	}
}

// Unsent writes a command that Redis does not execute in this step, and why.
func (t *Trace) Unsent(c command.Command, why string) {
	t.Sent(c, nil, nil)
	t.Unanswered(why)
}

// Unanswered writes that the client gets no answer, and why.
func (t *Trace) Unanswered(why string) {
	if s := t.Current(); s != nil {
		s.Reply = strings.TrimSpace(s.Reply + " (" + why + ")")
	}
}

// Crashed writes that a client's crash also ends the other members of its process. Both parameters count clients from
// 0.
func (t *Trace) Crashed(members []int, client int) {
	if t == nil {
		return
	}
	for _, i := range members {
		if i != client {
			t.Current().Command += fmt.Sprintf(", and client %d with it", i+1)
		}
	}
}

// ClockRead writes the reading of a client's clock.
func (t *Trace) ClockRead(at time.Duration) {
	if s := t.Current(); s != nil {
		also(s, ", then ", "looks at its clock")
		s.Reply = at.String()
	}
}

// Arrived writes a late command that is executed, and which client sent it. The parameter client counts from 0.
func (t *Trace) Arrived(client int, c command.Command, reply []byte) {
	if s := t.Current(); s != nil {
		also(s, "; ", fmt.Sprintf("client %d's %s arrives", client+1, t.text(c)))
		s.Reply = resp.ReplyText(reply)
	}
}

// WentOn writes how a wait for something other than Redis has ended.
func (t *Trace) WentOn(how string) {
	if s := t.Current(); s != nil && s.Command == "" {
		s.Command = how
	}
}

// Received writes what arrived for a waiting client.
func (t *Trace) Received(what, reply string) {
	if s := t.Current(); s != nil {
		s.Command, s.Reply = "gets the "+what, reply
	}
}

// TimedOut writes that a wait has timed out.
func (t *Trace) TimedOut(what string) {
	if s := t.Current(); s != nil {
		also(s, ": ", "no "+what)
	}
}

// Waited writes that a client slept before its step.
func (t *Trace) Waited(d time.Duration) {
	if s := t.Current(); s != nil && s.Command == "" {
		s.Command = fmt.Sprintf("waits %v", rounded(d))
	}
}

// Passed writes that the time d passes, and which keys expire at its end (gone) or right after it (last). The parameter
// timeLeft is what the line says before the names of the latter: "1ms remains of".
func (t *Trace) Passed(d time.Duration, gone []string, timeLeft string, last []string) {
	s := t.Current()
	if s == nil {
		return
	}
	s.Command = fmt.Sprintf("%v pass", rounded(d))
	if len(gone) > 0 {
		s.Command += ": " + t.Keys(gone...) + " expires"
	}
	if len(last) > 0 {
		s.Command += ": " + timeLeft + " " + t.Keys(last...)
	}
}

// rounded returns d rounded up to whole milliseconds, since the missing microseconds passed in earlier steps.
func rounded(d time.Duration) time.Duration { return keyspace.RoundUp(d, keyspace.Grain) }

// FinishStep ends a step. The parameter ended lists the operations that ended in the step. The parameter seen lists the
// operations by which Program.Observe read the store afterwards.
func (t *Trace) FinishStep(ended, seen []harness.Op) {
	s := t.Current()
	if s == nil {
		return
	}
	var beliefs []string
	for _, op := range ended {
		if s.Command == "" {
			s.Command = strings.TrimSpace(string(op.Kind) + " " + op.Key)
		}
		if b := belief(op); b != "" {
			beliefs = append(beliefs, b)
		}
	}
	for _, op := range seen {
		beliefs = append(beliefs, storedText(op))
	}
	s.Belief = resp.Printable(strings.Join(beliefs, "; "))
}

// Probed writes an operation of the harness after the last step.
func (t *Trace) Probed(op harness.Op) {
	if t == nil {
		return
	}
	t.Steps = append(t.Steps, interleave.Step{
		Number: len(t.Steps) + 1, At: op.Return, Choice: interleave.Probe,
		Command: strings.TrimSpace(string(op.Kind) + " " + op.Key),
		Reply:   answer(op), Belief: probeBelief(op),
	})
}

func answer(op harness.Op) string {
	switch {
	case op.Outcome == harness.OK && op.Result != "":
		return resp.Printable(op.Result)
	case op.Outcome == harness.OK:
		return "ok"
	}
	return strings.TrimSpace(op.Outcome.String() + " " + resp.Printable(op.Err))
}

// belief returns what a client believes when its operation has ended; empty: nothing new.
func belief(op harness.Op) string {
	switch {
	case op.Outcome == harness.Info:
		return "does not know whether its " + string(op.Kind) + " happened"
	case op.Outcome == harness.Fail && !op.Denied():
		return "knows that its " + string(op.Kind) + " did not happen"
	case op.Kind == harness.Acquire && op.Outcome == harness.OK:
		b := fmt.Sprintf("holds %s until %v", op.Key, (op.Call + op.TTL).Truncate(keyspace.Grain))
		if op.Result != "" {
			b += ", with token " + op.Result
		}
		return b
	case op.Kind == harness.Acquire:
		return op.Key + " is somebody else's"
	case op.Kind == harness.Extend && op.Outcome == harness.OK:
		return fmt.Sprintf("holds %s until %v", op.Key, (op.Call + op.TTL).Truncate(keyspace.Grain))
	case op.Kind == harness.Release && op.Outcome == harness.OK:
		return "has given " + op.Key + " up"
	case op.Kind == harness.Extend, op.Kind == harness.Release:
		return op.Key + " was not its own any more"
	case op.Kind == harness.Claim && op.Result == harness.ResultFirst:
		return "is the first: has to deliver " + op.Key
	case op.Kind == harness.Claim:
		return "somebody else has " + op.Key
	case op.Kind == harness.Deliver:
		return "has delivered " + op.Key
	case op.Kind == harness.Next:
		return "has the number " + op.Result
	}
	return ""
}

func storedText(op harness.Op) string {
	switch {
	case op.Kind != harness.Inspect:
		return answer(op)
	case op.Result == "":
		return "nothing is stored"
	case op.TTL == 0:
		return "stored: " + op.Result + ", without a TTL"
	}
	return "stored: " + op.Result
}

func probeBelief(op harness.Op) string {
	switch {
	case op.Kind == harness.Acquire && op.Outcome == harness.Fail:
		return "nobody holds it, and nobody can have it"
	case op.Kind == harness.Claim && op.Result == harness.ResultSeen:
		return "marked as seen"
	}
	return ""
}
