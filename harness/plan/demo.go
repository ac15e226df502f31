package plan

import (
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// Case is a plan with a title for readers.
type Case struct {
	Title string
	Plan  Plan
}

// Scene is one search or run of a tour.
type Scene struct {
	Title  string // what is shown, in at most 32 letters
	Right  bool   // true: no violation may be found; false: at least one must be found
	Search Search // if its Variant is empty, the scene runs Plan instead
	Plan   Plan
	// Class of the counterexample whose steps the scene tells. If Tells is empty, or no counterexample of the class was
	// found, the scene tells the smallest one.
	Tells harness.Class
}

// Takes estimates how long the scene takes.
func (s Scene) Takes() time.Duration {
	if s.Search.Variant != "" {
		return time.Second
	}
	length, _ := s.Plan.Estimate() // running it reports errors
	return length
}

// Tour is what the command demo shows, in this order. It takes about 80 seconds.
type Tour struct {
	Pairs     []Scene // naive and right algorithms in turn. The first has a counterexample to be told step by step
	Numbers   []Scene // sequences that compare numbers as text, as doubles of Lua, and digit by digit
	Failovers []Scene // runs in which a replica becomes the primary
}

// Scenes lists all scenes of the tour, in order.
func (t Tour) Scenes() []Scene { return slices.Concat(t.Pairs, t.Numbers, t.Failovers) }

// Demo returns the tour.
func Demo() (t Tour) {
	search := func(title, variant string, right bool) {
		t.Pairs = append(t.Pairs, Scene{Title: title, Right: right, Search: Search{Variant: variant}})
	}
	run := func(title, variant string, right bool, p Plan) {
		p.Variant, p.Clients, p.Duration = variant, 200, 5*time.Second
		t.Pairs = append(t.Pairs, Scene{Title: title, Right: right, Plan: p})
	}
	locks := Plan{Keys: 10, TTL: 300 * time.Millisecond}
	search("SET NX PX, given up by DEL", "lock/set-nx-px-blind-del", false)
	t.Pairs[0].Tells = harness.StolenRelease // a lease that ends is easier to follow than a lost answer
	search("given up only by its owner", "lock/set-nx-px", true)
	run("by DEL, under load: owned twice", "lock/set-nx-px-blind-del", false, locks)
	run("by its owner, under load", "lock/set-nx-px", true, locks)
	search("SETNX, then EXPIRE", "lock/setnx-expire", false)
	search("both in one script", "lock/lua-owner", true)
	search("marked, then worked on", "dedup/set-nx-ex", false)
	search("claimed, worked on, then marked", "dedup/claim-confirm", true)
	run("GET, then SET: delivered twice", "dedup/get-set", false, Plan{})
	run("both in one script, under load", "dedup/get-set-lua", true, Plan{})

	for _, n := range []struct {
		title, script, regime string
		right                 bool
	}{
		{"compared as text, 23 proposed", "string-compare-hash", "fixed", false},
		{"as numbers of Lua, 17 digits", "numeric-compare-hash", "timestamp17", false},
		{"digit by digit, 23 proposed", "digits-compare", "fixed", true},
		{"digit by digit, 17 digits", "digits-compare", "timestamp17", true},
	} {
		t.Numbers = append(t.Numbers, Scene{Title: n.title, Right: n.right,
			Plan: Plan{Variant: "sequence/" + n.script, Regime: n.regime, Duration: 3 * time.Second}})
	}

	t.Failovers = []Scene{
		{Title: "a split brain", Plan: Plan{
			Variant: "lock/set-nx-px", Nemesis: []string{"partition-primary"}, With: []string{"writes/sadd"},
			Clients: 200, Rate: 5000, Duration: 10 * time.Second}},
		{Title: "the primary is killed", Right: true, Plan: Plan{
			Variant: "sequence/incr", Nemesis: []string{"kill-primary"}, Clients: 100, Rate: 5000,
			Duration: 8 * time.Second, FaultFor: 4 * time.Second}},
	}
	return t
}
