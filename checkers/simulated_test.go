package checkers

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/testenv"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// simulation is a kind of simulated server, with the checkers that say Valid for most of its histories, and the flaws
// that can be planted in it.
type simulation struct {
	name  string
	serve func(*simWorld, dice) service
	judge []harness.Checker
	flaws map[string]harness.Class // flaws, each with the class that it has to be found as
}

var simulations = []simulation{
	{"lock", newSimLocks, []harness.Checker{Mutex(), Owners(), Stuck(), Fence(), Holders(), Writes()},
		map[string]harness.Class{
			"release that ignores the token":                          harness.StolenRelease,
			"lease a tenth short":                                     harness.DoubleGrant,
			"extend without a check of the owner":                     harness.DoubleGrant,
			"extend that does not renew":                              harness.DoubleGrant,
			"acquire that takes the last two milliseconds of a lease": harness.DoubleGrant,
			"acquire that forgets the lease":                          harness.StuckLock,
			"extend that takes a free lock":                           harness.SilentReacquire,
			"release that is refused now and then":                    harness.RefusedRelease,
			"extend that is refused now and then":                     harness.RefusedRelease,
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

// simulated draws a history of the server, with that flaw if it is not "".
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

// alarms says what is wrong with the verdicts on a history of a correct server, or "".
func (s *simScore) alarms(one history) string {
	s.histories++
	s.ops += len(one.ops)
	for _, r := range roles { // every checker judges every history, of any server
		c := r.checker
		g, found := judgeWithin(context.Background(), c, one.h)
		if g.Verdict == harness.Invalid || len(found) > 0 {
			return fmt.Sprintf("%s says %v (%s): %v\n%s", c.Name(), g.Verdict, g.Reason, found, one)
		}
		if g.Verdict == harness.Valid {
			s.valid[c.Name()]++
		}
	}
	return ""
}

// differences says how porcupine and the checkers differ on a history, or "". It asks about one history in eight, since
// that takes most of the time.
func (s *simScore) differences(one history) string {
	if s.histories%8 > 0 {
		return ""
	}
	second := unhurried(opinion{ops: 60, inAll: time.Second, perKey: 100 * time.Millisecond})
	g, _ := judgeWithin(context.Background(), second, one.h)
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

// No history of a correct server is invalid, whatever is late or lost, and whether its times are exact or widened. Most
// histories show enough to be valid.
func TestSimulatedServersAreNeverInvalid(t *testing.T) {
	atMost := 500 // histories of each server; they are ten times as long as those of the properties
	if testenv.Deep() {
		atMost = math.MaxInt
	}
	for _, sim := range simulations {
		t.Run(sim.name, func(t *testing.T) {
			t.Parallel()
			s, bit, failed := simScore{valid: map[string]int{}}, rapid.Bool(), false
			wide := simScore{valid: map[string]int{}}
			rapid.Check(t, func(rt *rapid.T) {
				if !failed && s.histories >= atMost {
					return
				}
				d := throws{rt, bit}
				one := sim.simulated(d, "")
				two := widened(d, one)
				said := s.alarms(one) + s.differences(one) + wide.alarms(two) + wide.differences(two)
				if failed = said != ""; failed {
					rt.Fatal(said)
				}
			})
			line := fmt.Sprintf("%8d histories of %d operations on average, none invalid; porcupine agreed on %d "+
				"keys; valid:",
				s.histories, s.ops/s.histories, s.keys+wide.keys)
			for _, c := range sim.judge {
				line += fmt.Sprintf(" %s %d", c.Name(), s.valid[c.Name()])
				require.Greater(t, s.valid[c.Name()], s.histories/10, "%s is valid too seldom to mean anything",
					c.Name())
			}
			t.Log(line)
		})
	}
}

// The simulation can fail: each defect that is planted in a server is found under its class, both by exact times and by
// widened ones. The histories are hundreds of operations long.
func TestSimulatedFlawsAreFound(t *testing.T) {
	const least, most = 10, 300
	for _, sim := range simulations {
		for flaw, class := range sim.flaws {
			plain, wide := 0, 0 // histories in which it was found
			seed := uint64(0)
			for ; seed < least || seed < most && (plain == 0 || wide == 0); seed++ {
				d := seeded(seed)
				one := sim.simulated(d, flaw)
				plain += min(1, sim.counts(t, one)[class])
				wide += min(1, sim.counts(t, widened(d, one))[class])
			}
			t.Logf("%s: %s: found in %d of %d histories, and in %d that were widened", sim.name, flaw, plain, seed,
				wide)
			require.Positive(t, plain, "%s: %s", sim.name, flaw)
			require.Positive(t, wide, "%s: %s, widened", sim.name, flaw)
		}
	}
}

// counts returns what the checkers count in a history. If its times are exact, counts checks that their rules count the
// same.
func (s simulation) counts(t *testing.T, one history) counted {
	t.Helper()
	all := counted{}
	for _, c := range s.judge {
		g, found := judge(t, c, one.h)
		want, got := ruleOf(c)(one.ops, one.h.Meta), countsOf(found)
		require.True(t, one.h.Meta.Widened || want.same(got),
			"%s counts %v (%s), its rule %v, on\n%s", c.Name(), got, g.Reason, want, one)
		for _, a := range found {
			all[a.Class] += a.Violations()
		}
	}
	return all
}

// ruleOf returns the rule of a checker.
func ruleOf(c harness.Checker) func([]harness.Op, harness.Meta) counted {
	return properties[slices.IndexFunc(properties, func(p property) bool { return p.checker == c })].rule
}

// widened returns a history as several generators record it. Each generator widens the times of its operations by the
// uncertainty of its clock. Operations stay in the order in which their worker asked.
func widened(d dice, one history) history {
	const most = 8 * time.Millisecond
	groups := 1 + d.IntN(3)
	before, after := make([]time.Duration, groups), make([]time.Duration, groups)
	for g := range groups {
		before[g], after[g] = time.Duration(d.IntN(int(most))), time.Duration(d.IntN(int(most)))
	}
	ops := slices.Clone(one.ops)
	calls := map[int]time.Duration{}
	returns := make([]time.Duration, groups)
	for i := range ops {
		x := &ops[i]
		if x.Client < 0 {
			continue
		}
		worker := one.h.Meta.Worker(x.Client)
		g := worker % groups
		if d.IntN(16) == 0 { // it is known better from here on
			before[g] -= time.Duration(d.IntN(int(before[g])+1)) / 4
			after[g] -= time.Duration(d.IntN(int(after[g])+1)) / 4
		}
		x.Call, x.Return = max(0, x.Call-before[g], calls[worker]), max(x.Return+after[g], returns[g])
		calls[worker], returns[g] = x.Call, x.Return
		if x.Until > 0 {
			x.Until = max(1, x.Until-before[g])
		}
	}
	slices.SortStableFunc(ops, func(a, b harness.Op) int { return cmp.Compare(a.Return, b.Return) })
	h := one.h
	h.Meta.Widened = true
	h.Ops = harness.OpsOf(ops)
	return history{ops, h}
}
