package explore

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness/explore/internal/command"
	"github.com/doublegrant/doublegrant/harness/explore/internal/keyspace"
	"github.com/doublegrant/doublegrant/harness/explore/internal/visited"
)

// This file keeps what a store holds, and applies what commands are known to make of it: learning.go finds that out.

// contents is all that clients can find in a store: its keys, and the scripts in its cache. Equal contents are one object.
type contents struct {
	keys    []keyspace.Key // in their order; none has ended when it was looked at
	scripts string         // hashes of the scripts in the cache, each followed by a space; allScripts: all that anybody runs
	ends    []keyspace.End // in their order
	first   time.Duration  // the first of ends; keyspace.NoEnd: there is none
	after   map[question]*transition
	id      visited.ID // tells contents apart
}

// allScripts is the state of a script cache that nobody has flushed.
const allScripts = "all"

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
func (m *memory) contents(keys []keyspace.Key, scripts string) *contents {
	var id []byte
	for _, k := range keys {
		id = binary.AppendVarint(append(binary.AppendUvarint(id, uint64(len(k.Name))), k.Name...), int64(k.End))
		id = append(binary.AppendUvarint(id, uint64(len(k.Dump))), k.Dump...)
	}
	id = append(append(id, '|'), scripts...)
	if c := m.stores[string(id)]; c != nil {
		return c
	}
	m.grow()
	c := &contents{keys: keys, scripts: scripts, first: keyspace.NoEnd, id: visited.IDOf(id), after: map[question]*transition{}}
	for _, k := range keys {
		if k.End != keyspace.NoEnd {
			c.ends = append(c.ends, keyspace.End{Key: k.Name, At: k.End})
		}
	}
	slices.SortFunc(c.ends, func(a, b keyspace.End) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Key, b.Key)) })
	if len(c.ends) > 0 {
		c.first = c.ends[0].At
	}
	m.stores[string(id)] = c
	return c
}

// at returns what is left of the contents at a time.
func (c *contents) at(m *memory, now time.Duration) *contents {
	if c.first == keyspace.NoEnd || !keyspace.HasEnded(c.first, now) {
		return c
	}
	left := slices.DeleteFunc(slices.Clone(c.keys), func(k keyspace.Key) bool { return k.End != keyspace.NoEnd && keyspace.HasEnded(k.End, now) })
	return m.contents(left, c.scripts)
}

// has reports whether a key is there.
func (c *contents) has(key string) bool {
	return slices.ContainsFunc(c.keys, func(k keyspace.Key) bool { return k.Name == key })
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

// questionOf returns the question that a command asks. ok is false if it is not known what its outcome depends on.
func (ex *execution) questionOf(c *command.Command, on *command.Pending, watched []watchedKey) (q question, ok bool) {
	means, ok := ex.memory.scripts.MeaningOf(c, on.OpenTransaction())
	if !ok {
		return q, false
	}
	q.text = means.Text
	switch {
	case means.Exact:
		q.at = ex.now
	case means.MS:
		q.at = ex.now.Truncate(keyspace.Grain) + 1 // which is not 0
	}
	if means.Wants > 0 {
		q.hearing = ex.hearingReplicas() + 1
	}
	if on != nil && on.Multi && command.Name(c.Args) == "exec" {
		q.transaction = string(on.Transaction)
		now := ex.store.at(ex.memory, ex.now)
		for _, k := range watched {
			q.touched = q.touched || k.touched
			q.ended = q.ended || k.there && !k.touched && !now.has(k.name)
		}
	}
	return q, true
}

// applyTransition changes the contents as the command changed the store, and notes the keys that it touched for whoever watches them.
func (ex *execution) applyTransition(c *command.Command, t *transition, a *actor) {
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
	switch command.Name(c.Args) {
	case "watch":
		now := before.at(ex.memory, ex.now)
		for _, k := range c.Reads {
			a.watched = append(a.watched, watchedKey{name: k, there: now.has(k)})
		}
	case "exec":
		a.watched = nil
	}
}

// learns reports whether what the schedule shows is kept.
func (ex *execution) learns() bool { return ex.learning && ex.memory.works() && !ex.Disturbed() }
