package reports

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// change is one switch of the primary, as one or more Sentinels announced it.
type change struct {
	said        []harness.Event // the announcements, in order of time
	first, last time.Duration
	old         string        // node that was primary before; empty: not known
	after       time.Duration // the last announcement of the change before; negative: there is none
}

// changesOf lists the switches in events, which are in order of time. A Sentinel that announces the switch that another
// one has just announced speaks of the same.
func changesOf(events []harness.Event) []change {
	var all []change
	for _, e := range events {
		if e.Kind != string(Switched) {
			continue
		}
		if n := len(all); n > 0 && all[n-1].is(e) {
			all[n-1].said, all[n-1].last = append(all[n-1].said, e), e.At
			continue
		}
		c := change{said: []harness.Event{e}, first: e.At, last: e.At, after: -1}
		if n := len(all); n > 0 {
			c.after = all[n-1].last
		}
		c.old = c.primary(events)
		all = append(all, c)
	}
	return all
}

// is reports whether e announces the same change.
func (c change) is(e harness.Event) bool {
	again := func(said harness.Event) bool { return said.Node == e.Node }
	return e.Detail == c.said[0].Detail && !slices.ContainsFunc(c.said, again)
}

// primary is the node that was primary when Sentinels began to change that: its successor may have been seen before they
// announce it.
func (c change) primary(events []harness.Event) string {
	began := []string{string(Agreed), "+try-failover", string(Elected), string(Promoted), string(Switched)}
	node := ""
	for _, e := range events {
		switch {
		case e.At > c.first || e.At > c.after && slices.Contains(began, e.Kind):
			return node
		case isRole(e, "master"):
			node = e.Node
		}
	}
	return node
}

// causes tells which fault led to a change.
type causes struct {
	faults []harness.Fault
	order  []int           // of the faults, by Start
	redis  map[string]bool // nodes whose role was seen
}

func newCauses(faults []harness.Fault, events []harness.Event) causes {
	c := causes{faults: faults, redis: map[string]bool{}}
	for i := range faults {
		c.order = append(c.order, i)
	}
	slices.SortStableFunc(c.order, func(i, j int) int { return int(faults[i].Start - faults[j].Start) })
	for _, e := range events {
		if e.Kind == "role" {
			c.redis[e.Node] = true
		}
	}
	return c
}

// grounds is how well a fault explains a change.
type grounds int

const (
	noNode     grounds = iota // it concerned clients alone
	over                      // the system was whole again before, or had long stopped waiting for it
	clientLink                // it concerned links of clients to nodes: no Sentinel could notice
	otherNode                 // it concerned other nodes
	oldPrimary                // it struck the old primary, or asked for a failover
)

// of returns the fault that led to ch: of those with the best grounds the earliest, unless it was healed before another
// began; of those that were over the last. False: no fault had begun.
func (c causes) of(ch change) (fault int, ok bool) {
	best := noNode
	for _, i := range c.order {
		f := c.faults[i]
		if f.Start > ch.first {
			break
		}
		has := c.grounds(f, ch)
		later := has <= over || f.Start >= healed(c.faults[fault])
		if !ok || has > best || has == best && later {
			fault, best, ok = i, has, true
		}
	}
	return fault, ok
}

func (c causes) grounds(f harness.Fault, ch change) grounds {
	nodes := slices.DeleteFunc(slices.Clone(f.Targets), clientGroup)
	sentinel := func(node string) bool { return !c.redis[node] }
	switch {
	case len(nodes) == 0:
		return noNode
	case ch.first > passed(f):
		return over
	case strings.Contains(f.Name, "failover"):
		return oldPrimary
	case len(nodes) < len(f.Targets) && len(f.Groups) == 0 && !slices.ContainsFunc(nodes, sentinel):
		return clientLink
	case slices.Contains(nodes, ch.old):
		return oldPrimary
	}
	return otherNode
}

// clientGroup tells the name of a client group, g0 and so on, from that of a node.
func clientGroup(name string) bool {
	digits, ok := strings.CutPrefix(name, "g")
	return ok && digits != "" && strings.Trim(digits, "0123456789") == ""
}

// healed is when the heal of a fault began.
func healed(f harness.Fault) time.Duration {
	if f.Heal == 0 {
		return math.MaxInt64
	}
	return f.Heal
}

// passed is until when a fault may lead to a change at once: until the system was whole, or else until its heal.
func passed(f harness.Fault) time.Duration {
	if f.End == 0 {
		return healed(f)
	}
	return max(f.Heal, f.End)
}
