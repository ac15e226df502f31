package experiments

import (
	"fmt"
	"time"

	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/nemesis"
	"github.com/doublegrant/doublegrant/reports"
)

// All lists the published results that can be repeated, and after them the project's own measurement of what protections are worth.
func All() []Experiment {
	return []Experiment{
		jepsenRedis(), jepsenRedux(), jepsenEtcd(), redis6062(), sentinelMaxLag(), failoverLocks(), clockJump(), clientPause(),
		redlockNodes(), splitBrainProtections(),
	}
}

// Values that several experiments use.
const (
	never = -1 // no limit to the rate: the rounds set the pace

	replicaOnOldSide = "split-brain-replica"
)

// allZero reports whether the figure was 0 in every trial.
func allZero(r reports.Range) bool { return r.Max == 0 }

func allPositive(r reports.Range) bool { return r.Min > 0 }

// splitBrainProtections measures what each protection saves in a split brain. It is the project's own measurement, which nobody
// else has published.
func splitBrainProtections() Experiment {
	base := plan.Plan{
		Variant: plan.RoundsVariant, Topology: plan.Sentinel, Clients: 5, Rate: never, Duration: 11 * time.Second,
		Rounds: &plan.Rounds{Count: 400, Every: 25 * time.Millisecond, Locks: true},
	}
	protected := func(name, sides string, published []string, change func(*plan.Plan)) arm {
		p := base
		p.Faults = []plan.FaultPlan{{Fault: "partition", Parameters: nemesis.Parameters{Shape: sides}, Start: 1500 * time.Millisecond, For: 5 * time.Second}}
		change(&p)
		return arm{name, published, p}
	}
	const usual = "split-brain"
	minReplicas := func(p *plan.Plan) { p.MinReplicas, p.MaxLag = 1, time.Second }
	wait := func(acks int) func(*plan.Plan) { return func(p *plan.Plan) { p.Acks = acks } }
	return Experiment{
		Name: "split-brain-guards", Title: "What guards save in a split brain", Source: "this project's design",
		Published: "medians of 5 trials: without a guard 401 of 1,976 acknowledged writes lost (20 %) and 194 of 400 locks granted twice; " +
			"none with WAIT 2, or with WAIT 1 and min-replicas-to-write 1",
		setup: "a primary, 2 replicas, 3 Sentinels; 5 clients, each 400 SADDs of unique numbers at 40 a second, and in each round one try at " +
			"a lock that all want; for 5 s the old primary, one Sentinel and 2 clients are cut off, links held",
		differs:  "how many writes fall into the split depends on when the promotion comes, one to two seconds after the cut",
		expected: "no guard loses most; WAIT 1 and min-replicas 1 alone fail once a replica is on the old side; WAIT 2, or both together, lose none",
		trials:   5,
		arms: []arm{
			protected("none", usual, []string{"1976", "401", "", "194"}, func(*plan.Plan) {}),
			protected("min-replicas 1, max-lag 1 s", usual, []string{"1696", "124", "", "54"}, minReplicas),
			protected("WAIT 1", usual, []string{"1858", "0", "", "0"}, wait(1)),
			protected("WAIT 1, a replica on the old side", replicaOnOldSide, []string{"1915", "400", "", "182"}, wait(1)),
			protected("min-replicas 1, a replica on the old side", replicaOnOldSide, []string{"1212", "402", "", "0"}, minReplicas),
			protected("WAIT 2", usual, []string{"1784", "0", "", "0"}, wait(2)),
			protected("WAIT 1 and min-replicas 1", usual, []string{"1357", "0", "", "0"}, func(p *plan.Plan) { minReplicas(p); wait(1)(p) }),
		},
		measures: []measure{acknowledgedWrites(), lostWrites(), lostPercent(), doubleGrants()},
		shape: func(f found) (bool, string) {
			lost := func(arm string) reports.Range { return f.measureOf(arm, "lost") }
			safe := allZero(lost("WAIT 2")) && allZero(lost("WAIT 1 and min-replicas 1")) && allZero(lost("WAIT 1")) &&
				allZero(f.measureOf("WAIT 2", "double grants")) && allZero(f.measureOf("WAIT 1 and min-replicas 1", "double grants"))
			unsafe := allPositive(lost("none")) && allPositive(lost("WAIT 1, a replica on the old side")) &&
				allPositive(lost("min-replicas 1, a replica on the old side")) && allPositive(f.measureOf("none", "double grants"))
			less := lost("min-replicas 1, max-lag 1 s").Median < lost("none").Median
			return safe && unsafe && less, fmt.Sprintf(
				"without a guard %v writes are lost and %v locks granted twice; with min-replicas 1 %v; with WAIT 2 %v, with WAIT 1 and min-replicas 1 %v",
				lost("none"), f.measureOf("none", "double grants"), lost("min-replicas 1, max-lag 1 s"), lost("WAIT 2"), lost("WAIT 1 and min-replicas 1"))
		},
	}
}
