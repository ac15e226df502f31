package checkers

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/doublegrant/doublegrant/harness"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestMain sets defaults of rapid's flags for CI. The command line overrides them: see verify-checkers in the Makefile.
// A failure prints the seed that repeats it.
func TestMain(m *testing.M) {
	for name, value := range map[string]string{"rapid.checks": "2500", "rapid.seed": "1", "rapid.nofailfile": "true",
		"rapid.shrinktime": "10s"} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// property is a checker with its rule and a source of small histories.
type property struct {
	name     string
	checker  harness.Checker
	rule     func(ops []harness.Op, meta harness.Meta) counted
	random   func(*worker) harness.Op
	after    func(*worker) harness.Op  // the harness's operations after the load; nil: none
	promised func(dice) []harness.Kind // what the workloads promise; nil: nothing
	more     int                       // operations beyond the usual 2 to 8
	harness  bool                      // the harness may be one of the workers, and the checker reports before the end
	drifts   bool                      // its rule considers drift
	explains specification             // brute force, if executions can differ at all; nil: they cannot
	told     func(dice, *harness.Op)   // a change of an operation after it has ended; nil: none
	alike    func(dice, []harness.Op)  // a change of all operations of the load; nil: none
	beside   harness.Checker           // another checker, whose violations brute force sees, too; nil: none
}

var properties = []property{
	{name: "mutex", drifts: true, harness: true, checker: Mutex(), rule: perKey(exclusive), random: (*worker).owner,
		explains: lockExplained},
	{name: "dedup", drifts: true, harness: true, checker: Dedup(), rule: perKey(duplicated), random: (*worker).dedup,
		explains: filterExplained},
	{name: "dedup, confirmed", drifts: true, harness: true, checker: Dedup(), rule: perKey(duplicated),
		random: (*worker).confirmed, explains: filterExplained, promised: confirmingKinds},
	{name: "sequence", harness: true, checker: Sequence(), rule: perKey(numbered), random: (*worker).sequence,
		explains: counterExplained},
	{name: "fence", harness: true, checker: Fence(), rule: perKey(fenced), random: (*worker).fence},
	{name: "fence, acquired once", checker: Fence(), rule: perKey(fenced), random: (*worker).fenceOnce,
		explains: fenceExplained, beside: Mutex()},
	{name: "owners, silent", drifts: true, harness: true, checker: Owners(), rule: perKey(answered),
		random: (*worker).loser, told: neverRefused, explains: turnExplained, beside: Mutex()},
	{name: "owners, refused", harness: true, checker: Owners(), rule: perKey(answered), random: (*worker).keeper,
		told: oftenRefused, explains: takenExplained, more: 4},
	{name: "stuck", drifts: true, checker: Stuck(), rule: perKey(jammed), random: (*worker).brief,
		after: (*worker).probe, explains: jammedExplained},
	{name: "delivery", checker: Delivery(), rule: perKey(left), random: (*worker).deliverer, after: (*worker).asker,
		promised: leasing, explains: leftExplained},
	{name: "stored", drifts: true, checker: Stored(), rule: perKey(kept), random: (*worker).storer, alike: oneTTL},
	{name: "stored, one looks", drifts: true, checker: Stored(), rule: perKey(kept), random: (*worker).onlooker,
		alike: oneTTL, explains: storedExplained, more: 2},
	{name: "writes", checker: Writes(), rule: perKey(writesRule), random: (*worker).adder, after: (*worker).reader,
		explains: setExplained},
	{name: "holders", checker: Holders(), rule: overdue, random: (*worker).holder, more: 10,
		explains: guardedExplained},
}

func confirmingKinds(dice) []harness.Kind { return []harness.Kind{harness.Claim, harness.Confirm} }

func leasing(d dice) []harness.Kind {
	if d.IntN(2) == 0 {
		return nil
	}
	return []harness.Kind{harness.Claim, harness.Deliver, harness.Confirm}
}

// score counts the histories of a property.
type score struct{ histories, violated, asked, agreed, tried int }

// On every small history a checker agrees with its rule, a list of plain comparisons, and with porcupine where that has
// a model. It finds as many violations of each class as the rule counts; for extends, the rule counts an upper bound.
// What a checker reports before the end of a record stays true however the record goes on.
func TestCheckersKeepTheirRules(t *testing.T) {
	for _, p := range properties {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			var s score
			some := p.generator()
			rapid.Check(t, func(rt *rapid.T) {
				one := some.Draw(rt, "history")
				n := rapid.IntRange(0, len(one.ops)-1).Draw(rt, "operations")
				if err := errors.Join(p.disagreement(p.checker, one, &s), p.misreported(one, n)); err != nil {
					rt.Fatal(err)
				}
			})
			t.Logf("%8d histories, %8d violated (%2d %%), all as the rule says; porcupine agreed on %d of %d keys, "+
				"brute force on %d",
				s.histories, s.violated, 100*s.violated/s.histories, s.agreed, s.asked, s.tried)
			require.Greater(t, s.violated, s.histories/100, "too few violations to mean anything")
			require.Greater(t, s.histories-s.violated, s.histories/100, "too few legal histories to mean anything")
		})
	}
}

// disagreement says how the checker c, or porcupine, differs from the rule on a history.
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
		if hasModel(a) && !a.Certified {
			return fmt.Errorf("not certified: %v\n%s", a, one)
		}
	}
	if err := p.ask(one, s, func(its []harness.Op) bool { return len(p.rule(its, h.Meta)) == 0 }); err != nil {
		return err
	}
	return p.try(one, p.objects(one, g), s)
}

// objects reports whether the property's checker, which judged g, or its checker beside finds a violation.
func (p property) objects(one history, g harness.Judgement) bool {
	return g.Verdict == harness.Invalid ||
		p.beside != nil && p.beside.Check(context.Background(), one.h,
			func(harness.Anomaly) {}).Verdict == harness.Invalid
}

// ask has porcupine judge each key, if it has a model for the checker. It returns an error if legal says otherwise.
func (p property) ask(one history, s *score, legal func([]harness.Op) bool) error {
	for key, its := range byKey(one.ops) {
		k := keyOps{familyKey{familyOf(its[0].Kind), key}, its}
		if k.family == 0 {
			continue
		}
		for _, v := range k.questions(one.h.Meta) {
			if v.checker.Name() != p.checker.Name() {
				continue
			}
			s.asked++
			said := porcupine.CheckOperations(v.model, v.operations)
			if said != legal(its) {
				return fmt.Errorf("porcupine says legal=%v of %s, which is not so, on\n%s", said, key, one)
			}
			s.agreed++
		}
	}
	return nil
}

// try has brute force judge each key of the history. It returns an error if the checker said otherwise of the history.
func (p property) try(one history, invalid bool, s *score) error {
	if p.explains == nil {
		return nil
	}
	s.tried++
	if explained := p.explained(one, false); explained == invalid {
		return fmt.Errorf("an execution explains it: %v; invalid to %s: %v, on\n%s", explained, p.checker.Name(),
			invalid, one)
	}
	return nil
}

// explained reports whether some execution explains the answers on each key of a history.
func (p property) explained(one history, every bool) bool {
	for _, its := range byKey(withTheirLocks(one.ops)) {
		if !p.explains(its, one.h.Meta, every) {
			return false
		}
	}
	return true
}

// countsOf counts violations by class. Stolen releases count as double grants, since they only differ in who is blamed.
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

// misreported returns an error if an anomaly has wrong spans, or if an anomaly that is found in the first n operations
// of a history is not found in all of it.
func (p property) misreported(one history, n int) error {
	_, all := judgeWithin(context.Background(), p.checker, one.h)
	for _, a := range all {
		if err := (spansIn{a, one.ops, one.h.Meta}).wrong(); err != nil {
			return fmt.Errorf("%w\n%+v\n%s", err, a, one)
		}
	}
	if !p.harness {
		return nil
	}
	one.h.Ops, one.h.End = harness.OpsOf(one.ops[:n]), nil
	_, found := judgeWithin(context.Background(), p.checker, one.h)
	for i, a := range found {
		if i >= len(all) || !reflect.DeepEqual(all[i], a) {
			return fmt.Errorf("found in the first %d operations only: %+v\n%s", n, a, one)
		}
	}
	return nil
}

// seeded returns dice for tests that run until something is found.
func seeded(seed uint64) dice { return rand.New(rand.NewPCG(seed, 0)) }
