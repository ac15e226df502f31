package explore

import (
	"slices"
	"strings"

	"github.com/doublegrant/doublegrant/harness/explore/internal/command"
	"github.com/doublegrant/doublegrant/harness/explore/internal/model"
	"github.com/doublegrant/doublegrant/harness/explore/internal/resp"
)

// This file learns how commands change the store, and how the program looks at the store.

// pendingOutcome is a command that is about to be executed, until its outcome is stored in the model.
type pendingOutcome struct {
	q        model.Question
	known    *model.Transition
	command  *command.Command
	actor    *actor
	watching bool // whether it must also be found out which watched keys the command touches

	undeclared string // see model.Transition
}

// questionOf returns the question that a command asks of the current store: see model.Memory.Ask.
func (ex *modelled) questionOf(c *command.Command, on *command.Pending,
	watched []model.Watched) (model.Question, bool) {
	q, ok := ex.memory.Ask(c, on, watched, ex.store, ex.now, ex.followers())
	q.Slow = ex.slowNow
	return q, ok
}

// beginLearning prepares to learn the outcome of a command. It returns nil if there is nothing to learn.
func (ex *live) beginLearning(c *command.Command, on *command.Pending, a *actor,
	watched []model.Watched) (*pendingOutcome, error) {
	if !ex.learns() {
		return nil, nil
	}
	m := ex.memory
	m.Scripts.Learn(c.Args)
	for _, args := range resp.ParseAll(on.OpenTransaction()) {
		m.Scripts.Learn(args)
	}
	if why := m.WhyNotRepeatable(c, on.OpenTransaction()); why != "" {
		m.Disable("%s", why)
		return nil, nil
	}
	q, ok := ex.questionOf(c, on, watched)
	if !ok { // EVALSHA of a script that was never loaded
		ex.memory = nil
		return nil, nil
	}
	if command.Name(c.Args) == "watch" {
		for _, k := range c.Reads {
			if !slices.Contains(m.Watched, k) {
				m.Watched = append(m.Watched, k)
			}
		}
	}
	ex.store = ex.store.At(m, ex.now)
	l := &pendingOutcome{q: q, known: ex.store.After(q), command: c, actor: a}
	if c.Changes() && len(m.Watched) > 0 && (l.known == nil || l.known.Watched < len(m.Watched)) {
		l.watching = true
		if err := ex.w.WatchKeys(m.Watched); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// finishLearning stores the outcome of an executed command.
func (ex *live) finishLearning(l *pendingOutcome, reply []byte) (err error) {
	if l == nil {
		return nil
	}
	m := ex.memory
	var touched []string
	if l.watching {
		if touched, err = ex.w.TouchedKeys(m.Watched); err != nil {
			return err
		}
	}
	if !ex.learns() {
		return nil
	}
	if saysNoScript(reply) && ex.store.Scripts == model.AllScripts {
		ex.memory = nil // the script will be cached the next time
		return nil
	}
	t := l.known
	switch {
	case t == nil:
		if t, err = ex.transitionOf(l, reply); err != nil {
			return err
		}
		m.Keep(ex.store, l.q, t)
	case t.Reply != string(reply) && l.q.Followers > 0:
		t.Reply = string(reply) // the last replica may acknowledge at any time
	case t.Reply != string(reply):
		m.Disable("%s is answered %q and %q where the same is stored", strings.ToUpper(command.Name(l.command.Args)),
			resp.Clip(resp.ReplyText([]byte(t.Reply)), 40), resp.Clip(resp.ReplyText(reply), 40))
	}
	if l.watching {
		t.Touched, t.Watched = touched, len(m.Watched)
	}
	ex.applyTransition(l.command, t, l.actor)
	return nil
}

// transitionOf returns the outcome of a command that was just executed.
func (ex *live) transitionOf(l *pendingOutcome, reply []byte) (*model.Transition, error) {
	m := ex.memory
	t := &model.Transition{Reply: string(reply), After: ex.store, Undeclared: l.undeclared}
	if l.command.Changes() {
		keys, err := ex.w.StoredKeys(ex.w.Primary)
		if err != nil {
			return nil, err
		}
		t.After = m.Contents(keys, ex.store.Scripts)
	}
	bodies := [][][]byte{l.command.Args}
	if l.q.Transaction != "" {
		bodies = resp.ParseAll([]byte(l.q.Transaction))
	}
	for _, args := range bodies {
		if body, ok := command.ScriptIn(args); ok && !strings.HasPrefix(t.Reply, "-ERR Error compiling") {
			t.After = t.After.WithScript(m, command.Hash(body))
		}
	}
	return t, nil
}

// observation is a call of Program.Observe or Program.Finally, while the model learns from it.
type observation struct {
	mind      *model.Mind
	lastEvent model.Event // what the call has read last
	acts      []model.Act
}

// observationAsks records what Observe or Finally has done since it last read something, and what it asks for next.
func (ex *live) observationAsks(next model.Ask) {
	l := ex.observation
	if l == nil || !ex.learns() {
		ex.observation = nil
		return
	}
	l.mind, l.acts = ex.memory.LearnLook(l.mind, l.lastEvent, l.acts, next), nil
}

// observationReads records the reply that the program's Observe or Finally has read from Redis.
func (ex *live) observationReads(event model.Event) {
	if ex.observation != nil {
		ex.observation.lastEvent = event
	}
}

// askedByProgram prepares to learn from a command that Observe or Finally is about to send. Call the returned function
// with the reply.
func (c *conn) askedByProgram(next *command.Command) (learned func(reply []byte) error, err error) {
	ex := c.dialer.world.current
	if ex == nil || !ex.learns() || !c.dialer.world.asking {
		return func([]byte) error { return nil }, nil
	}
	if n := command.Name(next.Args); c.Multi || n == "multi" || n == "watch" || n == "exec" {
		ex.memory.Disable("the program's look at the store is a transaction")
	}
	var ungated bool
	if next.Access, ungated = command.AccessOf(next.Args); ungated { // it concerns only the connection
		return func([]byte) error { return nil }, nil
	}
	if next.Scripts {
		c.dialer.world.Scripts.Learn(next.Args) // otherwise it is missing after the next flush
	}
	ex.observationAsks(model.Ask{Kind: model.AsksRedis,
		Command: command.Command{Raw: next.Raw, Args: next.Args, Access: next.Access}})
	l, err := ex.beginLearning(next, nil, nil, nil)
	return func(reply []byte) error {
		if err := ex.finishLearning(l, reply); err != nil {
			return err
		}
		ex.observationReads(model.Event{Kind: model.Answered, Text: string(reply)})
		return nil
	}, err
}

// applyTransition changes the model's store in the same way as the command changed Redis. It marks the watched keys
// that the command touched.
func (ex *modelled) applyTransition(c *command.Command, t *model.Transition, a *actor) {
	before := ex.store
	ex.store = t.After
	for _, other := range ex.actors {
		model.Touch(other.watched, t.Touched)
	}
	for i := range ex.lateCommands {
		model.Touch(ex.lateCommands[i].watched, t.Touched)
	}
	if a == nil {
		return
	}
	switch command.Name(c.Args) {
	case "watch":
		now := before.At(ex.memory, ex.now)
		for _, k := range c.Reads {
			a.watched = append(a.watched, model.Watched{Name: k, Existed: now.Has(k)})
		}
	case "exec":
		a.watched = nil
	}
}

// learns reports whether the model learns from this schedule.
func (ex *live) learns() bool {
	return ex.learning && ex.memory.Works() && !ex.Disturbed() && !ex.stoodStill()
}

// isWatching reports whether a client watches keys, or has watched keys for a late command that is still to be
// executed.
func (ex *execution) isWatching() bool {
	for _, a := range ex.actors {
		if len(a.watched) > 0 {
			return true
		}
	}
	for _, l := range ex.lateCommands {
		if len(l.watched) > 0 && !l.arrived {
			return true
		}
	}
	return false
}
