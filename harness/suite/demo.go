package suite

import (
	"time"
)

// Case is a plan with the sentence that its run supports.
type Case struct {
	Title string
	Plan  Plan
}

// Demo is a tour of what doublegrant finds, in about 90 seconds.
func Demo() []Case {
	const short = 3 * time.Second
	sequence := func(variant, regime string) Case {
		return Case{variant + " with " + regime + " proposals", Plan{Variant: "sequence/" + variant, Regime: regime, Duration: 2 * time.Second}}
	}
	return []Case{
		{"a lock released by a blind DEL lets a third client in", Plan{
			Variant: "lock/set-nx-px-blind-del", Clients: 200, Keys: 10, TTL: 300 * time.Millisecond, Duration: short}},
		{"the same lock released by compare-and-delete", Plan{
			Variant: "lock/set-nx-px", Clients: 200, Keys: 10, TTL: 300 * time.Millisecond, Duration: short}},
		{"GET, then SET: two workers push the same message", Plan{Variant: "dedup/get-set", Clients: 200, Duration: short}},
		{"the same commands in one script", Plan{Variant: "dedup/get-set-lua", Clients: 200, Duration: short}},
		sequence("string-compare-hash", "fixed"),
		sequence("numeric-compare-hash", "fixed"),
		sequence("digits-compare", "fixed"),
		sequence("string-compare-hash", "timestamp17"),
		sequence("numeric-compare-hash", "timestamp17"),
		sequence("digits-compare", "timestamp17"),
		{"split brain under the reference lock", Plan{
			Variant: "lock/set-nx-px", Nemesis: []string{"partition-primary"}, With: []string{"writes/sadd"},
			Clients: 200, Rate: 5000, Duration: 10 * time.Second}},
		{"a counter through the kill of the primary", Plan{
			Variant: "sequence/incr", Nemesis: []string{"kill-primary"}, Clients: 100, Rate: 5000, Duration: 8 * time.Second,
			FaultFor: 4 * time.Second}},
	}
}
