package analysis

import (
	"slices"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// causes finds the fault that led to a change.
type causes struct {
	faults []harness.Fault
	order  []int           // of the faults, by Start
	redis  map[string]bool // nodes of which a role was seen
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

// grounds says how well a fault explains a change. More is better.
type grounds int

const (
	noNode     grounds = iota // it concerned no node
	over                      // the system was whole again before, or had long stopped waiting for it
	clientLink                // it concerned only links of clients to nodes, which no Sentinel notices
	otherNode                 // it concerned other nodes
	oldPrimary                // it struck the old primary, or asked for a failover
)

// faultBehind returns the index of the fault that led to ch: the earliest of those with the best grounds, unless it was healed before
// another of them began. Of faults that were over it returns the last. ok is false if no fault had begun.
func (c causes) faultBehind(ch change) (fault int, ok bool) {
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
	case ch.first > directUntil(f):
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

// clientGroup reports whether name is that of a client group, such as "g0".
func clientGroup(name string) bool {
	digits, ok := strings.CutPrefix(name, "g")
	return ok && digits != "" && strings.Trim(digits, "0123456789") == ""
}

// directUntil returns the end of the time in which a fault can lead to a change directly: when the system was whole again or, if that
// is not known, the heal.
func directUntil(f harness.Fault) time.Duration {
	if f.End == 0 {
		return f.Until()
	}
	return max(f.Heal, f.End)
}
