package experiments

import (
	"fmt"
	"time"

	"github.com/doublegrant/doublegrant/checkers"
	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/nemesis"
	"github.com/doublegrant/doublegrant/reports"
)

// redis6062 repeats Redis issue 6062, 2019: a manual failover.
func redis6062() Experiment {
	of := func(every time.Duration, untuned bool) plan.Plan {
		return plan.Plan{
			Variant: plan.RoundsVariant, Topology: plan.Sentinel, Clients: 1, Rate: never, Duration: 40 * time.Second, SlowSentinels: untuned,
			Rounds: &plan.Rounds{Count: int(40 * time.Second / every), Every: every},
			Faults: []plan.FaultPlan{{Fault: "sentinel-failover", Start: 15 * time.Second, For: 12 * time.Second}},
		}
	}
	const slow, fast, tuned = "a write a second", "200 writes a second", "200 a second, Sentinels that look every 200 ms"
	return Experiment{
		Name: "redis-6062", Title: "A manual failover rolls acknowledged writes back",
		Source:    "Redis issue 6062, 2019",
		Published: "SENTINEL FAILOVER under one SET a second: 89, 90, 91, then 81: ten seconds rolled back, no error at the client",
		setup:     "one client adds a number to a set at a steady pace; SENTINEL FAILOVER once; Sentinels with their own periods, or with faster ones",
		differs: "clients write to the old primary until a Sentinel has made it a replica and they have heard of it. In this version Sentinels " +
			"ask once a second during a failover, whatever their usual periods, so that a second or two is rolled back, not ten",
		expected: "acknowledged writes are lost in every failover, though nothing is broken",
		trials:   3,
		arms: []arm{
			{slow, []string{"", "10", "10"}, of(time.Second, true)},
			{fast, nil, of(5*time.Millisecond, true)},
			{tuned, nil, of(5*time.Millisecond, false)},
		},
		measures: []measure{acknowledgedWrites(), lostWrites(), rolledBack(), reportedFigure("refused or unknown", checkers.FigureUnknown)},
		shape: func(f found) (bool, string) {
			all := f.measureOf(fast, "lost")
			return allPositive(all) && allPositive(f.measureOf(tuned, "lost")), fmt.Sprintf(
				"of 200 writes a second %v were lost, %v s rolled back; with faster Sentinels %v, %v s",
				all, f.measureOf(fast, "rolled back"), f.measureOf(tuned, "lost"), f.measureOf(tuned, "rolled back"))
		},
	}
}

// sentinelMaxLag repeats what the Redis documentation of Sentinel says of min-replicas-max-lag.
func sentinelMaxLag() Experiment {
	of := func(minReplicas int, lag time.Duration) plan.Plan {
		return plan.Plan{
			Variant: plan.RoundsVariant, Topology: plan.Sentinel, Clients: 5, Rate: never, Duration: 30 * time.Second,
			MinReplicas: minReplicas, MaxLag: lag,
			Rounds: &plan.Rounds{Count: 600, Every: 50 * time.Millisecond},
			Faults: []plan.FaultPlan{{Fault: "partition", Parameters: nemesis.Parameters{Shape: "split-brain"}, Start: 2 * time.Second, For: 20 * time.Second}},
		}
	}
	const unprotected, ten, one = "no guard", "max-lag 10 s", "max-lag 1 s"
	const bound = 2 // seconds: lag is counted in whole seconds, and rounded at both ends
	return Experiment{
		Name: "redis-sentinel-max-lag", Title: "How long an isolated primary goes on to accept writes that will be lost",
		Source:    "Redis documentation of Sentinel, min-replicas-to-write 1 and min-replicas-max-lag 10",
		Published: "an isolated primary stops accepting writes after at most 10 s",
		setup:     "a split brain for 20 s, links held; 5 clients write 20 times a second each, two of them to the old side",
		differs:   "a primary looks once a second and counts lag in whole seconds, so that the last lost write may come up to two seconds after the bound",
		expected:  "the last lost write comes at most max-lag and 2 s after the partition; without the guard they come until the heal",
		trials:    3,
		arms: []arm{
			{unprotected, nil, of(0, 0)},
			{ten, []string{"", "", "10 at most"}, of(1, 10*time.Second)},
			{one, nil, of(1, time.Second)},
		},
		measures: []measure{acknowledgedWrites(), lostWrites(), lastLost()},
		shape: func(f found) (bool, string) {
			last := func(arm string) reports.Range { return f.measureOf(arm, "last lost write") }
			return last(ten).Max <= 10+bound && last(one).Max <= 1+bound && last(unprotected).Min > 10+bound,
				fmt.Sprintf("the last lost write came %v s after the partition with max-lag 10 s, %v s with 1 s, %v s without the guard",
					last(ten), last(one), last(unprotected))
		},
	}
}

// failoverLocks repeats what the Redis documentation says in "Distributed Locks" of locks and failovers.
func failoverLocks() Experiment {
	kill := plan.FaultPlan{Fault: "kill-primary", Start: 4 * time.Second, For: 5 * time.Second}
	deaf := plan.FaultPlan{Fault: "cut", Parameters: nemesis.Parameters{From: "replicas", To: "primary"}, Start: 3500 * time.Millisecond, For: 3 * time.Second, Track: "lag"}
	of := func(faults ...plan.FaultPlan) plan.Plan {
		return plan.Plan{
			Variant: "lock/set-nx-px", Topology: plan.Sentinel, Clients: 300, Keys: 100, TTL: 20 * time.Second, Hold: 4 * time.Second,
			Rate: 1000, Duration: 12 * time.Second, Faults: faults,
		}
	}
	const loopback, lagging = "replicas in step", "replicas cut off 0.5 s before"
	return Experiment{
		Name: "redis-docs-failover", Title: "A lock that its replica had not heard of yet",
		Source:    "Redis documentation, Distributed Locks: why failover-based implementations are not enough",
		Published: "a client locks, the primary dies before the write is replicated, the replica is promoted, a second client locks: described, not measured",
		setup: "300 clients share 100 locks, each held for seconds; the primary is killed once a trial, with its replicas in step or cut off since half a " +
			"second",
		differs: "on one machine a write reaches replicas within a fraction of a millisecond, and what is on its way when the primary dies still arrives; " +
			"so a plain kill seldom meets a lock that has not been replicated. A slow network or a busy primary lies between the rows",
		expected: "a primary that dies before it has replicated leaves locks that are granted twice",
		trials:   5,
		arms:     []arm{{loopback, nil, of(kill)}, {lagging, []string{"", "some"}, of(deaf, kill)}},
		measures: []measure{countFailovers(), doubleGrants()},
		shape: func(f found) (bool, string) {
			return f.measureOf(lagging, "double grants").Median > 0, fmt.Sprintf("double grants a failover: %v when replicas were cut off, %v when they were in step",
				f.measureOf(lagging, "double grants"), f.measureOf(loopback, "double grants"))
		},
	}
}
