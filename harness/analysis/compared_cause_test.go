//go:build !race

package analysis_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// This file compares the cause of a failover with what the observer saw of Sentinels.

// pingEvery is the time between two pings of a Sentinel, and so the longest time between two of its commands to a node.
const pingEvery = 250 * time.Millisecond

// onset returns the earliest and the latest time at which the replaced primary can have fallen silent. It looks at the
// Sentinel whose report completed the quorum: the primary was silent after that Sentinel's last command, and at least
// down-after before its report. silent is false if the Sentinel's commands still reached the primary then.
func (c *comparison) onset() (from, to time.Time, silent bool) {
	old := c.p.old
	if s := c.announced(); s != nil {
		old = nodeAt(strings.Fields(s.detail)[1])
	}
	missed := map[string]time.Time{} // by Sentinel, when it reported it
	for _, s := range c.log {
		f := strings.Fields(s.detail)
		if len(f) < 3 || f[0] != "master" || nodeAt(f[2]) != old || c.on(s.at) < c.from() ||
			c.on(s.at) > c.on(c.p.at)+50*time.Millisecond {
			continue
		}
		switch _, known := missed[s.by]; {
		case s.what == "+sdown" && !known:
			missed[s.by] = s.at
		case s.what == "-sdown" && s.at.Before(c.p.at.Add(-time.Second)):
			delete(missed, s.by)
		}
	}
	all := slices.SortedFunc(maps.Keys(missed), func(a, b string) int { return missed[a].Compare(missed[b]) })
	if len(all) == 0 {
		return from, to, false
	}
	sentinel := all[min(quorum, len(all))-1]
	to = missed[sentinel]
	for _, r := range c.o.reached[old] {
		if r.sentinel == sentinel && r.at.Before(to) && r.at.After(from) {
			from = r.at
		}
	}
	to = to.Add(-downAfter)
	return from, to, !from.IsZero() && from.Before(to.Add(pingEvery))
}

// byMuddled reports whether the fault called name struck the Sentinel that began the failover.
func (c *comparison) byMuddled(name string) bool {
	leader := ""
	for _, s := range c.log {
		if s.what == "+try-failover" && c.on(s.at) < c.on(c.p.at) {
			leader = s.by
		}
	}
	return slices.ContainsFunc(c.h.Faults,
		func(f harness.Fault) bool { return f.Name == name && slices.Contains(f.Targets, leader) })
}

// ordered reports whether a Sentinel had been ordered to begin the failover, as its log says.
func (c *comparison) ordered() bool {
	last := map[string]logLine{} // by Sentinel: the last order
	told := false
	for _, s := range c.log {
		switch {
		case c.on(s.at) > c.on(c.p.at):
			return told
		case s.what == "Executing user requested FAILOVER":
			last[s.by] = s
		case s.what == "+try-failover":
			told = s.at.Sub(last[s.by].at) < nearTruth
		}
	}
	return told
}

// downAfter is the clusters' down-after-milliseconds.
const downAfter = time.Second

// quorum is how many Sentinels have to miss a primary.
const quorum = 2

// cause checks that the figures name the right fault as the cause: the one that began when the observer saw the primary
// fall silent. If a Sentinel was ordered to fail over, that is the fault with the last order.
func (c *comparison) cause() {
	from, to, silent := c.onset()
	silent = silent && !c.ordered()
	for _, b := range c.o.began {
		if b.name == "client-pause-writes-primary" && b.from.Before(to) {
			// Sentinels' messages wait, and their PINGs behind them until they reconnect
			to = to.Add(downAfter/2 + pingEvery)
		}
	}
	var fit []string
	for _, b := range c.o.began {
		k := kindOf(b.name)
		near := nearTruth + c.o.stalled(from, to)
		switch {
		case k.muddles && b.from.Before(c.p.at) && c.byMuddled(b.name):
			fit = append(fit, b.name)
		case silent && k.silences && !b.from.After(to.Add(near)) && !b.to.Before(from.Add(-near)):
			fit = append(fit, b.name)
		case !silent && k.orders && b.from.Before(c.p.at):
			fit = []string{b.name} // the last one
		}
	}
	said := "no silence"
	if silent {
		said = fmt.Sprintf("fell silent at %s to %s", ms(c.on(from)-c.f.Start), ms(c.on(to)-c.f.Start))
	}
	c.rows = append(c.rows, fmt.Sprintf("| %s | cause | %s | %s: %s |", c.title(), c.f.Cause(), said,
		strings.Join(fit, ", ")))
	ours := []string{c.f.Name}
	if len(c.f.Candidates) > 0 {
		ours = nil
		for _, i := range c.f.Candidates {
			ours = append(ours, c.h.Faults[i].Name)
		}
	}
	for _, name := range ours {
		if len(fit) > 0 && !slices.Contains(fit, name) && len(c.f.Candidates) == 0 {
			c.Errorf("%s: we say that %s led to it, the observer %v (%s)", c.f, name, fit, said)
		}
	}
	if len(fit) == 0 || !slices.ContainsFunc(fit, func(name string) bool { return slices.Contains(ours, name) }) {
		c.Errorf("%s: we say that one of %v led to it, the observer %v (%s)", c.f, ours, fit, said)
	}
}

// sentinelWasDown reports whether a fault struck a Sentinel that the note names: ended it, stopped it or set its clock.
func (c *comparison) sentinelWasDown(note string) bool {
	return slices.ContainsFunc(c.h.Faults, func(f harness.Fault) bool {
		named := func(host string) bool { return host[0] == 's' && strings.Contains(note, host+" ") }
		return f.Effects.Any(harness.EndsProcess|harness.StopsProcess|harness.ShiftsClock) &&
			slices.ContainsFunc(f.Targets, named)
	})
}
