package model

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

// Contents is everything that clients can find in a store: its keys and its script cache. Equal contents are one
// object.
type Contents struct {
	Keys    []keyspace.Key // sorted; none had expired when the store was read
	Scripts string         // hashes of cached scripts, each followed by a space; or AllScripts
	Ends    []keyspace.End // sorted
	ID      visited.ID     // identifies the contents

	first      time.Duration // first of Ends; keyspace.NoEnd: none
	after      map[Question]*Transition
	named      []time.Duration // see Named; valid if namedKnown
	namedKnown bool            // named was computed
}

// Named returns the instants that values name, sorted, each once: see keyspace.Instants.
func (c *Contents) Named() []time.Duration {
	if !c.namedKnown {
		c.named, c.namedKnown = keyspace.Named(c.Keys), true
	}
	return c.named
}

// AllScripts stands for a script cache that was never flushed.
const AllScripts = "all"

// Question is a command and everything that decides its outcome besides the store.
type Question struct {
	Transaction string // for an EXEC: commands of its MULTI
	Followers   int64  // for a WAIT: the number of replicas that follow the primary, plus 1; 0 for other commands
	Slow        bool   // a millisecond passes while it is executed

	text string
	// time of day, as precisely as the outcome depends on it; 0: the outcome does not depend on the time
	at      time.Duration
	touched bool // for an EXEC: a watched key was written
	ended   bool // for an EXEC: a watched key has expired
}

// Transition is the outcome of a command.
type Transition struct {
	Reply   string
	After   *Contents
	Touched []string // watched keys that were written
	Watched int      // how many keys of Memory.Watched, from the first on, were checked for Touched

	Undeclared string // describes the first key that a script touched and did not declare; empty: none
}

// Contents returns the one object for these keys and this script cache. Equal arguments give the same pointer.
func (m *Memory) Contents(keys []keyspace.Key, scripts string) *Contents {
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
	c := &Contents{Keys: keys, Scripts: scripts, first: keyspace.NoEnd, ID: visited.IDOf(id),
		after: map[Question]*Transition{}}
	for _, k := range keys {
		if k.End != keyspace.NoEnd {
			c.Ends = append(c.Ends, keyspace.End{Key: k.Name, At: k.End})
		}
	}
	slices.SortFunc(c.Ends, func(a, b keyspace.End) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Key, b.Key))
	})
	if len(c.Ends) > 0 {
		c.first = c.Ends[0].At
	}
	m.stores[string(id)] = c
	return c
}

// At returns the contents without the keys that have expired by a virtual time.
func (c *Contents) At(m *Memory, now time.Duration) *Contents {
	if c.first == keyspace.NoEnd || !keyspace.HasEnded(c.first, now) {
		return c
	}
	remaining := slices.DeleteFunc(slices.Clone(c.Keys), func(k keyspace.Key) bool {
		return k.End != keyspace.NoEnd && keyspace.HasEnded(k.End, now)
	})
	return m.Contents(remaining, c.Scripts)
}

// Has reports whether a key exists.
func (c *Contents) Has(key string) bool {
	return slices.ContainsFunc(c.Keys, func(k keyspace.Key) bool { return k.Name == key })
}

// WithScript returns the contents with one more script in the cache.
func (c *Contents) WithScript(m *Memory, sha string) *Contents {
	if c.Scripts == AllScripts || strings.Contains(c.Scripts, sha+" ") {
		return c
	}
	all := append(strings.Fields(c.Scripts), sha)
	slices.Sort(all)
	return m.Contents(c.Keys, strings.Join(all, " ")+" ")
}

// WithoutScripts returns the contents with an empty script cache.
func (c *Contents) WithoutScripts(m *Memory) *Contents { return m.Contents(c.Keys, "") }

// After returns the outcome of a command; nil: unknown.
func (c *Contents) After(q Question) *Transition { return c.after[q] }

// Keep stores the outcome of a command.
func (m *Memory) Keep(c *Contents, q Question, t *Transition) {
	m.grow()
	c.after[q] = t
}

// Watched is a key that a client watches.
type Watched struct {
	Name    string
	Existed bool // it existed when the client began to watch it
	Touched bool // it was written since then
}

// Touch marks as written each watched key that is in the list keys.
func Touch(watched []Watched, keys []string) {
	for i := range watched {
		watched[i].Touched = watched[i].Touched || slices.Contains(keys, watched[i].Name)
	}
}

// Ask returns the question that a command asks of a store at a virtual time. The state of the command's connection is
// in the parameter on; nil: there is no connection. The parameter watched holds the keys that the connection watches,
// and followers is the number of replicas that follow the primary. ok is false if the outcome depends on something
// unknown.
func (m *Memory) Ask(c *command.Command, on *command.Pending, watched []Watched, store *Contents, now time.Duration,
	followers int64) (q Question, ok bool) {
	means, ok := m.Scripts.MeaningOf(c, on.OpenTransaction())
	if !ok {
		return q, false
	}
	q.text = means.Text
	switch {
	case means.Exact:
		q.at = now
	case means.MS:
		q.at = now.Truncate(keyspace.Grain) + 1 // so that it is not 0
	}
	if c.WantedAcks() > 0 {
		q.Followers = followers + 1
	}
	if on != nil && on.Multi && command.Name(c.Args) == "exec" {
		q.Transaction = string(on.Transaction)
		remaining := store.At(m, now)
		for _, k := range watched {
			q.touched = q.touched || k.Touched
			q.ended = q.ended || k.Existed && !k.Touched && !remaining.Has(k.Name)
		}
	}
	return q, true
}
