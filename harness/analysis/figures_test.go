//go:build !race

// The race detector would stall the observer, whose times these tests go by.

package analysis_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/checkers"
	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/analysis"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/testenv"
	"github.com/doublegrant/doublegrant/nemesis"
	"github.com/doublegrant/doublegrant/workloads"
)

// nearTruth is the allowed distance between a figure and what the observer saw. The observer's own stalls are added to it.
const nearTruth = 50 * time.Millisecond

// observedSystem is a cluster that the observer watches as soon as it is up.
type observedSystem struct {
	*cluster.Cluster
	t     *testing.T
	truth *truth
}

func (s *observedSystem) Start(ctx context.Context, clock harness.Clock, events func(harness.Event), log *slog.Logger) error {
	if err := s.Cluster.Start(ctx, clock, events, log); err != nil {
		return err
	}
	s.truth = observed(s.t, s.Cluster)
	return nil
}

func (s *observedSystem) Stop() error {
	if s.truth != nil {
		s.truth.end()
	}
	return s.Cluster.Stop()
}

// faulty is one fault of a run whose failover is compared.
type faulty struct {
	make func(c *cluster.Cluster) harness.Nemesis
	last time.Duration
	side bool // it runs beside the first one, a quarter of a second later, and leads to no failover
	may  bool // it may lead to a failover or not
}

// TestEveryFigureOfAFailoverIsTrue holds the figures of one long run against what the observer saw: who followed whom, every
// stage, the downtime of the servers and the outage of the clients; for kills and a pause, in a deep run for every kind of failover.
// Its bounds are times, so it has to run alone.
func TestLongEveryFigureOfAFailoverIsTrue(t *testing.T) {
	testenv.NeedLong(t)
	kill := func(c *cluster.Cluster) harness.Nemesis { return nemesis.KillPrimary(c) }
	pause := func(c *cluster.Cluster) harness.Nemesis { return nemesis.PausePrimary(c) }
	order := func(c *cluster.Cluster) harness.Nemesis { return nemesis.SentinelFailover(c) }
	for name, faults := range map[string][]faulty{
		"kills": {
			{make: kill, last: 5 * time.Second},
			{make: kill, last: 5 * time.Second},
			{make: kill, last: 5 * time.Second},
			{make: func(c *cluster.Cluster) harness.Nemesis { return nemesis.Restart(c, nemesis.Primary()) }, last: 5 * time.Second},
		},
		"stops": {
			{make: pause, last: 5 * time.Second},
			{make: pause, last: 5 * time.Second},
			{make: func(c *cluster.Cluster) harness.Nemesis { return nemesis.Sleep(c, nemesis.Primary(), 4*time.Second) }, last: 4 * time.Second},
		},
		"partitions": {
			{make: func(c *cluster.Cluster) harness.Nemesis { return nemesis.PartitionPrimary(c) }, last: 4 * time.Second},
			{make: sides(nemesis.IsolatePrimary()), last: 4 * time.Second},
			{make: sides(nemesis.PrimaryFromSentinels()), last: 4 * time.Second},
		},
		"orders": {
			{make: order, last: 3 * time.Second},
			{make: order, last: 3 * time.Second},
			{make: func(c *cluster.Cluster) harness.Nemesis {
				return nemesis.SimulateFailure(c, nemesis.AfterPromotion())
			}, last: 4 * time.Second},
		},
		"a kill of a second": {
			{make: kill, last: 1100 * time.Millisecond, may: true},
			{make: kill, last: 1100 * time.Millisecond, may: true},
		},
		"connections end beside a pause": {
			{make: pause, last: 4 * time.Second},
			{make: func(c *cluster.Cluster) harness.Nemesis { return nemesis.ClientKill(c, nemesis.Replica()) }, last: time.Second, side: true, may: true},
		},
		"a replica ends beside an order": {
			{make: order, last: 5 * time.Second, may: true}, // not if it was to be promoted
			{make: func(c *cluster.Cluster) harness.Nemesis { return nemesis.Kill(c, nemesis.Replica()) }, last: 2 * time.Second, side: true, may: true},
		},
	} {
		if testenv.Deep() || name == "kills" || name == "connections end beside a pause" {
			t.Run(name, func(t *testing.T) { compareFailovers(t, faults) })
		}
	}
}

func sides(s nemesis.Shape) func(c *cluster.Cluster) harness.Nemesis {
	return func(c *cluster.Cluster) harness.Nemesis { return nemesis.Partition(c, s, harness.Withhold()) }
}

// compareFailovers runs the faults in turn and compares each failover.
func compareFailovers(t *testing.T, faults []faulty) {
	h, o, log := failedOver(t, faults)
	found := analysis.Failovers(h)
	certain := slices.DeleteFunc(slices.Clone(faults), func(f faulty) bool { return f.side || f.may })
	require.GreaterOrEqual(t, len(found), len(certain), "faults that led to a failover")
	for i, f := range found {
		next := harness.Forever
		if i+1 < len(found) {
			next = found[i+1].Start
		}
		c := comparison{T: t, h: h, o: o, f: f, began: h.Meta.Started}
		c.log = slices.DeleteFunc(slices.Clone(log), func(s said) bool { return c.on(s.at) < f.Start || c.on(s.at) >= next })
		c.next = next
		c.all()
		t.Logf("%d\n%s", i+1, strings.Join(c.rows, "\n"))
	}
}

// failedOver runs the faults on a cluster of its own under writes that are all different.
func failedOver(t *testing.T, faults []faulty) (harness.History, *truth, []said) {
	dir := t.TempDir()
	c := cluster.Sentinel(cluster.Options{Clients: 20, LogDir: dir})
	v, err := workloads.Find("writes/sadd")
	require.NoError(t, err)
	s := &observedSystem{Cluster: c, t: t}
	spec := harness.Spec{
		System: s, Workload: v.Workload(c, workloads.Options{}), Checkers: []harness.Checker{checkers.Gates()},
		Clients: 20, Rate: 1000, Duration: time.Second, QuietPeriod: 1500 * time.Millisecond, Seed: 7,
	}
	for _, f := range faults {
		step := harness.TimedFault{Nemesis: f.make(c), For: f.last}
		if f.side {
			step.After = spec.QuietPeriod + 250*time.Millisecond
			spec.Tracks = append(spec.Tracks, []harness.TimedFault{step})
			continue
		}
		spec.Faults = append(spec.Faults, step)
	}
	res, err := harness.Run(t.Context(), spec)
	require.NoError(t, err)
	return res.History, s.truth, logs(t, dir)
}

// comparison compares the figures of one failover with the truth.
type comparison struct {
	*testing.T
	h     harness.History
	o     *truth
	f     analysis.Failover
	began time.Time
	next  time.Duration // the start of the next fault
	log   []said        // from the fault until then
	rows  []string
}

// on converts a time of the wall clock to the run's clock.
func (c *comparison) on(at time.Time) time.Duration { return at.Sub(c.began) }

func (c *comparison) all() {
	c.moved()
	for _, m := range []analysis.Milestone{analysis.Suspect, analysis.Agreed, analysis.Elected, analysis.Promoted, analysis.Switched} {
		c.stage(m, c.logged(m))
	}
	took := c.after(c.o.accepted[c.f.New], c.f.Start) // the new primary first took a write of the observer
	c.stage(analysis.Accepted, took)
	c.stage(analysis.Writable, c.firstWrite())
	c.stage(analysis.Rejoined, c.after(c.o.slave[c.f.Old], c.on(c.switched().at)))
	c.downtime(took)
	c.outage()
}

// same says whether a figure is near to the truth, and notes both.
func (c *comparison) same(what string, seen bool, got time.Duration, at time.Time) {
	c.Helper()
	want := "-"
	if !at.IsZero() {
		want = ms(c.on(at) - c.f.Start)
	}
	have := "-"
	if seen {
		have = ms(got - c.f.Start)
	}
	c.rows = append(c.rows, fmt.Sprintf("| %s %s to %s | %s | %s | %s |", c.f.Name, c.f.Old, c.f.New, what, have, want))
	switch {
	case seen != !at.IsZero():
		c.Errorf("%s, %s: we say %s, the observer %s", c.f, what, have, want)
	case seen:
		if stalled := c.o.stalled(at, c.began.Add(got)); (got - c.on(at)).Abs() > nearTruth+stalled {
			c.Errorf("%s, %s: we say %s, the observer %s (stalled for %v)", c.f, what, have, want, stalled)
		}
	}
}

func ms(d time.Duration) string { return fmt.Sprintf("%+.3f s", d.Seconds()) }

// switched returns the first announcement after the fault.
func (c *comparison) switched() said {
	i := slices.IndexFunc(c.log, func(s said) bool { return s.what == "+switch-master" })
	require.GreaterOrEqual(c, i, 0, "no Sentinel's log has a switch after %s", c.f.Name)
	return c.log[i]
}

// moved compares who followed whom.
func (c *comparison) moved() {
	f := strings.Fields(c.switched().detail) // mymaster 127.7.2.1 6379 127.7.2.2 6379
	require.Len(c, f, 5)
	node := func(ip string) string { return "r" + ip[strings.LastIndex(ip, ".")+1:] }
	if c.f.Old != node(f[1]) || c.f.New != node(f[3]) {
		c.Errorf("%s: we say %s to %s, the log %s to %s", c.f.Name, c.f.Old, c.f.New, node(f[1]), node(f[3]))
	}
}

func (c *comparison) stage(m analysis.Milestone, at time.Time) {
	c.Helper()
	s := c.f.Stage(m)
	c.same(string(m), s.Seen, s.At, at)
}

// logged returns when a Sentinel first wrote the milestone into its log, up to the switch.
func (c *comparison) logged(m analysis.Milestone) time.Time {
	for _, s := range c.log {
		if s.what == string(m) && !s.at.After(c.switched().at) && (m != analysis.Suspect || strings.HasPrefix(s.detail, "master")) {
			return s.at
		}
	}
	return time.Time{}
}

// after returns the first of the sorted times that lies between from and the next fault.
func (c *comparison) after(times []time.Time, from time.Duration) time.Time {
	for _, at := range times {
		if c.on(at) >= from && c.on(at) < c.next {
			return at
		}
	}
	return time.Time{}
}

// reign returns when the new primary stopped being the primary: at the next switch.
func (c *comparison) reign() time.Duration {
	first := c.switched()
	for _, s := range c.log {
		if s.what == "+switch-master" && s.detail != first.detail {
			return c.on(s.at)
		}
	}
	return c.next
}

// firstWrite returns the time of the first command of a client that the new primary executed.
func (c *comparison) firstWrite() time.Time {
	for _, x := range c.o.executed[c.f.New] {
		if c.on(x.at) >= c.f.Start && c.on(x.at) < c.reign() {
			return x.at
		}
	}
	return time.Time{}
}

// downtime compares the longest time until the new primary took a write in which neither it nor the old one did.
func (c *comparison) downtime(took time.Time) {
	if took.IsZero() {
		require.False(c, c.f.Servers.Seen)
		return
	}
	from, to := took, took
	for i, at := range c.o.accepted[c.f.Old] {
		next := took
		if i+1 < len(c.o.accepted[c.f.Old]) && c.o.accepted[c.f.Old][i+1].Before(took) {
			next = c.o.accepted[c.f.Old][i+1]
		}
		if c.on(next) > c.f.Start && next.Sub(at) > max(200*time.Millisecond, to.Sub(from)) { // what is shorter is a stall, not an end
			from, to = at, next
		}
	}
	c.length("no node took writes", c.f.Servers.Length(), from, to)
}

// outage compares the longest time in which no client that was not cut off had a command executed, up to the first one by the
// new primary.
func (c *comparison) outage() {
	until := c.firstWrite()
	if until.IsZero() {
		until = c.began.Add(min(c.next, c.f.Start+time.Hour))
	}
	cutOff := c.h.Faults[c.f.Fault].Groups
	var all []time.Time
	for _, commands := range c.o.executed {
		for _, x := range commands {
			if !slices.Contains(cutOff, x.group) && !x.at.After(until) {
				all = append(all, x.at)
			}
		}
	}
	slices.SortFunc(all, time.Time.Compare)
	var from, to time.Time
	for i := 1; i < len(all); i++ {
		if c.on(all[i]) > c.f.Start && all[i].Sub(all[i-1]) > to.Sub(from) {
			from, to = all[i-1], all[i]
		}
	}
	c.length("no client was answered", c.f.Outage.Length(), from, to)
}

func (c *comparison) length(what string, got time.Duration, from, to time.Time) {
	c.Helper()
	want := to.Sub(from)
	c.rows = append(c.rows, fmt.Sprintf("| %s %s to %s | %s for | %.3f s | %.3f s |", c.f.Name, c.f.Old, c.f.New, what, got.Seconds(), want.Seconds()))
	if near := nearTruth + c.o.stalled(from, from) + c.o.stalled(to, to); (got - want).Abs() > near {
		c.Errorf("%s, %s: we say %v, the observer %v", c.f, what, got, want)
	}
}
