package analysis

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/units"
)

// stages returns a stage for each milestone, with times since the start of the cause. The stage Writable depends on the
// operations: the caller fills it in.
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
		return t.firstProbeWrite()
	case Promoted:
		return t.firstMessage(name, t.promotedAt-t.roleDelay,
			func(e harness.Event) bool { return t.namesNew(e.Detail) })
	case Switched:
		if t.announced == nil {
			return t.missingMessage(name, t.previous, t.lastMessage())
		}
		return t.stageOfMessage(name, t.promotedAt-t.roleDelay, t.announced.announcements[0])
	case Writable:
		return Stage{Note: t.noteNoWrites()}
	case Rejoined:
		return t.rejoined()
	}
	return t.firstSinceFault(c.start, name)
}

// firstSinceFault returns the stage of the first message of the given kind about the primary. It looks at messages from
// the start of the fault on, which is the parameter fault.
func (t *takeover) firstSinceFault(fault time.Duration, kind Milestone) Stage {
	s := t.firstMessage(kind, max(t.messagesFrom, fault), t.isAbout)
	isSame := func(e harness.Event) bool { return e.Kind == string(kind) && t.isAbout(e) }
	if _, ok := t.firstEvent(t.messagesFrom, fault-1, isSame); ok && !s.Seen &&
		!strings.HasPrefix(s.Note, "not known") {
		s.Note = "after the fault " + s.Note
	}
	return s
}

func seenAt(at time.Duration, by string) Stage { return Stage{Seen: true, At: at, SeenBy: by} }

// lastMessage returns when Sentinels stop sending messages about this takeover: when they announce the new primary or,
// if they never do, just before the next takeover.
func (t *takeover) lastMessage() time.Duration {
	if t.announced != nil {
		return t.announced.first
	}
	return min(t.next-1, max(t.lastEvent, t.promotedAt))
}

// firstMessage returns the stage of the first message of the given kind that the given function accepts. It looks at
// the messages from a given time until Sentinels announce the new primary.
func (t *takeover) firstMessage(kind Milestone, from time.Duration, fits func(harness.Event) bool) Stage {
	to := min(t.lastMessage()+t.roleDelay, t.next-1)
	if kind != Promoted {
		to = min(t.lastMessage(), t.promotedAt+t.roleDelay)
	}
	e, ok := t.firstEvent(from, to, func(e harness.Event) bool { return e.Kind == string(kind) && fits(e) })
	if !ok {
		return t.missingMessage(kind, from, to)
	}
	return t.stageOfMessage(kind, from, e)
}

// stageOfMessage returns the stage of e, the first recorded message of the given kind since a given time. The stage is
// not known if the end of a Sentinel's log is lost, since an earlier such message may have been there.
func (t *takeover) stageOfMessage(kind Milestone, from time.Duration, e harness.Event) Stage {
	if lost := t.withLostLogs(from, e.At-t.roleDelay); len(lost) > 0 {
		const note = "not known: %s ended or was cut off, its log lacks what it said last, and it may have said %s " +
			"first"
		return Stage{Note: fmt.Sprintf(note, strings.Join(lost, ", "), kind)}
	}
	return seenAt(e.At, e.Node)
}

// missingMessage returns the stage of a message that is not in the record. Its note names the Sentinels that were not
// heard for a time, since they may have sent the message.
func (t *takeover) missingMessage(kind Milestone, from, to time.Duration) Stage {
	if away := t.unheard(from, to); len(away) > 0 {
		const note = "not known: %s was not heard for a time, and no other Sentinel said %s"
		return Stage{Note: fmt.Sprintf(note, strings.Join(away, ", "), kind)}
	}
	return Stage{Note: "no Sentinel said " + string(kind)}
}

// namesNew reports whether a message about a replica is about the new primary, or names no node.
func (t *takeover) namesNew(detail string) bool {
	f := strings.Fields(detail) // slave IP:PORT IP PORT @ NAME IP PORT
	if len(f) < 2 || f[0] != "slave" {
		return true
	}
	i := strings.LastIndexByte(f[1], ':')
	if i < 0 {
		return true
	}
	node, known := t.acts.byAddress[f[1][:i]+" "+f[1][i+1:]]
	return !known || t.new == "" || node == t.new
}

// firstProbeWrite returns the stage in which the new primary accepted the first of the harness's own writes.
func (t *takeover) firstProbeWrite() Stage {
	if t.new == "" {
		return Stage{Note: "which node became the primary is not known"}
	}
	to := t.demotedAt
	if to == harness.Forever && t.announced != nil {
		to = t.announced.nextStart - 1 // the record may lack the end of its time as primary
	}
	isProbeWrite := func(e harness.Event) bool { return e.Node == t.new && e.Kind == harness.EventWritable }
	e, ok := t.firstEvent(t.promotedAt-t.roleDelay, to, isProbeWrite)
	if !ok {
		return Stage{Note: t.new + " was not seen to take a write"}
	}
	return seenAt(e.At, e.Node)
}

// noteNoWrites returns the note for a new primary that acknowledged no client write.
func (t *takeover) noteNoWrites() string {
	if t.new == "" {
		return "no write was acknowledged afterwards"
	}
	note := t.new + " acknowledged no write of a client"
	if t.demotedAt != harness.Forever {
		note += "; it was a replica again after " + units.Duration(t.demotedAt-t.promotedAt)
	}
	return note
}

// rejoined returns the stage in which the old primary became a replica of the new one.
func (t *takeover) rejoined() Stage {
	if t.old == "" {
		return Stage{Note: "which node was the primary is not known"}
	}
	if !t.follows { // older records do not have the node that a replica follows
		from := t.promotedAt
		if t.announced != nil {
			from = t.announced.first
		}
		replica := func(e harness.Event) bool { return e.Node == t.old && isRole(e, harness.RoleReplica) }
		if e, ok := t.firstEvent(from, t.next-1, replica); ok {
			return seenAt(e.At, e.Node)
		}
		return Stage{Note: t.old + " was not seen as a replica"}
	}
	joins := func(e harness.Event) bool {
		return e.Node == t.old && e.Kind == harness.EventFollows && t.acts.byAddress[e.Detail] == t.new
	}
	e, ok := t.firstEvent(t.promotedAt, t.next-1, joins)
	if !ok {
		return Stage{Note: t.noteNotJoined()}
	}
	replica := func(e harness.Event) bool { return e.Node == t.old && isRole(e, harness.RoleReplica) }
	if r, ok := t.firstEvent(max(t.promotedAt, e.At-rolesLate), e.At, replica); ok {
		return seenAt(r.At, r.Node)
	}
	return seenAt(e.At, e.Node)
}

// noteNotJoined returns the note for an old primary that did not follow the new one before the next takeover.
func (t *takeover) noteNotJoined() string {
	follows := func(e harness.Event) bool { return e.Node == t.old && e.Kind == harness.EventFollows }
	e, ok := t.firstEvent(t.promotedAt, harness.Forever, follows)
	switch node := cmp.Or(t.acts.byAddress[e.Detail], e.Detail); {
	case !ok:
		return t.old + " was not seen as a replica"
	case node == t.new:
		return fmt.Sprintf("%s followed %s only after the next failover", t.old, t.new)
	default:
		return fmt.Sprintf("%s never followed %s: next it followed %s", t.old, t.new, node)
	}
}

// rolesLate bounds the delay until the record shows which node a new replica follows. There is a delay because a
// Sentinel closes the replica's connections.
const rolesLate = 300 * time.Millisecond
