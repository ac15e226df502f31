package plan

import (
	"time"

	"github.com/doublegrant/doublegrant/harness/interleave"
)

// Case is a plan with a title for readers.
type Case struct {
	Title string
	Plan  Plan
}

// Demo lists the runs of a tour that takes about 90 seconds.
func Demo() []Case {
	locks := Plan{Clients: 200, Keys: 10, TTL: 300 * time.Millisecond, Duration: 5 * time.Second}
	workers := Plan{Clients: 200, Duration: 5 * time.Second}
	numbers := Plan{Duration: 3 * time.Second}
	cases := []Case{
		{"SETNX, EXPIRE, GET, DEL, each a command of its own: a lease that ends in a release", Plan{
			Variant: "lock/setnx-expire", Clients: 300, Keys: 10, TTL: time.Second, Duration: 8 * time.Second}},
		{"a lock released by a blind DEL", locks.withVariant("lock/set-nx-px-blind-del")},
		{"the same lock released by compare-and-delete", locks.withVariant("lock/set-nx-px")},
		{"GET, then SET: who pushes the message", workers.withVariant("dedup/get-set")},
		{"the same commands in one script", workers.withVariant("dedup/get-set-lua")},
	}
	for _, regime := range []string{"fixed", "timestamp17"} {
		numbers.Regime = regime
		for _, script := range []string{"string-compare-hash", "numeric-compare-hash", "digits-compare"} {
			cases = append(cases, Case{script + ", regime " + regime, numbers.withVariant("sequence/" + script)})
		}
	}
	return append(cases,
		Case{"a split brain under the reference lock", Plan{
			Variant: "lock/set-nx-px", Nemesis: []string{"partition-primary"}, With: []string{"writes/sadd"},
			Clients: 200, Rate: 5000, Duration: 10 * time.Second}},
		Case{"a counter through the kill of the primary", Plan{
			Variant: "sequence/incr", Nemesis: []string{"kill-primary"}, Clients: 100, Rate: 5000,
			Duration: 8 * time.Second,
			FaultFor: 4 * time.Second}},
	)
}

// DemoSearches lists the searches of the tour, which take one or two seconds together.
func DemoSearches() []Search {
	var all []Search
	for _, id := range []string{"lock/setnx-expire", "lock/set-nx-px-blind-del", "lock/set-nx-px", "dedup/get-set",
		"dedup/claim-confirm"} {
		all = append(all, Search{Variant: id})
	}
	return append(all,
		Search{Variant: "lock/set-nx-px", Bounds: interleave.Bounds{Crashes: -1, Expiries: -1, Failovers: 1}},
		Search{Variant: "sequence/string-compare-hash", Regime: "growing"},
		Search{Variant: "sequence/digits-compare", Regime: "growing"},
	)
}

// withVariant returns the plan with another variant.
func (p Plan) withVariant(variant string) Plan {
	p.Variant = variant
	return p
}
