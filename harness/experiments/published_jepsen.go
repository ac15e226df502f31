package experiments

import (
	"fmt"
	"time"

	"github.com/doublegrant/doublegrant/checkers"
	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/nemesis"
)

// jepsenPlan rebuilds the cluster of "Jepsen: Redis", 2013: five hosts, each with a Redis, a Sentinel, and a client that asks its
// own Sentinel. Hosts 1 and 2, the primary among them, are cut off from the others. Clients reach all of them.
func jepsenPlan(acks int) plan.Plan {
	return plan.Plan{
		Variant: plan.RoundsVariant, Topology: plan.Sentinel + ":5", DownAfter: 5 * time.Second, OwnSentinel: true,
		Clients: 5, Rate: never, Duration: 42 * time.Second, Acks: acks,
		Rounds: &plan.Rounds{Count: 400, Every: 100 * time.Millisecond, Within: time.Second},
		Faults: []plan.FaultPlan{{
			Fault: "cut", Parameters: nemesis.Parameters{From: "r1,r2,s1,s2", To: "r3,r4,r5,s3,s4,s5"}, Start: 2 * time.Second, For: 30 * time.Second,
		}},
	}
}

// jepsenRedis repeats "Jepsen: Redis", 2013: Sentinel and a partition.
func jepsenRedis() Experiment {
	const arm1 = "SADD"
	minority := func(client int) bool { return client < 2 }
	majority := func(client int) bool { return !minority(client) }
	everybody := func(int) bool { return true }
	return Experiment{
		Name: "jepsen-redis-2013", Title: "Redis with Sentinel in a partition loses acknowledged writes",
		Source:    "Jepsen: Redis, 2013 (Redis 2.6.13)",
		Published: "of 2,000 writes 1,998 were acknowledged and 872 survived: 1,126 acknowledged writes lost, 56 %",
		setup: "5 Redis, 5 Sentinels, quorum 3, down-after 5 s; client k adds k, k+5, ... every 100 ms to the primary that its own Sentinel names; " +
			"hosts 1 and 2 are cut off from 3, 4 and 5 for 30 s, links held; a final read of the set",
		differs: "the share lost follows from how much of the run the partition takes: all writes until the promotion, two fifths of them " +
			"from then to the heal; the rate per second of partition does not depend on it",
		expected: "until the promotion every client loses what it writes; from then to the heal only clients 0 and 1, whose Sentinels are on the old side; " +
			"clients 2, 3 and 4 follow within 2 s, and lose what they write until they do",
		trials: 3,
		arms:   []arm{{arm1, []string{"1998", "1126", "56"}, jepsenPlan(0)}},
		measures: []measure{
			acknowledgedWrites(), lostWrites(), lostPercent(), lostPerSecond(),
			countLosers("losing until the promotion", 5, untilPromotion),
			lostBy("lost until the promotion", 5, everybody, untilPromotion),
			lostBy("lost by 0, 1 in 2 s after it", 5, minority, whileSettling),
			lostBy("lost by 2, 3, 4 in 2 s after it", 5, majority, whileSettling),
			lostBy("lost later by 0, 1", 5, minority, untilHeal),
			lostBy("lost later by 2, 3, 4", 5, majority, untilHeal),
			lostBy("lost after the heal", 5, everybody, afterHeal),
		},
		shape: func(f found) (bool, string) {
			early, by01, by234 := f.measureOf(arm1, "losing until the promotion"), f.measureOf(arm1, "lost later by 0, 1"), f.measureOf(arm1, "lost later by 2, 3, 4")
			following := f.measureOf(arm1, "lost by 2, 3, 4 in 2 s after it")
			return early.Min == 5 && allPositive(by01) && allZero(by234), fmt.Sprintf(
				"until the promotion %v of 5 clients lost writes; in the 2 s after it, while they follow, clients 2, 3 and 4 lost %v; "+
					"from then to the heal clients 0 and 1 lost %v and the others %v", early, following, by01, by234)
		},
	}
}

// jepsenRedux repeats "Jepsen: Redis redux", 2013: the same partition, with WAIT after each write.
func jepsenRedux() Experiment {
	const arm1 = "SADD, WAIT 2 1000"
	return Experiment{
		Name: "jepsen-redis-redux-2013", Title: "WAIT and failover",
		Source:    "Jepsen: Redis redux, 2013",
		Published: "WAIT with failover is not linearizable: a write that two replicas have can still be lost when a third is promoted",
		setup:     "as jepsen-redis-2013, each SADD followed by WAIT 2 1000 on its connection; fewer than two acknowledgements leave the write unknown",
		differs: "Sentinels prefer the replica that has most of the log, so that the loss needs a replica that lags and is promoted all the same; " +
			"what WAIT does not prevent are writes that it did not confirm and that stay, or go",
		expected: "at least one acknowledged write lost, or a bound on how many",
		trials:   3,
		arms:     []arm{{arm1, nil, jepsenPlan(2)}},
		measures: []measure{
			acknowledgedWrites(), lostWrites(), reportedFigure("unknown", checkers.FigureUnknown), reportedFigure("unknown, there in the end", checkers.FigureRecovered),
		},
		shape: func(f found) (bool, string) {
			lost, acked := f.measureOf(arm1, "lost"), f.measureOf(arm1, "acknowledged")
			if lost.Max > 0 {
				return true, fmt.Sprintf("%v acknowledged writes were lost although two replicas had them", lost)
			}
			// The rule of three: none in n trials bounds the rate by 3/n with 95 % confidence.
			n := acked.Median * float64(lost.N)
			return true, fmt.Sprintf("none of about %.0f acknowledged writes was lost: with 95 %% confidence fewer than %.2g of a hundred are; %v unknown ones stayed",
				n, 300/n, f.measureOf(arm1, "unknown, there in the end"))
		},
	}
}

// jepsenEtcd repeats the lock-set workload of "Jepsen: etcd 3.4.3", 2020, on a Redis lock.
func jepsenEtcd() Experiment {
	of := func(variant string) plan.Plan {
		return plan.Plan{
			Variant: variant, Topology: plan.Standalone, Clients: 5, Keys: 1, TTL: 2 * time.Second, Resource: true, Rate: never,
			Duration: 45 * time.Second,
			Faults: []plan.FaultPlan{{
				Fault: "freeze-clients", Parameters: nemesis.Parameters{Host: "g0,g1"}, Start: time.Second, For: 4 * time.Second, Times: 8, Every: time.Second,
			}},
		}
	}
	return Experiment{
		Name: "jepsen-etcd-2020", Title: "Locks that guard updates, and clients that pause",
		Source:    "Jepsen: etcd 3.4.3, 2020, the lock-set workload",
		Published: "2 s leases, 5 processes, a process pause every 5 s: about 18 % of acknowledged updates lost",
		setup: "the same on a Redis lock: 5 clients read, change and write back a set under one lock with a lease of 2 s; every 5 s two of them are " +
			"frozen for 4 s",
		differs: "etcd's pauses struck its servers, so that many leases ended at once; here two clients of five pause, and lose the others' updates of " +
			"about two seconds only if one of them had the lock just then, in two pauses of five",
		expected: "a lock without fencing loses acknowledged updates, one with fencing none",
		trials:   3,
		arms: []arm{
			{"lock/set-nx-px", []string{"", "", "18"}, of("lock/set-nx-px")},
			{"lock/fenced", nil, of("lock/fenced")},
		},
		measures: []measure{acknowledgedWrites(), lostWrites(), lostPercent(), countViolations("stale holders", harness.StaleHolder)},
		shape: func(f found) (bool, string) {
			plain, fenced := f.measureOf("lock/set-nx-px", "lost"), f.measureOf("lock/fenced", "lost")
			return plain.Max > 0 && allZero(fenced), fmt.Sprintf("the plain lock lost %v updates (%v %%), the fenced one %v",
				plain, f.measureOf("lock/set-nx-px", "lost share"), fenced)
		},
	}
}
