package explore

import (
	"cmp"
	"crypto/sha1"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"
)

// This file keeps what a store holds, and what commands make of it.

// contents is all that clients can find in a store: its keys, and the scripts in its cache. Equal contents are one object.
type contents struct {
	keys    []storedKey   // in their order; none has ended when it was looked at
	scripts string        // hashes of the scripts in the cache, each followed by a space; allScripts: all that anybody runs
	ends    []keyEnd      // as world.keyEnds lists them
	first   time.Duration // the first of ends; noKeyEnd: there is none
	after   map[question]*transition
	id      stateID // tells contents apart
}

// allScripts is the state of a script cache that nobody has flushed.
const allScripts = "all"

// storedKey is a key with its value as DUMP writes it.
type storedKey struct {
	name, dump string
	end        time.Duration // last virtual time at which it is there; noKeyEnd: it does not end by itself
}

const noKeyEnd = time.Duration(-1)

// question holds a command and whatever else decides its outcome, apart from what is stored.
type question struct {
	text        string
	transaction string        // commands of the MULTI, for an EXEC
	at          time.Duration // time of day, as exact as it matters; 0: it does not
	hearing     int64         // replicas that hear what is written, for a WAIT
	touched     bool          // for an EXEC: a watched key was written to
	ended       bool          // for an EXEC: a watched key has ended by itself
}

// transition is the outcome of a command.
type transition struct {
	reply   string
	after   *contents
	touched []string // watched keys that were written to
	watched int      // how many of memory.watched were looked at for touched
}

// contents returns the object for what a store holds.
func (m *memory) contents(keys []storedKey, scripts string) *contents {
	var id []byte
	for _, k := range keys {
		id = binary.AppendVarint(append(binary.AppendUvarint(id, uint64(len(k.name))), k.name...), int64(k.end))
		id = append(binary.AppendUvarint(id, uint64(len(k.dump))), k.dump...)
	}
	id = append(append(id, '|'), scripts...)
	if c := m.stores[string(id)]; c != nil {
		return c
	}
	m.grow()
	c := &contents{keys: keys, scripts: scripts, first: noKeyEnd, id: idOf(id), after: map[question]*transition{}}
	for _, k := range keys {
		if k.end != noKeyEnd {
			c.ends = append(c.ends, keyEnd{k.name, k.end})
		}
	}
	slices.SortFunc(c.ends, func(a, b keyEnd) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.key, b.key)) })
	if len(c.ends) > 0 {
		c.first = c.ends[0].at
	}
	m.stores[string(id)] = c
	return c
}

// at returns what is left of the contents at a time.
func (c *contents) at(m *memory, now time.Duration) *contents {
	if c.first == noKeyEnd || !hasEnded(c.first, now) {
		return c
	}
	left := slices.DeleteFunc(slices.Clone(c.keys), func(k storedKey) bool { return k.end != noKeyEnd && hasEnded(k.end, now) })
	return m.contents(left, c.scripts)
}

// hasEnded reports whether a key with that end is gone: Redis counts in milliseconds.
func hasEnded(end, now time.Duration) bool { return now.Truncate(grain) > end }

// has reports whether a key is there.
func (c *contents) has(key string) bool {
	return slices.ContainsFunc(c.keys, func(k storedKey) bool { return k.name == key })
}

// knowsScript reports whether the script cache has a script.
func (c *contents) knowsScript(sha string) bool {
	return c.scripts == allScripts || strings.Contains(c.scripts, sha+" ")
}

// withScript returns the contents with one more script in the cache.
func (c *contents) withScript(m *memory, sha string) *contents {
	if c.knowsScript(sha) {
		return c
	}
	all := append(strings.Fields(c.scripts), sha)
	slices.Sort(all)
	return m.contents(c.keys, strings.Join(all, " ")+" ")
}

// withoutScripts returns the contents with an empty script cache.
func (c *contents) withoutScripts(m *memory) *contents { return m.contents(c.keys, "") }

// contentScript lists all keys, each with its end and its value.
const contentScript = `local out = {}
for _, k in ipairs(redis.call('keys', '*')) do
  out[#out + 1] = k
  out[#out + 1] = redis.call('pexpiretime', k)
  out[#out + 1] = redis.call('dump', k)
end
return out`

// storedKeys lists what is stored at the primary.
func (w *world) storedKeys() ([]storedKey, error) {
	reply, err := w.ask(w.primary, "EVAL", contentScript, "0")
	if err != nil {
		return nil, err
	}
	header, at := line(reply)
	n, err := arrayLength(header)
	if err != nil {
		return nil, err
	}
	var keys []storedKey
	for range n / 3 {
		name, size, err := bulk(reply[at:])
		if err != nil {
			return nil, err
		}
		at += size
		ms, err := integer(reply[at:])
		if err != nil {
			return nil, err
		}
		_, size = line(reply[at:])
		at += size
		dump, size, err := bulk(reply[at:])
		if err != nil {
			return nil, err
		}
		at += size
		k := storedKey{string(name), string(dump), noKeyEnd}
		if ms >= 0 {
			k.end = time.UnixMilli(ms).Sub(epoch)
		}
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b storedKey) int { return cmp.Compare(a.name, b.name) })
	return keys, nil
}

// watchedKey is a key that a client watches.
type watchedKey struct {
	name    string
	there   bool // it was there when the client began to watch it
	touched bool // it was written to since
}

// questionOf returns the question that a command asks. ok is false if it is not known what its outcome depends on.
func (ex *execution) questionOf(c *command, on *conn, watched []watchedKey) (q question, ok bool) {
	means, ok := ex.memory.meaningOf(c, on)
	if !ok {
		return q, false
	}
	q.text = means.text
	switch {
	case means.exact:
		q.at = ex.now
	case means.ms:
		q.at = ex.now.Truncate(grain) + 1 // which is not 0
	}
	if means.wants > 0 {
		q.hearing = ex.hearingReplicas() + 1
	}
	if on != nil && on.multi && commandName(c.args) == "exec" {
		q.transaction = string(on.transaction)
		now := ex.store.at(ex.memory, ex.now)
		for _, k := range watched {
			q.touched = q.touched || k.touched
			q.ended = q.ended || k.there && !k.touched && !now.has(k.name)
		}
	}
	return q, true
}

// applyTransition changes the contents as the command changed the store, and notes the keys that it touched for whoever watches them.
func (ex *execution) applyTransition(c *command, t *transition, a *actor) {
	before := ex.store
	ex.store = t.after
	for _, other := range ex.actors {
		noteTouched(other.watched, t.touched)
	}
	for i := range ex.lateCommands {
		noteTouched(ex.lateCommands[i].watched, t.touched)
	}
	if a == nil {
		return
	}
	switch commandName(c.args) {
	case "watch":
		now := before.at(ex.memory, ex.now)
		for _, k := range c.reads {
			a.watched = append(a.watched, watchedKey{name: k, there: now.has(k)})
		}
	case "exec":
		a.watched = nil
	}
}

func noteTouched(watched []watchedKey, keys []string) {
	for i := range watched {
		watched[i].touched = watched[i].touched || slices.Contains(keys, watched[i].name)
	}
}

// isWatching reports whether anybody watches keys.
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

// pendingOutcome holds a command about to be executed, until its outcome is kept.
type pendingOutcome struct {
	q        question
	known    *transition
	command  *command
	actor    *actor
	watching bool // touched keys are to be found out
}

// beginLearning prepares to keep the outcome of a command about to be executed on a connection. It returns nil if there is nothing
// to keep.
func (ex *execution) beginLearning(c *command, on *conn, a *actor, watched []watchedKey) (*pendingOutcome, error) {
	if !ex.learns() {
		return nil, nil
	}
	m := ex.memory
	m.learnScript(c.args)
	if on != nil && on.multi {
		for _, args := range parseAll(on.transaction) {
			m.learnScript(args)
		}
	}
	if why := m.whyNotRepeatable(c, on); why != "" {
		m.disable("%s", why)
		return nil, nil
	}
	q, ok := ex.questionOf(c, on, watched)
	if !ok { // an EVALSHA of a script that nobody has loaded
		ex.memory = nil
		return nil, nil
	}
	if commandName(c.args) == "watch" {
		for _, k := range c.reads {
			if !slices.Contains(m.watched, k) {
				m.watched = append(m.watched, k)
			}
		}
	}
	ex.store = ex.store.at(m, ex.now)
	l := &pendingOutcome{q: q, known: ex.store.after[q], command: c, actor: a}
	if c.changes() && len(m.watched) > 0 && (l.known == nil || l.known.watched < len(m.watched)) {
		l.watching = true
		if err := ex.w.watchKeys(m.watched); err != nil {
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
		if touched, err = ex.w.touchedKeys(m.watched); err != nil {
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
		m.disable("%s is answered %q and %q where the same is stored", strings.ToUpper(commandName(l.command.args)), clip(replyText([]byte(t.reply)), 40), clip(replyText(reply), 40))
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
	if l.command.changes() {
		keys, err := ex.w.storedKeys()
		if err != nil {
			return nil, err
		}
		t.after = m.contents(keys, ex.store.scripts)
	}
	bodies := [][][]byte{l.command.args}
	if l.q.transaction != "" {
		bodies = parseAll([]byte(l.q.transaction))
	}
	for _, args := range bodies {
		if body, ok := scriptIn(args); ok && !strings.HasPrefix(t.reply, "-ERR Error compiling") {
			t.after = t.after.withScript(m, scriptHash(body))
		}
	}
	return t, nil
}

// parseAll returns the commands in a piece of bytes.
func parseAll(b []byte) (all [][][]byte) {
	for len(b) > 0 {
		args, size, err := parseCommand(b)
		if err != nil || size == 0 {
			break
		}
		all, b = append(all, args), b[size:]
	}
	return all
}

// watchKeys watches keys by connections of the explorer's own, one for each.
func (w *world) watchKeys(keys []string) error {
	for len(w.witnesses) < len(keys) {
		to, err := dialWire(w.sockets[w.primary])
		if err != nil {
			return err
		}
		w.witnesses = append(w.witnesses, to)
	}
	for i, k := range keys {
		if _, err := w.witnesses[i].ask(request("WATCH", k), 1); err != nil {
			return err
		}
	}
	return nil
}

// touchedKeys lists the keys that were written to since watchKeys, by the answer of EXEC.
func (w *world) touchedKeys(keys []string) (touched []string, err error) {
	for i, k := range keys {
		reply, err := w.witnesses[i].ask(slices.Concat(request("MULTI"), request("EXEC")), 2)
		if err != nil {
			return nil, err
		}
		_, size := line(reply)
		if strings.HasPrefix(string(reply[size:]), "*-1") {
			touched = append(touched, k)
		}
	}
	return touched, nil
}

// closeWitnesses closes the connections of watchKeys: the next ones lead to another primary.
func (w *world) closeWitnesses() {
	for _, to := range w.witnesses {
		to.close()
	}
	w.witnesses = nil
}

// learns reports whether what the schedule shows is kept.
func (ex *execution) learns() bool { return ex.memory.works() && !ex.recalls && !ex.disturbed }

// scriptHash returns the hash by which Redis knows a script.
func scriptHash(body string) string { return fmt.Sprintf("%x", sha1.Sum([]byte(body))) } // SHA-1 is Redis's choice
