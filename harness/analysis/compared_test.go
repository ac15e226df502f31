//go:build !race

package analysis_test

import (
	"fmt"
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

// comparison checks the figures of one failover against what the observer saw.
type comparison struct {
	*testing.T
	h     harness.History
	o     *truth
	f     analysis.Failover
	p     promotion
	began time.Time
	prev  *promotion // the promotion before; nil: there was none
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
			c.prev = &seen[i-1]
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

// from returns the time of the previous promotion on the run's clock; 0: there was none.
func (c *comparison) from() time.Duration {
	if c.prev == nil {
		return 0
	}
	return c.on(c.prev.at)
}

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

// same checks that a figure is near what the observer saw, and adds both to the table of the test's log. A figure may
// be unknown if a fault struck the Sentinel that its note names.
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
	from, to, old := max(c.from(), c.f.Start-nearTruth), c.on(c.p.at)+50*time.Millisecond, c.p.old
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

// firstWrite returns the time of the first client command that the new primary executed. Commands of the groups in but
// do not count.
func (c *comparison) firstWrite(but ...int) time.Time {
	for _, x := range c.o.executed[c.p.new] {
		if !slices.Contains(but, x.group) && c.on(x.at) >= c.on(c.p.at)-50*time.Millisecond &&
			(c.p.until.IsZero() || x.at.Before(c.p.until)) {
			return x.at
		}
	}
	return time.Time{}
}
