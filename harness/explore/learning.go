package explore

import (
	"bytes"
	"slices"
	"strings"

	"github.com/doublegrant/doublegrant/harness/explore/internal/command"
	"github.com/doublegrant/doublegrant/harness/explore/internal/resp"
)

// This file learns from a command that is really sent what it makes of the store, and how the program looks at the store.

// pendingOutcome holds a command about to be executed, until its outcome is kept.
type pendingOutcome struct {
	q        question
	known    *transition
	command  *command.Command
	actor    *actor
	watching bool // touched keys are to be found out
}

// beginLearning prepares to keep the outcome of a command about to be executed on a connection. It returns nil if there is nothing
// to keep.
func (ex *execution) beginLearning(c *command.Command, on *command.Pending, a *actor, watched []watchedKey) (*pendingOutcome, error) {
	if !ex.learns() {
		return nil, nil
	}
	m := ex.memory
	m.scripts.Learn(c.Args)
	for _, args := range resp.ParseAll(on.OpenTransaction()) {
		m.scripts.Learn(args)
	}
	if why := m.whyNotRepeatable(c, on.OpenTransaction()); why != "" {
		m.disable("%s", why)
		return nil, nil
	}
	q, ok := ex.questionOf(c, on, watched)
	if !ok { // an EVALSHA of a script that nobody has loaded
		ex.memory = nil
		return nil, nil
	}
	if command.Name(c.Args) == "watch" {
		for _, k := range c.Reads {
			if !slices.Contains(m.watched, k) {
				m.watched = append(m.watched, k)
			}
		}
	}
	ex.store = ex.store.at(m, ex.now)
	l := &pendingOutcome{q: q, known: ex.store.after[q], command: c, actor: a}
	if c.Changes() && len(m.watched) > 0 && (l.known == nil || l.known.watched < len(m.watched)) {
		l.watching = true
		if err := ex.w.WatchKeys(m.watched); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// finishLearning keeps the outcome of a command that was executed.
func (ex *execution) finishLearning(l *pendingOutcome, reply []byte) (err error) {
	if l == nil {
		return nil
	}
	m := ex.memory
	var touched []string
	if l.watching {
		if touched, err = ex.w.TouchedKeys(m.watched); err != nil {
			return err
		}
	}
	if saysNoScript(reply) && ex.store.scripts == allScripts {
		ex.memory = nil // it will be there the next time
		return nil
	}
	t := l.known
	switch {
	case t == nil:
		if t, err = ex.transitionOf(l, reply); err != nil {
			return err
		}
		m.grow()
		ex.store.after[l.q] = t
	case t.reply != string(reply) && l.q.hearing > 0:
		t.reply = string(reply) // the last replica acknowledges when it likes
	case t.reply != string(reply):
		m.disable("%s is answered %q and %q where the same is stored", strings.ToUpper(command.Name(l.command.Args)), resp.Clip(resp.ReplyText([]byte(t.reply)), 40), resp.Clip(resp.ReplyText(reply), 40))
	}
	if l.watching {
		t.touched, t.watched = touched, len(m.watched)
	}
	ex.applyTransition(l.command, t, l.actor)
	return nil
}

// transitionOf returns the outcome of a command that was just executed.
func (ex *execution) transitionOf(l *pendingOutcome, reply []byte) (*transition, error) {
	m := ex.memory
	t := &transition{reply: string(reply), after: ex.store}
	if l.command.Changes() {
		keys, err := ex.w.StoredKeys(ex.w.Primary)
		if err != nil {
			return nil, err
		}
		t.after = m.contents(keys, ex.store.scripts)
	}
	bodies := [][][]byte{l.command.Args}
	if l.q.transaction != "" {
		bodies = resp.ParseAll([]byte(l.q.transaction))
	}
	for _, args := range bodies {
		if body, ok := command.ScriptIn(args); ok && !strings.HasPrefix(t.reply, "-ERR Error compiling") {
			t.after = t.after.withScript(m, command.Hash(body))
		}
	}
	return t, nil
}

// observation is one look of the program at the store, while it is being learned.
type observation struct {
	mind  *mind
	heard event
	acts  []act
}

// beginObservation notes that the program begins to look at the store.
func (ex *execution) beginObservation(began event) {
	if ex.learns() {
		ex.observation = &observation{mind: &ex.memory.root, heard: began}
	}
}

// observationAsks notes what the program did since its look at the store heard something, and what it asks for next.
func (ex *execution) observationAsks(next ask) {
	l := ex.observation
	if l == nil || !ex.learns() {
		ex.observation = nil
		return
	}
	node, isNew := ex.memory.child(l.mind, l.heard)
	if isNew {
		node.acts, node.asks = l.acts, next
	} else if !slices.Equal(node.acts, l.acts) || node.asks.kind != next.kind || node.asks.d != next.d || !bytes.Equal(node.asks.command.Raw, next.command.Raw) {
		ex.memory.disable("the program does not look at the store in the same way each time")
	}
	l.mind, l.acts = node, nil
}

// observationHears notes what the program's look at the store has heard.
func (ex *execution) observationHears(heard event) {
	if ex.observation != nil {
		ex.observation.heard = heard
	}
}

// askedByProgram notes a command of the program's own look at the store, which is about to be sent. The function that it returns is
// to be called with the reply.
func (c *conn) askedByProgram(next *command.Command) (learned func(reply []byte) error, err error) {
	ex := c.dialer.world.current
	if ex == nil || !ex.learns() || !c.dialer.world.asking {
		return func([]byte) error { return nil }, nil
	}
	if n := command.Name(next.Args); c.Multi || n == "multi" || n == "watch" || n == "exec" {
		ex.memory.disable("the program's look at the store is a transaction")
	}
	var ungated bool
	if next.Access, ungated = command.AccessOf(next.Args); ungated { // it concerns the connection
		return func([]byte) error { return nil }, nil
	}
	if next.Scripts {
		c.dialer.world.Scripts.Learn(next.Args) // or it is missing after the next flush
	}
	ex.observationAsks(ask{kind: asksRedis, command: command.Command{Raw: next.Raw, Args: next.Args, Access: next.Access}})
	l, err := ex.beginLearning(next, nil, nil, nil)
	return func(reply []byte) error {
		if err := ex.finishLearning(l, reply); err != nil {
			return err
		}
		ex.observationHears(event{kind: answered, text: string(reply)})
		return nil
	}, err
}
