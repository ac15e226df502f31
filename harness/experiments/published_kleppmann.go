package experiments

import (
	"fmt"
	"time"

	"github.com/doublegrant/doublegrant/checkers"
	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/nemesis"
)

// Two fifths of the clients reach only three of the five masters, so that each lock they get rests on the barest majority.
const (
	cutClients = "g0,g1"
	cutNodes   = "r4,r5"
	lastOfUs   = "r3" // one of the three that these clients reach
)

// quorumPlan lets clients race for locks on five masters under the given faults, while cutClients do not reach cutNodes.
func quorumPlan(variant string, faults ...plan.FaultPlan) plan.Plan {
	cut := plan.FaultPlan{Fault: "cut", Parameters: nemesis.Parameters{From: cutClients, To: cutNodes}, Start: time.Second, For: 14 * time.Second, Track: "cut"}
	return plan.Plan{
		Variant: variant, Topology: plan.ManyMasters, Clients: 50, Keys: 20, TTL: 4 * time.Second, Hold: 800 * time.Millisecond,
		Rate: 400, Duration: 15 * time.Second, Faults: append([]plan.FaultPlan{cut}, faults...),
	}
}

// clockJump repeats the first example of Kleppmann, "How to do distributed locking", 2016: a clock that jumps.
func clockJump() Experiment {
	jump := plan.FaultPlan{
		Fault: "clock-step-forward", Parameters: nemesis.Parameters{Host: lastOfUs, By: time.Minute}, Start: 3 * time.Second, For: time.Second, Times: 3, Every: 2 * time.Second,
	}
	return Experiment{
		Name: "kleppmann-2016-clock", Title: "Redlock and a clock that jumps",
		Source:    "Kleppmann, How to do distributed locking, 2016: the first example",
		Published: "client 1 locks A, B, C and cannot reach D, E; the clock of C jumps and the lock there expires; client 2 locks C, D, E: two owners",
		setup: "5 masters; two fifths of the clients do not reach two of them; the clock of a third jumps a minute ahead and back, three times; " +
			"leases of 4 s",
		differs:  "nothing was counted in the article",
		expected: "double grants",
		trials:   3,
		arms: []arm{
			{"lock/redlock", []string{"some"}, quorumPlan("lock/redlock", jump)},
			{"lib/redsync-quorum", nil, quorumPlan("lib/redsync-quorum", jump)},
		},
		measures: []measure{doubleGrants()},
		shape: func(f found) (bool, string) {
			own, lib := f.measureOf("lock/redlock", "double grants"), f.measureOf("lib/redsync-quorum", "double grants")
			return allPositive(own) && allPositive(lib), fmt.Sprintf("%v double grants with Redlock as documented, %v with redsync", own, lib)
		},
	}
}

// clientPause repeats the client pause and the fencing token of Kleppmann, "How to do distributed locking", 2016.
func clientPause() Experiment {
	of := func(variant string) plan.Plan {
		return plan.Plan{
			Variant: variant, Topology: plan.Standalone, Clients: 50, Keys: 10, TTL: time.Second, Resource: true, Rate: never,
			Duration: 15 * time.Second,
			Faults: []plan.FaultPlan{{
				Fault: "freeze-clients", Parameters: nemesis.Parameters{Host: "group"}, Start: time.Second, For: 1500 * time.Millisecond, Times: 6, Every: 500 * time.Millisecond,
			}},
		}
	}
	const plain, fenced = "lock/set-nx-px", "lock/fenced"
	return Experiment{
		Name: "kleppmann-2016-pause", Title: "A client that sleeps through its lease, and a fencing token",
		Source:    "Kleppmann, How to do distributed locking, 2016: the client pause and the fencing token",
		Published: "a client pauses in its critical section until its lease is over, wakes and writes: the update of the new owner is lost; a token that grows with each grant lets the resource refuse it",
		setup:     "50 clients update 10 resources, each under a lock with a lease of 1 s; every 2 s a fifth of them is frozen for 1.5 s",
		differs:   "nothing was counted in the article",
		expected:  "the plain lock lets stale owners write; the fenced one lets none",
		trials:    3,
		arms: []arm{
			{plain, []string{"some"}, of(plain)},
			{fenced, []string{"0"}, of(fenced)},
		},
		measures: []measure{
			countViolations("stale owners' writes", harness.StaleHolder), lostWrites(), reportedFigure("refused", checkers.FigureRefused),
		},
		shape: func(f found) (bool, string) {
			stale := "stale owners' writes"
			return f.measureOf(plain, stale).Max > 0 && allZero(f.measureOf(fenced, stale)) && allZero(f.measureOf(fenced, "lost")) && f.measureOf(fenced, "refused").Max > 0, fmt.Sprintf(
				"stale owners wrote %v times under the plain lock and %v times under the fenced one, where %v writes were refused",
				f.measureOf(plain, stale), f.measureOf(fenced, stale), f.measureOf(fenced, "refused"))
		},
	}
}

// redlockNodes repeats what the Redis documentation says in "Distributed Locks" of Redlock's nodes when they die and restart.
func redlockNodes() Experiment {
	restart := plan.FaultPlan{
		Fault: "restart-at-once", Parameters: nemesis.Parameters{Host: lastOfUs}, Start: 3 * time.Second, For: time.Second, Times: 4, Every: time.Second,
	}
	withAOF := quorumPlan("lock/redlock", restart)
	withAOF.AOF = "always"
	killed := quorumPlan("lock/redlock")
	killed.Faults = []plan.FaultPlan{{Fault: "kill-minority", Start: 2 * time.Second, For: 8 * time.Second}}
	const minority, empty, library, kept = "kill of two of five", "restart of one, empty", "the same, redsync", "restart of one, AOF"
	return Experiment{
		Name: "redis-docs-redlock", Title: "Redlock and its nodes",
		Source:    "Redis documentation, Distributed Locks: performance, crash recovery and fsync",
		Published: "safe while a majority lives; without persistence a node that restarts can let a second client lock the same resource",
		setup: "5 masters, leases of 4 s; two are killed for 8 s; or a third restarts at once, four times, while two fifths of the clients do not " +
			"reach two of them",
		differs:  "nothing was counted in the documentation",
		expected: "no double grant under the kill of a minority, nor with an append-only file; double grants after restarts without one",
		trials:   3,
		arms: []arm{
			{minority, []string{"0"}, killed},
			{empty, []string{"some"}, quorumPlan("lock/redlock", restart)},
			{library, []string{"some"}, quorumPlan("lib/redsync-quorum", restart)},
			{kept, []string{"0"}, withAOF},
		},
		measures: []measure{doubleGrants()},
		shape: func(f found) (bool, string) {
			two := func(arm string) string { return f.measureOf(arm, "double grants").String() }
			safe := allZero(f.measureOf(minority, "double grants")) && allZero(f.measureOf(kept, "double grants"))
			return safe && f.measureOf(empty, "double grants").Max > 0 && f.measureOf(library, "double grants").Max > 0, fmt.Sprintf(
				"double grants: %s under kills of a minority, %s after empty restarts (redsync %s), %s with an append-only file",
				two(minority), two(empty), two(library), two(kept))
		},
	}
}
