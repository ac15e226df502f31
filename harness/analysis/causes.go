package analysis

import (
	"slices"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

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
		if e.Kind == harness.EventRole {
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
		later := has <= over || f.Start >= c.faults[fault].Until()
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
	case f.Effects.Has(harness.MovesPrimary):
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

// passed is until when a fault may lead to a change at once: until the system was whole, or else until its heal.
func passed(f harness.Fault) time.Duration {
	if f.End == 0 {
		return f.Until()
	}
	return max(f.Heal, f.End)
}
