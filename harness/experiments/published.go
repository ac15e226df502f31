package experiments

import (
	"fmt"
	"time"

	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/nemesis"
	"github.com/doublegrant/doublegrant/reports"
)

// All lists the published results that can be repeated, and after them the project's own measurement of what guards are worth.
func All() []Experiment {
	return []Experiment{
		jepsenRedis(), jepsenRedux(), jepsenEtcd(), redis6062(), sentinelMaxLag(), failoverLocks(), clockJump(), clientPause(),
		redlockNodes(), splitBrainGuards(),
	}
}

// Values that several experiments use.
const (
	never = -1 // no limit to the rate: the rounds set the pace

	replicaOnOldSide = "split-brain-replica"
)

// none reports whether the figure was 0 in every trial.
func none(r reports.Range) bool { return r.Max == 0 }

func some(r reports.Range) bool { return r.Min > 0 }

// splitBrainGuards measures what each guard saves in a split brain. It is the project's own measurement: nobody else published
// it.
func splitBrainGuards() Experiment {
	base := plan.Plan{
		Variant: plan.RoundsVariant, Topology: plan.Sentinel, Clients: 5, Rate: never, Duration: 11 * time.Second,
		Rounds: &plan.Rounds{Count: 400, Every: 25 * time.Millisecond, Locks: true},
	}
	guard := func(name, sides string, published []string, change func(*plan.Plan)) arm {
		p := base
		p.Faults = []plan.FaultPlan{{Fault: "partition", Parameters: nemesis.Parameters{Sides: sides}, Start: 1500 * time.Millisecond, For: 5 * time.Second}}
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
			guard("none", usual, []string{"1976", "401", "", "194"}, func(*plan.Plan) {}),
			guard("min-replicas 1, max-lag 1 s", usual, []string{"1696", "124", "", "54"}, minReplicas),
			guard("WAIT 1", usual, []string{"1858", "0", "", "0"}, wait(1)),
			guard("WAIT 1, a replica on the old side", replicaOnOldSide, []string{"1915", "400", "", "182"}, wait(1)),
			guard("min-replicas 1, a replica on the old side", replicaOnOldSide, []string{"1212", "402", "", "0"}, minReplicas),
			guard("WAIT 2", usual, []string{"1784", "0", "", "0"}, wait(2)),
			guard("WAIT 1 and min-replicas 1", usual, []string{"1357", "0", "", "0"}, func(p *plan.Plan) { minReplicas(p); wait(1)(p) }),
		},
		measures: []measure{acknowledged(), lost(), lostPercent(), doubleGrants()},
		shape: func(f found) (bool, string) {
			lost := func(arm string) reports.Range { return f.of(arm, "lost") }
			safe := none(lost("WAIT 2")) && none(lost("WAIT 1 and min-replicas 1")) && none(lost("WAIT 1")) &&
				none(f.of("WAIT 2", "double grants")) && none(f.of("WAIT 1 and min-replicas 1", "double grants"))
			unsafe := some(lost("none")) && some(lost("WAIT 1, a replica on the old side")) &&
				some(lost("min-replicas 1, a replica on the old side")) && some(f.of("none", "double grants"))
			less := lost("min-replicas 1, max-lag 1 s").Median < lost("none").Median
			return safe && unsafe && less, fmt.Sprintf(
				"without a guard %v writes are lost and %v locks granted twice; with min-replicas 1 %v; with WAIT 2 %v, with WAIT 1 and min-replicas 1 %v",
				lost("none"), f.of("none", "double grants"), lost("min-replicas 1, max-lag 1 s"), lost("WAIT 2"), lost("WAIT 1 and min-replicas 1"))
		},
	}
}
