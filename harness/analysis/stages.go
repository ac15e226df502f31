package analysis

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/units"
)

// stages returns a stage for each milestone, with times since start. Who reads the operations fills in Writable.
func (t *takeover) stages(c cause) []Stage {
	var all []Stage
	for _, name := range Milestones() {
		s := t.stage(name, c)
		s.Name = name
		if s.Seen {
			s.After = s.At - c.start
		}
		all = append(all, s)
	}
	return all
}

func (t *takeover) stage(name Milestone, c cause) Stage {
	switch name {
	case Injected:
		return c.stage()
	case Accepted:
		return t.firstOwnWrite()
	case Promoted:
		return t.said(name, t.at-t.late, func(e harness.Event) bool { return t.namesNew(e.Detail) })
	case Switched:
		if t.announced == nil {
			return t.unsaid(name, t.from, t.lastWord())
		}
		return t.saidFirst(name, t.at-t.late, t.announced.said[0])
	case Writable:
		return Stage{Note: t.noteNoWrites()}
	case Rejoined:
		return t.rejoined()
	}
	return t.saidSince(c.start, name)
}

// saidSince returns the first message of that kind about the primary, from the fault on.
func (t *takeover) saidSince(fault time.Duration, kind Milestone) Stage {
	s := t.said(kind, max(t.heard, fault), t.isAbout)
	before := func(e harness.Event) bool { return e.Kind == string(kind) && t.isAbout(e) }
	if _, ok := t.first(t.heard, fault-1, before); ok && !s.Seen && !strings.HasPrefix(s.Note, "not known") {
		s.Note = "after the fault " + s.Note
	}
	return s
}

func seenAt(at time.Duration, by string) Stage { return Stage{Seen: true, At: at, By: by} }

// lastWord returns when Sentinels said the last of this takeover: with the announcement, or else before the next
// takeover.
func (t *takeover) lastWord() time.Duration {
	if t.announced != nil {
		return t.announced.first
	}
	return min(t.end-1, max(t.last, t.at))
}

// said returns the first message of a Sentinel of that kind for which fits is true, from a time up to the announcement.
func (t *takeover) said(kind Milestone, from time.Duration, fits func(harness.Event) bool) Stage {
	to := min(t.lastWord()+t.late, t.end-1)
	if kind != Promoted {
		to = min(t.lastWord(), t.at+t.late)
	}
	e, ok := t.first(from, to, func(e harness.Event) bool { return e.Kind == string(kind) && fits(e) })
	if !ok {
		return t.unsaid(kind, from, to)
	}
	return t.saidFirst(kind, from, e)
}

// saidFirst returns the stage of a message that is the first of its kind in the record since from. A Sentinel whose last words
// are lost may have said it before.
func (t *takeover) saidFirst(kind Milestone, from time.Duration, e harness.Event) Stage {
	if lost := t.lostWords(from, e.At-t.late); len(lost) > 0 {
		const note = "not known: %s ended or was cut off, its log lacks what it said last, and it may have said %s first"
		return Stage{Note: fmt.Sprintf(note, strings.Join(lost, ", "), kind)}
	}
	return seenAt(e.At, e.Node)
}

// unsaid returns the stage of a message that the record does not have. If a Sentinel was not heard, it may have said it
// all the same.
func (t *takeover) unsaid(kind Milestone, from, to time.Duration) Stage {
	if away := t.unheard(from, to); len(away) > 0 {
		const note = "not known: %s was not heard for a time, and no other Sentinel said %s"
		return Stage{Note: fmt.Sprintf(note, strings.Join(away, ", "), kind)}
	}
	return Stage{Note: "no Sentinel said " + string(kind)}
}

// namesNew reports whether a message about a replica names the new primary, as far as it names one.
func (t *takeover) namesNew(detail string) bool {
	f := strings.Fields(detail) // slave IP:PORT IP PORT @ NAME IP PORT
	if len(f) < 2 || f[0] != "slave" {
		return true
	}
	i := strings.LastIndexByte(f[1], ':')
	if i < 0 {
		return true
	}
	node, known := t.acts.at[f[1][:i]+" "+f[1][i+1:]]
	return !known || t.new == "" || node == t.new
}

// firstOwnWrite returns the stage in which the new primary took the first write of the harness's own.
func (t *takeover) firstOwnWrite() Stage {
	if t.new == "" {
		return Stage{Note: "which node became the primary is not known"}
	}
	to := t.until
	if to == harness.Forever && t.announced != nil {
		to = t.announced.until - 1 // the record may not show when it was a replica again
	}
	own := func(e harness.Event) bool { return e.Node == t.new && e.Kind == harness.EventWritable }
	e, ok := t.first(t.at-t.late, to, own)
	if !ok {
		return Stage{Note: t.new + " was not seen to take a write"}
	}
	return seenAt(e.At, e.Node)
}

// noteNoWrites returns the note that the new primary acknowledged no write of a client.
func (t *takeover) noteNoWrites() string {
	if t.new == "" {
		return "no write was acknowledged afterwards"
	}
	note := t.new + " acknowledged no write of a client"
	if t.until != harness.Forever {
		note += "; it was a replica again after " + units.Duration(t.until-t.at)
	}
	return note
}

// rejoined returns the stage in which the old primary followed the new one.
func (t *takeover) rejoined() Stage {
	if t.old == "" {
		return Stage{Note: "which node was the primary is not known"}
	}
	if !t.follows { // of an older program
		from := t.at
		if t.announced != nil {
			from = t.announced.first
		}
		replica := func(e harness.Event) bool { return e.Node == t.old && isRole(e, harness.RoleReplica) }
		if e, ok := t.first(from, t.end-1, replica); ok {
			return seenAt(e.At, e.Node)
		}
		return Stage{Note: t.old + " was not seen as a replica"}
	}
	joins := func(e harness.Event) bool {
		return e.Node == t.old && e.Kind == harness.EventFollows && t.acts.at[e.Detail] == t.new
	}
	e, ok := t.first(t.at, t.end-1, joins)
	if !ok {
		return Stage{Note: t.noteNotJoined()}
	}
	replica := func(e harness.Event) bool { return e.Node == t.old && isRole(e, harness.RoleReplica) }
	if r, ok := t.first(max(t.at, e.At-rolesLate), e.At, replica); ok {
		return seenAt(r.At, r.Node)
	}
	return seenAt(e.At, e.Node)
}

// noteNotJoined returns the note that the old primary did not follow the new one before the next takeover.
func (t *takeover) noteNotJoined() string {
	follows := func(e harness.Event) bool { return e.Node == t.old && e.Kind == harness.EventFollows }
	e, ok := t.first(t.at, harness.Forever, follows)
	switch node := cmp.Or(t.acts.at[e.Detail], e.Detail); {
	case !ok:
		return t.old + " was not seen as a replica"
	case node == t.new:
		return fmt.Sprintf("%s followed %s only after the next failover", t.old, t.new)
	default:
		return fmt.Sprintf("%s never followed %s: next it followed %s", t.old, t.new, node)
	}
}

// rolesLate is how late it may be seen whom a new replica follows: a Sentinel ends its connections.
const rolesLate = 300 * time.Millisecond
