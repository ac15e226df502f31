package granttest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/checkers"
	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/nemesis"
)

const (
	lockLease   = 1337 * time.Millisecond // the longest lease that the load requests by default
	dedupWindow = 250 * time.Millisecond

	loadClients   = 50
	loadDuration  = 1500 * time.Millisecond
	loadGrace     = 2 * time.Second // time for the load to end if a call does not return, before its cluster is stopped
	reacquireTime = time.Second     // time for clients to take locks again after their leases ended
)

// underLoad races clients on a real Redis.
func (s subject) underLoad(t TB) {
	t.Helper()
	g := newSupervisor(cmp.Or(s.load.CallTime, callTime+s.lease), false)
	c := s.cluster()
	spec := s.loadSpec(g, c)
	if s.load.Thorough {
		spec.Quota, spec.Duration = checkers.Quota, s.longestThorough(t, spec)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var res harness.Result
	err := g.runSupervised(loadGrace, func() (err error) {
		go func() {
			select {
			case <-g.trouble:
				cancel()
			case <-ctx.Done():
			}
		}()
		res, err = harness.Run(ctx, spec)
		return err
	})
	if g.failure() != "" && err == context.DeadlineExceeded {
		_ = c.Stop() // the run waits for a call that never returns
	}
	if !s.checkCompleted(t, g, err) {
		return
	}
	s.writeLoadReport(t, res)
	s.reportLoad(t, res)
}

// check returns an error for options that can never work.
func (l Load) check() error {
	if l.Topology != "" && l.Topology != Standalone && l.Topology != Sentinel {
		return fmt.Errorf("unknown topology %q: choose one of %s, %s", l.Topology, Standalone, Sentinel)
	}
	if l.Goroutines < 0 {
		return fmt.Errorf("%d goroutines of one process in the load: ask for 2 or more", l.Goroutines)
	}
	switch {
	case l.Thorough && l.Skip:
		return errors.New("Load.Thorough and Load.Skip contradict each other: leave one of them out")
	case l.Thorough && l.Clients == 1:
		return errors.New("a thorough load of one client has no contention: ask for 2 clients or more")
	case l.Thorough && l.Duration != 0 && l.Duration < checkers.QuotaLeast:
		return fmt.Errorf("a thorough load lasts for %[2]v at least, and Load.Duration is %[1]v: ask for more, or "+
			"leave it out for %[3]v", l.Duration, checkers.QuotaLeast, thoroughFor)
	}
	for _, f := range l.Faults {
		switch {
		case f.MakesNothing():
			return errors.New("an empty Fault: make it with one of the functions that return a Fault")
		case f.For < 0:
			return fmt.Errorf("a Fault cannot last for %v: ask for more than 0", f.For)
		case f.Entry.Needs == nemesis.NeedsSentinels && l.Topology != Sentinel:
			return fmt.Errorf("%s needs Topology: granttest.Sentinel", f.Name)
		}
	}
	return nil
}

// cluster returns the system for the load.
func (s subject) cluster() *cluster.Cluster {
	o := s.load.Servers
	o.Clients = cmp.Or(o.Clients, max(100, s.clients()))
	if s.load.Topology == Sentinel {
		return cluster.Sentinel(o)
	}
	return cluster.Standalone(o)
}

func (s subject) clients() int { return cmp.Or(s.load.Clients, loadClients) }

// loadSpec returns the harness's spec of the load.
func (s subject) loadSpec(g *supervisor, c *cluster.Cluster) harness.Spec {
	work := s.workload(g, c)
	judges := checkers.For(work)
	spec := harness.Spec{
		Name: s.name, System: c, Workload: supervisedWorkload{work, g}, Checkers: judges,
		Watchers: checkers.Watchers(judges), Clients: s.clients(), Seed: *loadSeed,
		Duration: s.duration(), FinalTimeout: 30*time.Second + s.lease,
		QuietPeriod: s.lease.Truncate(time.Second) + time.Second + reacquireTime,
		StopOnFirst: true,
	}
	if len(s.load.Faults) > 0 {
		spec.Fleet = &harness.Fleet{}
	}
	on := nemesis.Subject{Cluster: c, Fleet: spec.Fleet}
	for _, f := range s.load.Faults {
		spec.Faults = append(spec.Faults, harness.TimedFault{Nemesis: f.Make(on), For: f.For})
	}
	return spec
}

// duration returns the length of the load: Load.Duration, or by default a time in which leases and windows end.
func (s subject) duration() time.Duration {
	switch {
	case s.load.Duration != 0:
		return s.load.Duration
	case s.kind == dedupKind: // the oldest marks must be over for certain, even if rounded to whole seconds
		return 4*s.lease + loadDuration
	case s.lease > lockLease:
		return 2 * s.lease
	}
	return loadDuration
}

// thoroughFor is the default limit of a thorough load.
const thoroughFor = 5 * time.Minute

// longestThorough returns how long a thorough load may last, so that it still ends before the test's deadline.
func (s subject) longestThorough(t TB, spec harness.Spec) time.Duration {
	bound := cmp.Or(s.load.Duration, thoroughFor)
	if by, ok := testDeadline(t); ok {
		bound = min(bound, time.Until(by)-spec.QuietPeriod-s.lease)
	}
	return max(bound, checkers.QuotaLeast)
}

// reportLoad logs the result of the load, and fails the test unless it is valid.
func (s subject) reportLoad(t TB, res harness.Result) {
	t.Helper()
	seed := fmt.Sprintf("-granttest.seed=%d", res.Meta.Seed)
	for _, note := range res.Notes {
		t.Logf("load: note: %s", note)
	}
	switch res.Verdict {
	case harness.Valid:
		ops, err := res.Figure(checkers.FigureOps)
		if err != nil {
			t.Errorf("load: %v", err)
		}
		asked := &operations{}
		asked.add(res.History)
		t.Logf("load: valid, %.0f operations (seed %d)%s", ops, res.Meta.Seed,
			s.triedText(asked, res.Situations)+s.onlyLoad(res.Situations))
	case harness.Unknown:
		why := doubts(res.Judged)
		t.Errorf("unknown: the load came to no verdict on %s: %s%s", s.name, strings.Join(why, "; "), moreTime(why))
	default:
		t.Errorf("%s is not %s under load: %s\n%srepeat the load's choices (not its interleaving): %s",
			s.name, promise[s.kind], res.Summary(), anomalies(res.Judged), commandToRepeat(t.Name(), seed))
	}
}

// moreTime returns what to do if one of the doubts is that a thorough load reached its limit; empty: there is no such
// doubt.
func moreTime(doubts []string) string {
	if !slices.ContainsFunc(doubts, func(d string) bool { return strings.Contains(d, checkers.QuotaLacks) }) {
		return ""
	}
	return ". A thorough load needs time: see Load.Duration, and -timeout of go test"
}

// doubts lists the reasons for an unknown verdict.
func doubts(j harness.Judged) (out []string) {
	for _, g := range j.Judgements {
		if g.InDoubt() {
			out = append(out, g.Reason)
		}
	}
	return out
}

// shown bounds the anomalies in a failure's message.
const shown = 3

func anomalies(j harness.Judged) string {
	var b strings.Builder
	for i, a := range j.Anomalies {
		if i == shown {
			b.WriteString("  ... and more\n")
			break
		}
		fmt.Fprintf(&b, "  %s: %s\n", a.Class, a.Note)
	}
	return b.String()
}
