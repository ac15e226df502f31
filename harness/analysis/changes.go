package analysis

import (
	"slices"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// change is one switch of the primary that one or more Sentinels announced.
type change struct {
	said        []harness.Event // the announcements, in order of time
	first, last time.Duration
	old, new    string        // the primary before and after; empty: not known
	after       time.Duration // the last announcement of the change before; negative: there is none
	until       time.Duration // the first announcement of the next change; harness.Forever: there is none
}

// changesOf lists the switches in events, which are in order of time. Announcements of one switch by several Sentinels make one
// change.
func changesOf(events []harness.Event) []change {
	var all []change
	for _, e := range events {
		if e.Kind != string(Switched) {
			continue
		}
		n := len(all)
		late := func(c change) bool { return c.repeats(all[:n-1]) }
		if n > 0 && all[n-1].isAnnouncedBy(e) && (!late(all[n-1]) || late(change{said: []harness.Event{e}})) {
			all[n-1].said, all[n-1].last = append(all[n-1].said, e), e.At
			continue
		}
		c := change{said: []harness.Event{e}, first: e.At, last: e.At, after: -1, until: harness.Forever}
		if n > 0 {
			c.after, all[n-1].until = all[n-1].last, e.At
		}
		all = append(all, c)
	}
	nameNodes(all, events)
	return all
}

// isAnnouncedBy reports whether e announces the change c, too.
func (c change) isAnnouncedBy(e harness.Event) bool {
	again := func(said harness.Event) bool { return said.Node == e.Node }
	return e.Detail == c.said[0].Detail && !slices.ContainsFunc(c.said, again)
}

// repeats reports whether c is one of the changes before, announced late: its Sentinels had not announced that yet.
func (c change) repeats(before []change) bool {
	known := false
	for _, b := range before {
		if b.said[0].Detail != c.said[0].Detail {
			continue
		}
		known = true
		if slices.ContainsFunc(c.said, func(e harness.Event) bool { return !b.isAnnouncedBy(e) }) {
			return false
		}
	}
	return known
}

// nameNodes finds the nodes of every change by the addresses in its announcement. The record says which node has which address. In a
// record of an older program, which does not, the nodes are found by their roles.
func nameNodes(all []change, events []harness.Event) {
	at := map[string]string{} // node, by address
	for _, e := range events {
		if e.Kind == harness.EventAddress {
			at[e.Detail] = e.Node
		}
	}
	known := len(at) > 0
	previous := "" // the new primary of the change before
	for i := range all {
		c := &all[i]
		from, to := switchAddresses(c.said[0].Detail)
		c.old, c.new = at[from], at[to]
		if !known {
			c.guessNodes(events, previous)
			learnAddress(at, from, c.old)
			learnAddress(at, to, c.new)
		}
		previous = c.new
	}
}

func learnAddress(at map[string]string, address, node string) {
	if address != "" && node != "" {
		at[address] = node
	}
}

// switchAddresses returns the old and the new address in a "+switch-master": name, old host and port, new host and port. They are
// empty if it is not of that form.
func switchAddresses(detail string) (from, to string) {
	f := strings.Fields(detail)
	if len(f) != 5 {
		return "", ""
	}
	return f[1] + " " + f[2], f[3] + " " + f[4]
}

// guessNodes finds the nodes of a change by their roles. The old primary is the new one of the change before or, at first, the first
// primary.
func (c *change) guessNodes(events []harness.Event, previous string) {
	if c.old == "" {
		c.old = previous
	}
	if c.old == "" {
		c.old = c.primary(events)
	}
	if c.new == "" {
		c.new = c.promoted(events)
	}
}

// attempted is the kind of the event with which a Sentinel begins a failover. It is no stage, since all but one may give up.
const attempted = "+try-failover"

// primary returns the node that had the role of a primary when Sentinels began the switch. Its successor may have been seen in
// that role before they announce it.
func (c *change) primary(events []harness.Event) string {
	began := []string{string(Agreed), attempted, string(Elected), string(Promoted), string(Switched)}
	node := ""
	for _, e := range events {
		switch {
		case e.At > c.first || e.At > c.after && slices.Contains(began, e.Kind):
			return node
		case isRole(e, harness.RolePrimary):
			node = e.Node
		}
	}
	return node
}

// rolesWithin is the time after the last announcement in which a node may be seen in its new role. Roles are looked at only now
// and then.
const rolesWithin = time.Second

// promoted returns the node that was seen to turn from a replica into a primary. A former primary that comes back as one was down
// before, and does not count.
func (c *change) promoted(events []harness.Event) string {
	role := map[string]string{}
	for _, e := range events {
		if e.Kind != harness.EventRole {
			continue
		}
		if e.At > c.after && e.At <= c.last+rolesWithin && e.Detail == harness.RolePrimary && e.Node != c.old && role[e.Node] != harness.RoleDown {
			return e.Node
		}
		role[e.Node] = e.Detail
	}
	return ""
}
