//go:build !race

package analysis_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/analysis"
)

// This file compares what a failover cost, and the writes of the old primary after the promotion.

// minority checks the number of client commands that the old primary executed after the promotion of the new one
// against what the observer saw.
func (c *comparison) minority() {
	n, unsure := 0, 0
	demoted := c.o.roles[c.p.old]
	for _, x := range c.o.executed[c.p.old] {
		i := slices.IndexFunc(demoted, func(r role) bool { return r.is == "slave" && r.at.After(c.p.at) })
		if x.at.Before(c.p.at) || i >= 0 && x.at.After(demoted[i].at) || !c.p.until.IsZero() &&
			(c.p.next.IsZero() || c.p.until.Before(c.p.next)) && x.at.After(c.p.until) {
			continue
		}
		if n++; c.on(x.at)-c.on(c.p.at) < 50*time.Millisecond {
			unsure++
		}
	}
	late := 0 // with an unknown outcome
	for op := range c.h.Ops {
		if op.Outcome == harness.Info && op.Return >= c.on(c.p.at) {
			late++
		}
	}
	c.rows = append(c.rows, fmt.Sprintf("| %s | writes of %s after the promotion | %d | %d |", c.title(), c.f.Old,
		c.f.MinorityWrites, n))
	if got := int(c.f.MinorityWrites); got > n+60+unsure || got < n-60-unsure-late {
		c.Errorf("%s: we say that %s executed %d writes after the promotion, the observer %d", c.f, c.f.Old, got, n)
	}
}

// downtime checks the longest time in which no node accepted a write against what the observer saw. took is when the
// new primary accepted its first.
func (c *comparison) downtime(took time.Time) {
	if took.IsZero() {
		require.False(c, c.f.Servers.Seen)
		return
	}
	var all []time.Time
	for _, taken := range c.o.accepted {
		all = append(all, taken...)
	}
	from, to := c.longest(all, took, func(node string) []time.Time { return c.o.accepted[node] })
	if to.Sub(from) < 200*time.Millisecond { // anything shorter is a stall, not an end
		from, to = took, took
	}
	c.length(analysis.NoWrites, c.f.Servers.Length(), c.f.Servers.Length(), from, to)
}

// outage checks the time in which no connected client was answered against what the observer saw: the longest time
// without an executed command, until the new primary executed its first.
func (c *comparison) outage() {
	var cutOff []int
	if c.f.Fault >= 0 {
		cutOff = c.h.Faults[c.f.Fault].Groups
	}
	until := c.firstWrite(cutOff...)
	if until.IsZero() {
		return
	}
	require.True(c, c.f.Outage.Seen, "%s: a client was answered again", c.f)
	var all []time.Time
	for _, commands := range c.o.executed {
		for _, x := range commands {
			if !slices.Contains(cutOff, x.group) {
				all = append(all, x.at)
			}
		}
	}
	from, to := c.longest(all, until, func(node string) (some []time.Time) {
		for _, x := range c.o.executed[node] {
			some = append(some, x.at)
		}
		return some
	})
	if c.slow() {
		return // commands are executed, and answered late or never
	}
	c.length(analysis.NoAnswers, c.f.Outage.Least, c.f.Outage.Most, from, to)
	c.length(analysis.NoClientWrites, c.f.Writes.Least, c.f.Writes.Most, from, to)
}

// slow reports whether a fault slowed links, so that commands are executed long before clients get the answer.
func (c *comparison) slow() bool {
	return slices.ContainsFunc(c.h.Faults, func(f harness.Fault) bool { return f.Effects.Any(harness.SlowsLinks) })
}

// longest returns the longest gap between two successive times. The gap has to end after the start of the cause, after
// the recovery from the previous failover, and at until or before. of returns the times of one node.
func (c *comparison) longest(
	times []time.Time, until time.Time, of func(node string) []time.Time,
) (from, to time.Time) {
	slices.SortFunc(times, time.Time.Compare)
	since := max(c.f.Start, c.from())
	if c.prev != nil {
		since = max(since, c.recovery(times, of(c.prev.new)))
	}
	for i := 1; i < len(times); i++ {
		at, before := times[i], times[i-1]
		if start := c.began.Add(c.f.Start); c.h.Meta.Rate < 10 && before.Before(start) {
			before = start // most likely there were no requests
		}
		if c.on(at) > since && !at.After(until) && at.Sub(before) > to.Sub(from) {
			from, to = before, at
		}
	}
	return from, to
}

// recovery returns when the previous failover was over: when its new primary, still a primary, first took a command or
// a write. If it took none, that is when any node next did. all holds the times of all nodes, in order, and promoted
// those of the new primary.
func (c *comparison) recovery(all, promoted []time.Time) time.Duration {
	for _, at := range promoted {
		if at.After(c.prev.at.Add(-50*time.Millisecond)) && (c.prev.until.IsZero() || at.Before(c.prev.until)) {
			return c.on(at)
		}
	}
	for _, at := range all {
		if at.After(c.prev.at) {
			return c.on(at)
		}
	}
	return 0
}

func (c *comparison) length(what string, least, most time.Duration, from, to time.Time) {
	c.Helper()
	want := to.Sub(from)
	c.rows = append(c.rows, fmt.Sprintf("| %s | %s for | %.3f to %.3f s | %.3f s |", c.title(), what, least.Seconds(),
		most.Seconds(), want.Seconds()))
	if near := nearTruth + c.o.stalled(from, from) + c.o.stalled(to, to); want < least-near || want > most+near {
		c.Errorf("%s, %s: we say %v to %v, the observer %v", c.f, what, least, most, want)
	}
}
