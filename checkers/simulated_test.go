package checkers

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// simulation is a kind of simulated server, the checkers that say Valid of most of its histories, and what can be wrong with it.
type simulation struct {
	name  string
	serve func(*simWorld, dice) service
	judge []harness.Checker
	flaws map[string]harness.Class // each with a class that it must be found as
}

var simulations = []simulation{
	{"lock", newSimLocks, []harness.Checker{Mutex(), Stuck(), Fence(), Holders(), Writes()}, map[string]harness.Class{
		"release that ignores the token":                          harness.StolenRelease,
		"lease a tenth short":                                     harness.DoubleGrant,
		"extend without a check of the owner":                     harness.DoubleGrant,
		"extend that does not renew":                              harness.DoubleGrant,
		"acquire that takes the last two milliseconds of a lease": harness.DoubleGrant,
		"acquire that forgets the lease":                          harness.StuckLock,
		"fence that goes back when the lease ends":                harness.FenceRegression,
		"fence that is drawn once":                                harness.FenceRegression,
		"resource that ignores tokens":                            harness.StaleHolder,
	}},
	{"filter", newSimFilter, []harness.Checker{Dedup(), Delivery()}, map[string]harness.Class{
		"window forgotten after half of it":        harness.DuplicateDelivery,
		"claim that looks before it marks":         harness.DuplicateDelivery,
		"confirm that does not mark":               harness.DuplicateDelivery,
		"mark without an end":                      harness.ImmortalMark,
		"filter that marks for clients that crash": harness.LostMessage,
	}},
	{"sequence", newSimSequences, []harness.Checker{Sequence(), Stored()}, map[string]harness.Class{
		"increment that is not atomic":        harness.DuplicateNumber,
		"proposal compared as a string":       harness.Regression,
		"sequence that begins again":          harness.DuplicateNumber,
		"number answered before it is stored": harness.ReturnedNotStored,
		"TTL lost at every fifth number":      harness.TTLLost,
	}},
	{"set", newSimSets, []harness.Checker{Writes()}, map[string]harness.Class{
		"add that is lost now and then": harness.LostWrite,
		"add that is done and refused":  harness.UnexpectedWrite,
	}},
}

// everyChecker judges every simulated history, of whatever server.
var everyChecker = []harness.Checker{Mutex(), Stuck(), Fence(), Holders(), Dedup(), Delivery(), Sequence(), Stored(), Writes()}

// simulated draws a history of the server, with that flaw if any.
func (s simulation) simulated(d dice, flaw string) history {
	w := newSimWorld(d, flaw)
	w.service = s.serve(w, d)
	h := w.simulate()
	if f, ok := w.service.(*simFilter); ok && f.confirming {
		h.Meta.Kinds = []harness.Kind{harness.Claim, harness.Deliver, harness.Confirm}
	}
	return history{w.ops, h}
}

// simScore counts verdicts by checker.
type simScore struct {
	histories, ops, keys int
	valid                map[string]int
}

// alarms says what is wrong with the verdicts on a history of a correct server; "": nothing.
func (s *simScore) alarms(one history) string {
	s.histories++
	s.ops += len(one.ops)
	for _, c := range everyChecker {
		g, found := judgeWithin(context.Background(), c, one.h)
		if g.Verdict == harness.Invalid || len(found) > 0 {
			return fmt.Sprintf("%s says %v (%s): %v\nof the key's operations\n%s", c.Name(), g.Verdict, g.Reason, found, one.about(found))
		}
		if g.Verdict == harness.Valid {
			s.valid[c.Name()]++
		}
	}
	return ""
}

// secondOpinionEvery says that porcupine judges one in so many histories. It takes most of the time.
const secondOpinionEvery = 8

// differences says how porcupine and the checkers differ on a history; "": not at all.
func (s *simScore) differences(one history) string {
	if s.histories%secondOpinionEvery > 0 {
		return ""
	}
	g, _ := judgeWithin(context.Background(), SecondOpinion(Budget{Ops: 60}), one.h)
	for _, f := range g.Figures {
		if f.Name == "keys agreed" {
			s.keys += int(f.Value)
		}
		if f.Name == "keys illegal" && f.Value > 0 {
			return fmt.Sprintf("porcupine says: %s\n%s", g.Reason, one)
		}
	}
	if strings.Contains(g.Reason, "defect of the harness") {
		return g.Reason
	}
	return ""
}

// about returns the operations of a history on the keys of found.
func (one history) about(found []harness.Anomaly) history {
	one.ops = slices.DeleteFunc(slices.Clone(one.ops), func(x harness.Op) bool {
		return !slices.ContainsFunc(found, func(a harness.Anomaly) bool {
			lock, guarded := harness.GuardedBy(a.Key)
			return a.Key == x.Key || guarded && lock == x.Key
		})
	})
	return one
}

// simulatedAtMost bounds the histories of each server that are simulated. They are ten times as long as those of the other
// properties, so there are fewer of them, unless the command line says how many.
func simulatedAtMost() int {
	if n, err := strconv.Atoi(flag.Lookup("rapid.checks").Value.String()); err == nil && n != 2500 {
		return n
	}
	return 800
}

// No history of a correct server is invalid, whatever is late or lost; and most show enough to be valid.
func TestSimulatedServersAreNeverInvalid(t *testing.T) {
	for _, sim := range simulations {
		t.Run(sim.name, func(t *testing.T) {
			t.Parallel()
			s, bit, failed := simScore{valid: map[string]int{}}, rapid.Bool(), false
			some := rapid.Custom(func(rt *rapid.T) history { return sim.simulated(throws{rt, bit}, "") })
			rapid.Check(t, func(rt *rapid.T) {
				if !failed && s.histories >= simulatedAtMost() {
					return
				}
				one := some.Draw(rt, "history")
				if said := s.alarms(one) + s.differences(one); said != "" {
					failed = true
					rt.Fatal(said)
				}
			})
			line := fmt.Sprintf("%-9s %8d histories of %d operations on average, none invalid; porcupine agreed on %d keys; valid:", sim.name, s.histories, s.ops/s.histories, s.keys)
			for _, c := range sim.judge {
				line += fmt.Sprintf(" %s %d", c.Name(), s.valid[c.Name()])
				require.Greater(t, s.valid[c.Name()], s.histories/10, "%s is valid too seldom to mean anything", c.Name())
			}
			fmt.Println(line)
		})
	}
}

// The simulation is able to fail: each defect that is planted in a server is found, as what it is.
func TestSimulatedFlawsAreFound(t *testing.T) {
	const limit = 300
	for _, sim := range simulations {
		for _, flaw := range slices.Sorted(maps.Keys(sim.flaws)) {
			seed := 0
			for ; seed < limit && !sim.finds(seeded(uint64(seed)), flaw); seed++ {
			}
			t.Logf("%s: %s, after %d histories", sim.name, flaw, seed+1)
			require.Less(t, seed, limit, "%s: %s", sim.name, flaw)
		}
	}
}

// finds reports whether a history of the server with that flaw is found to be what the flaw leads to.
func (s simulation) finds(d dice, flaw string) bool {
	one := s.simulated(d, flaw)
	for _, c := range everyChecker {
		if _, found := judgeWithin(context.Background(), c, one.h); slices.Contains(classes(found), s.flaws[flaw]) {
			return true
		}
	}
	return false
}
