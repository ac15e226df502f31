//go:build !race

package analysis_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/analysis"
)

// promotion is a change that the observer saw: a node that was a replica called itself a primary.
type promotion struct {
	old, new string
	at       time.Time
	until    time.Time // when new called itself a replica again; zero: never
	next     time.Time // the next promotion; zero: there is none
}

// promotions lists the promotions that the observer saw, in order of time.
func (o *truth) promotions() (all []promotion) {
	for node, told := range o.roles {
		for i, r := range told {
			if i == 0 || r.is != "master" {
				continue
			}
			p := promotion{new: node, at: r.at, old: o.primaryAt(r.at, node)}
			if i+1 < len(told) {
				p.until = told[i+1].at
			}
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b promotion) int { return a.at.Compare(b.at) })
	for i := 1; i < len(all); i++ {
		all[i-1].next = all[i].at
	}
	return all
}

// primaryAt returns the node, other than but, that last called itself a primary and has not called itself a replica
// since.
func (o *truth) primaryAt(t time.Time, but string) (node string) {
	since := time.Time{}
	for n := range o.roles {
		if r := o.roleAt(n, t); n != but && r.is == "master" && r.at.After(since) {
			node, since = n, r.at
		}
	}
	return node
}

func (o *truth) wasPrimary(node string, t time.Time) bool { return o.roleAt(node, t).is == "master" }

// roleAt returns the role that the node reported shortly before t.
func (o *truth) roleAt(node string, t time.Time) (last role) {
	for _, r := range o.roles[node] {
		if r.at.Before(t.Add(-20 * time.Millisecond)) {
			last = r
		}
	}
	return last
}

// comparison compares the figures of one failover with the truth.
type comparison struct {
	*testing.T
	h     harness.History
	o     *truth
	f     analysis.Failover
	p     promotion
	began time.Time
	from  time.Duration // the promotion before; 0: there was none
	prev  *promotion    // likewise; nil: there was none
	log   []logLine
	rows  []string
}

// compareAll compares each failover in the figures with a promotion that the observer saw.
func compareAll(t *testing.T, h harness.History, o *truth, found []analysis.Failover) {
	seen, log := o.promotions(), o.logs()
	require.Len(t, found, len(seen), "promotions: we say %v, the observer %v", found, seen)
	for i, f := range found {
		c := comparison{T: t, h: h, o: o, f: f, p: seen[i], began: h.Meta.Started, log: log}
		if i > 0 {
			c.from, c.prev = c.on(seen[i-1].at), &seen[i-1]
		}
		if s := c.announced(); s != nil && o.wasPrimary(nodeAt(strings.Fields(s.detail)[1]), c.p.at) {
			c.p.old = nodeAt(strings.Fields(s.detail)[1]) // of two primaries, the one that Sentinels wanted to replace
		}
		reasons(t, f)
		c.all()
		t.Logf("%v\n%s", f, strings.Join(c.rows, "\n"))
	}
	if t.Failed() {
		for _, s := range log {
			t.Logf("%v %s %s %s", s.at.Sub(h.Meta.Started), s.by, s.what, s.detail)
		}
	}
}

// on converts a time of the wall clock to the run's clock.
func (c *comparison) on(at time.Time) time.Duration { return at.Sub(c.began) }

// next returns when the next promotion came, on the run's clock.
func (c *comparison) next() time.Duration {
	if c.p.next.IsZero() {
		return harness.Forever
	}
	return c.on(c.p.next)
}

func (c *comparison) all() {
	if c.f.Old != c.p.old || c.f.New != c.p.new {
		c.Errorf("%s: we say %s to %s, the observer %s to %s", c.f.Name, c.f.Old, c.f.New, c.p.old, c.p.new)
	}
	for _, m := range []analysis.Milestone{analysis.Suspect, analysis.Agreed, analysis.Elected, analysis.Promoted,
		analysis.Switched} {
		c.stage(m, c.logged(m))
	}
	took := c.firstAfter(c.o.accepted[c.f.New], c.on(c.p.at)-50*time.Millisecond)
	c.stage(analysis.Accepted, took)
	if !c.slow() {
		c.stage(analysis.Writable, c.firstWrite())
	}
	c.stage(analysis.Rejoined, c.joined())
	c.cause()
	c.downtime(took)
	c.outage()
	c.minority()
}

// pingEvery is the time between two pings of a Sentinel, and so the longest time between two of its commands to a node.
const pingEvery = 250 * time.Millisecond

// onset returns the range of time in which the replaced primary fell silent to Sentinels: after the last command of the
// one with which a quorum missed it, and down-after before that one reported it. One that missed it sooner may have been
// cut off alone. silent is false if commands reached the primary until then, so that the failover was ordered.
func (c *comparison) onset() (from, to time.Time, silent bool) {
	old := c.p.old
	if s := c.announced(); s != nil {
		old = nodeAt(strings.Fields(s.detail)[1])
	}
	missed := map[string]time.Time{} // by Sentinel, when it reported it
	for _, s := range c.log {
		f := strings.Fields(s.detail)
		if len(f) < 3 || f[0] != "master" || nodeAt(f[2]) != old || c.on(s.at) < c.from ||
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

// byMuddled reports whether the fault of that name struck the Sentinel that began the failover.
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

// cause compares the cause with the fault that began when the observer saw the primary fall silent, or with the last
// order if a Sentinel was ordered to fail over. Without either, an earlier order has left Sentinels in disagreement, as
// a crash after the promotion does.
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
	if len(c.f.OneOf) > 0 {
		ours = nil
		for _, i := range c.f.OneOf {
			ours = append(ours, c.h.Faults[i].Name)
		}
	}
	for _, name := range ours {
		if len(fit) > 0 && !slices.Contains(fit, name) && len(c.f.OneOf) == 0 {
			c.Errorf("%s: we say that %s led to it, the observer %v (%s)", c.f, name, fit, said)
		}
	}
	if len(fit) == 0 || !slices.ContainsFunc(fit, func(name string) bool { return slices.Contains(ours, name) }) {
		c.Errorf("%s: we say that one of %v led to it, the observer %v (%s)", c.f, ours, fit, said)
	}
}

// sentinelWasDown reports whether a fault ended or stopped a Sentinel that the note names. The heal of its clock does
// that too.
func (c *comparison) sentinelWasDown(note string) bool {
	return slices.ContainsFunc(c.h.Faults, func(f harness.Fault) bool {
		named := func(host string) bool { return host[0] == 's' && strings.Contains(note, host+" ") }
		return f.Effects.Any(harness.EndsProcess|harness.StopsProcess|harness.ShiftsClock) &&
			slices.ContainsFunc(f.Targets, named)
	})
}

// same checks that a figure is near the truth, and notes both. A figure that is not known because a Sentinel was down
// may be anything.
func (c *comparison) same(m analysis.Milestone, s analysis.Stage, at time.Time) {
	c.Helper()
	have, want := "-", "-"
	if !at.IsZero() {
		want = ms(c.on(at) - c.f.Start)
	}
	if s.Seen {
		have = ms(s.At - c.f.Start)
	}
	c.rows = append(c.rows, fmt.Sprintf("| %s | %s | %s | %s |", c.title(), m, have, want))
	switch {
	case strings.HasPrefix(s.Note, "not known"):
		require.True(c, c.sentinelWasDown(s.Note), "%s, %s: %s", c.f, m, s.Note)
	case s.Seen != !at.IsZero():
		c.Errorf("%s, %s: we say %s (%s), the observer %s", c.f, m, have, s.Note, want)
	case s.Seen:
		if stalled := c.o.stalled(at, c.began.Add(s.At)); (s.At - c.on(at)).Abs() > nearTruth+stalled {
			c.Errorf("%s, %s: we say %s, the observer %s (stalled for %v)", c.f, m, have, want, stalled)
		}
	}
}

func (c *comparison) title() string { return fmt.Sprintf("%s, %s to %s", c.f.Name, c.f.Old, c.f.New) }

func ms(d time.Duration) string { return fmt.Sprintf("%+.3f s", d.Seconds()) }

func (c *comparison) stage(m analysis.Milestone, at time.Time) {
	c.Helper()
	c.same(m, c.f.Stage(m), at)
}

// announced returns the first announcement of the new primary that can belong to this promotion, or nil.
func (c *comparison) announced() *logLine {
	for i, s := range c.log {
		f := strings.Fields(s.detail) // mymaster 127.7.2.1 6379 127.7.2.2 6379
		if s.what == "+switch-master" && nodeAt(f[3]) == c.p.new && c.on(s.at) > c.on(c.p.at)-time.Second &&
			c.on(s.at) < c.again() {
			return &c.log[i]
		}
	}
	return nil
}

// again returns when the same node was promoted again.
func (c *comparison) again() time.Duration {
	for _, p := range c.o.promotions() {
		if p.new == c.p.new && p.at.After(c.p.at) {
			return c.on(p.at)
		}
	}
	return harness.Forever
}

func nodeAt(ip string) string { return "r" + ip[strings.LastIndex(ip, ".")+1:] }

// logged returns when a Sentinel first logged the milestone about the primary that was replaced.
func (c *comparison) logged(m analysis.Milestone) time.Time {
	from, to, old := max(c.from, c.f.Start-nearTruth), c.on(c.p.at)+50*time.Millisecond, c.p.old
	switched := c.announced()
	if switched != nil {
		old = nodeAt(strings.Fields(switched.detail)[1])
	}
	switch {
	case m == analysis.Switched && switched == nil:
		return time.Time{}
	case m == analysis.Switched:
		return switched.at
	case m == analysis.Promoted && switched != nil:
		to = c.on(switched.at)
	case m == analysis.Promoted:
		to = c.next()
	}
	for _, s := range c.log {
		f := strings.Fields(s.detail)
		if s.what != string(m) || c.on(s.at) < from || c.on(s.at) > to {
			continue
		}
		if m == analysis.Promoted && nodeAt(f[2]) == c.p.new || m != analysis.Promoted && f[0] == "master" &&
			nodeAt(f[2]) == old {
			return s.at
		}
	}
	return time.Time{}
}

func (c *comparison) firstAfter(times []time.Time, from time.Duration) time.Time {
	for _, at := range times {
		if c.on(at) >= from && (c.p.until.IsZero() || at.Before(c.p.until)) {
			return at
		}
	}
	return time.Time{}
}

// joined returns when the old primary called itself a replica, if no other node had been promoted by then.
func (c *comparison) joined() time.Time {
	for _, r := range c.o.roles[c.p.old] {
		if r.is == "slave" && r.at.After(c.p.at) {
			if c.on(r.at) > c.next() || !c.p.until.IsZero() && r.at.After(c.p.until) {
				return time.Time{}
			}
			return r.at
		}
	}
	return time.Time{}
}

// firstWrite returns the time of the first client command that the new primary executed, without those of some groups.
func (c *comparison) firstWrite(but ...int) time.Time {
	for _, x := range c.o.executed[c.p.new] {
		if !slices.Contains(but, x.group) && c.on(x.at) >= c.on(c.p.at)-50*time.Millisecond &&
			(c.p.until.IsZero() || x.at.Before(c.p.until)) {
			return x.at
		}
	}
	return time.Time{}
}

// minority compares how many client commands the old primary executed while the new one was a primary as well. It
// leaves out those that were executed late, as after a pause: they were never acknowledged.
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
		c.f.Minority, n))
	if got := int(c.f.Minority); got > n+60+unsure || got < n-60-unsure-late {
		c.Errorf("%s: we say that %s executed %d writes after the promotion, the observer %d", c.f, c.f.Old, got, n)
	}
}

// downtime compares the longest time without an accepted write, until the new primary's first.
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

// outage compares the longest time in which no command of a connected client was executed, until the first one by the
// new primary.
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

// longest returns the longest time between two neighbours in times that ends after the cause, or after the recovery from
// the previous failover, and by until. of returns the times of a node.
func (c *comparison) longest(
	times []time.Time, until time.Time, of func(node string) []time.Time,
) (from, to time.Time) {
	slices.SortFunc(times, time.Time.Compare)
	since := max(c.f.Start, c.from)
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

// recovery returns when the previous failover was over for clients: by the first time of the node that was promoted,
// while it was a primary, or else by the first of any node since. all are the times of all nodes, in order.
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
