package reports

import (
	"time"

	"github.com/doublegrant/doublegrant/harness/analysis/analysistest"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// searches returns explorations of every kind.
func searches() map[string]Exploration {
	budget := interleave.Budget{Clients: 3, Crashes: 1, Expiries: 1}
	found := func(all ...interleave.Counterexample) interleave.Result {
		return interleave.Result{
			Schedules: 702, Pruned: 318, Steps: 5410, Exhausted: true, First: 800 * time.Microsecond, Elapsed: 66 * ms,
			Budget: budget, Counterexamples: all,
		}
	}
	race := Exploration{
		Name: "dedup/get-set", Variant: "dedup/get-set", Command: "doublegrant explore dedup/get-set --clients 3",
		Labels: map[string]string{"variant": "dedup/get-set", "lease": "20 s"},
		Doc:    "GET; if absent SET, EXPIRE, deliver",
		Source: "Atomic operations by Lua (article), plan one", Clients: 3,
		Result:   found(analysistest.Immortal(), analysistest.DedupRace()),
		Files:    map[int]string{0: "anomalies/immortal-mark.json", 1: "anomalies/duplicate-delivery.json"},
		Expected: "duplicate-delivery", Met: true, Started: time.Date(2026, 11, 21, 4, 0, 0, 0, time.UTC),
	}
	four := Exploration{Variant: "lock/set-nx-px", Command: "doublegrant explore lock/set-nx-px --failovers 1",
		Clients: 4, Result: found(analysistest.LostGrant())}
	four.Result.Budget = interleave.Budget{Clients: 4, Crashes: 1, Expiries: 1, Failovers: 1, Flushes: 1}
	return map[string]Exploration{
		"race": race,
		"blind": {Variant: "lock/set-nx-px-blind-del", Clients: 3, Result: found(analysistest.BlindDel()),
			Expected: "double-grant"},
		"stuck": {Variant: "lock/setnx-expire", Clients: 2, Result: found(analysistest.Stuck()),
			Files: map[int]string{0: "anomalies/stuck-lock.json"}},
		"failover": four,
		"exhausted": {Variant: "lock/set-nx-px", Clients: 3, Labels: map[string]string{"regime": "fixed"},
			Result: interleave.Result{
				Schedules: 5040, Steps: 61200, Exhausted: true, Elapsed: 480 * ms, Budget: budget}},
		"budget": {Variant: "sequence/incr", Clients: 4, Result: interleave.Result{
			Schedules: 120000, Steps: 1900000, Stopped: "budget reached", Elapsed: 10 * sec,
			Budget: interleave.Budget{Clients: 4}}},
		"some": {Result: interleave.Result{
			Schedules: 3, Stopped: "it was to stop at the first counterexample",
			Counterexamples: []interleave.Counterexample{analysistest.BlindDel()}}},
		"evil":    evilSearch(),
		"empty":   {},
		"nothing": {Result: interleave.Result{Exhausted: true}},
	}
}

// evilSearch returns an exploration in which every text from outside tries to break out of its place.
func evilSearch() Exploration {
	const evil = `</title></text></svg><script>alert(1)</script>"'&|` + "```\n# @team" + `onload=x` +
		"\x00\x1b[31m\u202e"
	c := analysistest.Hostile(evil)
	return Exploration{
		Name: evil, Variant: evil, Command: evil, Labels: map[string]string{evil: evil, "regime": evil}, Doc: evil,
		Source: evil, Clients: 2,
		Result: interleave.Result{Counterexamples: []interleave.Counterexample{c}, Stopped: evil}, Expected: evil,
		Files: map[int]string{0: `javascript:alert(1)//"><script>alert(2)</script>`},
	}
}
