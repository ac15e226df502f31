package checkers

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/doublegrant/doublegrant/harness"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Defaults for CI, which the command line overrides: see verify-checkers in the Makefile. A failure prints the seed that
// repeats it.
func TestMain(m *testing.M) {
	for name, value := range map[string]string{"rapid.checks": "2500", "rapid.seed": "1", "rapid.nofailfile": "true", "rapid.shrinktime": "10s"} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// property is a streaming checker with its rule and a source of small histories.
type property struct {
	name     string
	checker  harness.Checker
	rule     func(ops []harness.Op, meta harness.Meta) counted
	random   func(*worker) harness.Op
	after    func(*worker) harness.Op  // what the harness does after the load; nil: nothing
	promised func(dice) []harness.Kind // what the workloads promise; nil: nothing
	more     int                       // operations than the usual 2 to 8
}

var properties = []property{
	{name: "mutex", checker: Mutex(), rule: perKey(painted), random: (*worker).lock},
	{name: "dedup", checker: Dedup(), rule: perKey(duplicated), random: (*worker).dedup},
	{name: "dedup, confirmed", checker: Dedup(), rule: perKey(duplicated), random: (*worker).confirmed},
	{name: "sequence", checker: Sequence(), rule: perKey(numbered), random: (*worker).sequence},
	{name: "fence", checker: Fence(), rule: perKey(fenced), random: (*worker).fence},
	{name: "stuck", checker: Stuck(), rule: perKey(jammed), random: (*worker).brief, after: (*worker).probe},
	{name: "delivery", checker: Delivery(), rule: perKey(left), random: (*worker).deliverer, after: (*worker).asker, promised: leasing},
	{name: "stored", checker: Stored(), rule: perKey(kept), random: (*worker).storer},
	{name: "writes", checker: Writes(), rule: perKey(survived), random: (*worker).adder, after: (*worker).reader},
	{name: "holders", checker: Holders(), rule: overdue, random: (*worker).holder, more: 10},
}

func leasing(d dice) []harness.Kind {
	if d.IntN(2) == 0 {
		return nil
	}
	return []harness.Kind{harness.Claim, harness.Deliver, harness.Confirm}
}

// score counts the histories of a property.
type score struct{ histories, violated, asked, agreed int }

// On every small history a checker, its rule as a list of plain comparisons, and porcupine where it has a model, say the
// same: no false alarm, no miss, and as many violations of each class as the rule counts (of extended
// holds: as many as it allows).
func TestCheckersKeepTheirRules(t *testing.T) {
	for _, p := range properties {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			var s score
			some := p.generator()
			rapid.Check(t, func(rt *rapid.T) {
				if err := p.disagreement(p.checker, some.Draw(rt, "history"), &s); err != nil {
					rt.Fatal(err)
				}
			})
			fmt.Printf("%-18s %8d histories, %8d violated (%2d %%), all as the rule says; porcupine agreed on %d of %d\n",
				p.name, s.histories, s.violated, 100*s.violated/s.histories, s.agreed, s.asked)
			require.Greater(t, s.violated, s.histories/40, "too few violations to mean anything")
			require.Greater(t, s.histories-s.violated, s.histories/40, "too few legal histories to mean anything")
		})
	}
}

// disagreement says how the checker c differs from the rule, or porcupine does, on one history.
func (p property) disagreement(c harness.Checker, one history, s *score) error {
	ops, h := one.ops, one.h
	g, found := judgeWithin(context.Background(), c, h)
	got, want := countsOf(found), p.rule(ops, h.Meta)
	s.histories++
	if len(want) > 0 {
		s.violated++
	}
	if !want.same(got) || (g.Verdict == harness.Invalid) != (len(want) > 0) {
		return fmt.Errorf("%s counts %v (%v: %s), its rule %v, on\n%s", c.Name(), got, g.Verdict, g.Reason, want, one)
	}
	for _, a := range found {
		if drawable(a) && !a.Certified {
			return fmt.Errorf("not certified: %v\n%s", a, one)
		}
	}
	return p.ask(one, s)
}

// ask has porcupine judge each key, where it has a model for the checker.
func (p property) ask(one history, s *score) error {
	for key, its := range byKey(one.ops) {
		k := keyOps{whole{familyOf(its[0].Kind), key}, its}
		if k.family == 0 {
			continue
		}
		for _, v := range k.opinions(one.h.Meta) {
			if v.checker.Name() != p.checker.Name() {
				continue
			}
			s.asked++
			legal := porcupine.CheckOperations(v.model, v.steps)
			if legal != (len(p.rule(its, one.h.Meta)) == 0) {
				return fmt.Errorf("porcupine says legal=%v of %s, the rule not, on\n%s", legal, key, one)
			}
			s.agreed++
		}
	}
	return nil
}

// countsOf counts violations by class. Which double grant is a stolen release is a matter of blame and not counted here.
func countsOf(found []harness.Anomaly) counted {
	c := counted{}
	for _, a := range found {
		if a.Class == harness.StolenRelease {
			a.Class = harness.DoubleGrant
		}
		c[a.Class] += a.Violations()
	}
	return c
}

// What a checker concludes from a torn record stays true however the record goes on, and leaves nothing out that the
// streaming order had decided: the violations found are a prefix of those of the whole history.
func TestTornRecords(t *testing.T) {
	for _, p := range properties[:5] {
		some := p.generator()
		rapid.Check(t, func(rt *rapid.T) {
			one := some.Draw(rt, "history")
			ops, h := one.ops, one.h
			n := rapid.IntRange(0, len(ops)-1).Draw(rt, "operations")
			_, all := judgeWithin(context.Background(), p.checker, h)
			h.Ops, h.End = harness.OpsOf(ops[:n]), nil
			_, found := judgeWithin(context.Background(), p.checker, h)
			require.LessOrEqual(rt, len(found), len(all), "%d ops of\n%s", n, one)
			for i := range found {
				require.Equal(rt, all[i], found[i], "%d ops of\n%s", n, one)
			}
		})
	}
}

// seeded are dice for tests that go on until something is found.
func seeded(seed uint64) dice { return rand.New(rand.NewPCG(seed, 0)) }
