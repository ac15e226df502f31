package analysis

import (
	"slices"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// change is one switch of the primary, as one or more Sentinels announced it.
type change struct {
	announcements []harness.Event // ordered by time
	first, last   time.Duration
	old, new      string        // names of the primary before and after; empty: not known
	previousEnd   time.Duration // time of the last announcement of the previous change; negative: there is none
	nextStart     time.Duration // time of the first announcement of the next change; harness.Forever: there is none
}

// changes lists the switches of the primary. When several Sentinels announce one switch, their announcements become one
// change.
func (a *acts) changes() []change {
	var all []change
	for _, e := range a.events {
		if e.Kind != string(Switched) {
			continue
		}
		n := len(all)
		isRepeat := func(c change) bool { return c.isRepeatOf(all[:n-1]) }
		if n > 0 && all[n-1].isAnnouncedBy(e) &&
			(!isRepeat(all[n-1]) || isRepeat(change{announcements: []harness.Event{e}})) {
			all[n-1].announcements, all[n-1].last = append(all[n-1].announcements, e), e.At
			continue
		}
		c := change{announcements: []harness.Event{e}, first: e.At, last: e.At, previousEnd: -1,
			nextStart: harness.Forever}
		if n > 0 {
			c.previousEnd, all[n-1].nextStart = all[n-1].last, e.At
		}
		all = append(all, c)
	}
	a.nameNodes(all)
	return all
}

// isAnnouncedBy reports whether the event e announces the same switch as c, and comes from a Sentinel that has not
// announced c yet.
func (c change) isAnnouncedBy(e harness.Event) bool {
	again := func(said harness.Event) bool { return said.Node == e.Node }
	return e.Detail == c.announcements[0].Detail && !slices.ContainsFunc(c.announcements, again)
}

// isRepeatOf reports whether c only repeats an earlier change that other Sentinels have announced. Both have the same
// addresses, and no Sentinel announced both.
func (c change) isRepeatOf(earlier []change) bool {
	announced := false
	for _, b := range earlier {
		if b.announcements[0].Detail != c.announcements[0].Detail {
			continue
		}
		announced = true
		if slices.ContainsFunc(c.announcements, func(e harness.Event) bool { return !b.isAnnouncedBy(e) }) {
			return false
		}
	}
	return announced
}

// nameNodes finds the nodes of each change by the addresses in its announcement. Records of older programs have no
// addresses: there it finds the nodes by their roles.
func (a *acts) nameNodes(all []change) {
	byAddress, addressesKnown := a.byAddress, len(a.byAddress) > 0
	if !addressesKnown {
		byAddress = map[string]string{}
	}
	previous := "" // new primary of the previous change
	for i := range all {
		c := &all[i]
		from, to := switchAddresses(c.announcements[0].Detail)
		c.old, c.new = byAddress[from], byAddress[to]
		if !addressesKnown {
			c.guessNodes(a.events, previous)
			learnAddress(byAddress, from, c.old)
			learnAddress(byAddress, to, c.new)
		}
		previous = c.new
	}
}

func learnAddress(byAddress map[string]string, address, node string) {
	if address != "" && node != "" {
		byAddress[address] = node
	}
}

// switchAddresses returns the old and the new address in the detail of a "+switch-master", which is a name, the old
// host and port, and the new host and port. Both are empty if detail has another form.
func switchAddresses(detail string) (from, to string) {
	f := strings.Fields(detail)
	if len(f) != 5 {
		return "", ""
	}
	return f[1] + " " + f[2], f[3] + " " + f[4]
}

// guessNodes finds the nodes of a change by their roles. The parameter previous is the new primary of the change
// before, and so the old primary of this one. For the first change it is empty, and guessNodes looks for a node that
// was a primary before the switch.
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

// attempted is the event with which a Sentinel begins a failover. It is not a stage, since several Sentinels may begin
// one failover, and all but one of them give up.
const attempted = "+try-failover"

// primary returns the node that was the primary when Sentinels began the switch. It ignores later events, since they
// may already show the role of the new primary.
func (c *change) primary(events []harness.Event) string {
	began := []string{string(Agreed), attempted, string(Elected), string(Promoted), string(Switched)}
	node := ""
	for _, e := range events {
		switch {
		case e.At > c.first || e.At > c.previousEnd && slices.Contains(began, e.Kind):
			return node
		case isRole(e, harness.RolePrimary):
			node = e.Node
		}
	}
	return node
}

// rolesWithin bounds the time between the last announcement and the record of a node's new role. The record may be
// late, since the harness polls the roles.
const rolesWithin = time.Second

// promoted returns the node whose role changed from replica to primary. It ignores a former primary that was down and
// is a primary again.
func (c *change) promoted(events []harness.Event) string {
	role := map[string]string{}
	for _, e := range events {
		if e.Kind != harness.EventRole {
			continue
		}
		if e.At > c.previousEnd && e.At <= c.last+rolesWithin && e.Detail == harness.RolePrimary && e.Node != c.old &&
			role[e.Node] != harness.RoleDown {
			return e.Node
		}
		role[e.Node] = e.Detail
	}
	return ""
}
