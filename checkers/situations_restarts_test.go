package checkers

import (
	"testing"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// restarted is soak with a fault that replaces the process of a primary, and with more operations.
func restarted(more ...harness.Op) harness.History {
	h := soak()
	h.Ops = of(append(opsIn(h), more...)...).Ops
	h.Faults[0].Effects, h.Faults[0].Targets = harness.EndsProcess|harness.StartsProcess, []string{"r1"}
	return h
}

// roleFrom says that a node has a role from some time on.
func roleFrom(node, is string, at time.Duration) harness.Event {
	return harness.Event{At: at, Node: node, Kind: harness.EventRole, Detail: is}
}

// said adds events that the cluster reported.
func said(h harness.History, events ...harness.Event) harness.History {
	h.Events = append(h.Events, events...)
	return h
}

// A restart only counts if the node had something to forget, and somebody asked for it afterwards.
func TestARestartShowsSomethingIfSomethingLivesThroughIt(t *testing.T) {
	const nothing = "no lock was held from before kill at 100ns until somebody asked for it after"
	held := acquire(0, "h", 90, 95, 200) // until 290
	runCases(t, Gates(), []verdictCase{
		{name: "nothing was held", h: restarted(), unknown: nothing},
		{name: "held, and asked for", h: restarted(held, fail(acquire(1, "x", 250, 260, 5)))},
		{name: "held, and nobody asked", h: restarted(held), unknown: nothing},
		{name: "asked for by the owner alone", h: restarted(held, fail(acquire(0, "h", 250, 260, 5))),
			unknown: nothing},
		{name: "asked for before the node was back", h: restarted(held, fail(acquire(1, "x", 105, 120, 5))),
			unknown: nothing},
		{name: "asked for, without an answer", h: restarted(held, info(acquire(1, "x", 250, 260, 5))),
			unknown: nothing},
		{name: "its lease may be over when the answer came", h: restarted(held, fail(acquire(1, "x", 250, 291, 5))),
			unknown: nothing},
		{name: "it was given up", h: restarted(held, release(0, "h", 240, 245), fail(acquire(1, "x", 250, 260, 5))),
			unknown: nothing},
		{name: "granted while the node was away",
			h: restarted(acquire(0, "h", 101, 108, 200), fail(acquire(1, "x", 250, 260, 5))), unknown: nothing},
		{name: "its lease may be over at the instant of the answer",
			h: restarted(held, fail(acquire(1, "x", 250, 290, 5))), unknown: nothing},
		{name: "its lease cannot be over then", h: restarted(held, fail(acquire(1, "x", 250, 289, 5)))},
		{name: "granted by the start of the fault, and asked for from the instant at which it acts",
			h: restarted(acquire(0, "h", 90, 100, 200), fail(acquire(1, "x", 110, 120, 5)))},
		{name: "held without an end", h: restarted(acquire(0, "h", 90, 95, 0), fail(acquire(1, "x", 250, 260, 5)))},
		{name: "a replica", h: said(restarted(), roleFrom("r2", harness.RolePrimary, 5),
			roleFrom("r1", harness.RoleReplica, 5))},
		{name: "a primary that was a replica", unknown: nothing,
			h: said(restarted(), roleFrom("r1", harness.RoleReplica, 5), roleFrom("r1", harness.RolePrimary, 50),
				roleFrom("r1", harness.RoleDown, 99))},
		{name: "a primary from that instant on", unknown: nothing,
			h: said(restarted(), roleFrom("r1", harness.RoleReplica, 5), roleFrom("r1", harness.RolePrimary, 100))},
		{name: "what is said beside roles", unknown: nothing,
			h: said(restarted(), roleFrom("r1", harness.RolePrimary, 5),
				harness.Event{At: 50, Node: "r1", Kind: "other", Detail: harness.RoleReplica})},
		{name: "a node that stays down", h: soak()},
	})
	marked := func(more ...harness.Op) harness.History {
		h := restarted(append(more, claim(0, 60, 61, 9), claim(1, 340, 341, 9), seen(claim(0, 340, 342, 9)))...)
		h.Meta.Kinds = []harness.Kind{harness.Claim}
		return h
	}
	const unmarked = "no message was marked from before kill at 100ns"
	runCases(t, Gates(), []verdictCase{
		{name: "nothing was marked", h: marked(), unknown: unmarked},
		{name: "marked, and asked for", h: marked(claim(0, 90, 95, 200), seen(claim(1, 250, 260, 200)))},
		{name: "another was asked for, which nobody had marked", h: marked(on("n", seen(claim(1, 250, 260, 200)))),
			unknown: unmarked},
		{name: "marked, and asked for when its window could be over",
			h: marked(claim(0, 90, 95, 200), seen(claim(1, 280, 295, 200))), unknown: unmarked},
	})
}
