package plan

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/internal/fields"
	"github.com/doublegrant/doublegrant/workloads"
)

// resolved resolves a plan, which has to be possible.
func resolved(t *testing.T, p Plan) Resolved {
	t.Helper()
	r, err := p.Resolve()
	require.NoError(t, err)
	return r
}

func TestPlansThatCannotBeAreRefusedWithTheRemedy(t *testing.T) {
	for want, p := range map[string]Plan{
		"did you mean growing?":           {Variant: "sequence/incr", Regime: "growingg"},
		"cannot be a rider":               {Variant: "lock/set-nx-px", With: []string{"sequence/incr"}},
		"ask for 1 to":                    {Variant: "lock/set-nx-px", Clients: -1},
		"a regime is for sequences":       {Variant: "lock/set-nx-px", Regime: "fixed"},
		"keys are for locks":              {Variant: "dedup/get-set", Keys: 3},
		"is too short: ask for":           {Variant: "lock/set-nx-px", TTL: time.Millisecond},
		"cannot be negative":              {Variant: "lock/set-nx-px", Duration: -1},
		"one of the fault names is empty": {Variant: "lock/set-nx-px", Nemesis: []string{"kill-primary", ""}},
		"packages set their own times": {Variant: "lock/set-nx-px", Nemesis: []string{"split-brain", "clock"},
			FaultFor: time.Second},
		"`doublegrant list`":        {Variant: ""},
		"is named twice":            {Variant: "sequence/incr", With: []string{"writes/sadd", "writes/sadd"}},
		"need a --nemesis":          {Variant: "sequence/incr", Repeat: 3},
		"no situations are counted": {Variant: "writes/sadd", Thorough: true},
		"whose length is open": {Variant: "dedup/claim-confirm", Thorough: true,
			Nemesis: []string{"crash-clients"}},
		"at most 1000000000":                     {Variant: "sequence/incr", Rate: 1e99},
		"at most 100000":                         {Variant: "sequence/incr", Keys: 1_000_000},
		"is impossible: ask for at most":         {Variant: "sequence/incr", Rate: math.NaN()},
		"choose writes/sadd or writes/sadd-wait": {Variant: "writes/sadd", With: []string{"writes/sadd"}},
	} {
		err := p.Check()
		require.ErrorIs(t, err, ErrUsage, want)
		require.ErrorContains(t, err, want)
	}
	require.NoError(t, Plan{Variant: "lock/set-nx-px"}.Check())
	require.NoError(t, Plan{Variant: "lock/set-nx-px", Nemesis: []string{"split-brain", "kill-primary"},
		FaultFor: time.Second}.Check())
}

func TestDefaultsFitTheVariant(t *testing.T) {
	r := resolved(t, Plan{Variant: "lock/set-nx-px", Nemesis: []string{"kill-primary"}, Clients: 1000})
	require.Equal(t, "sentinel", r.Topology)
	require.Equal(t, 100, r.Keys)
	require.NotZero(t, r.Seed)
	r = resolved(t, Plan{Variant: "sequence/incr"})
	require.Equal(t, "standalone", r.Topology)
	require.Equal(t, "fixed", r.Plan.Regime)
	require.Equal(t, 20000.0, r.Rate)
	r = resolved(t, Plan{Variant: "lock/redlock"})
	require.Equal(t, 500.0, r.Rate)
}

// A thorough load has a quota and a time limit. Any other load gets a remark if no search covers its variant.
func TestALoadIsThoroughOrSaysWhatItIsTheOnlyCoverFor(t *testing.T) {
	thorough := resolved(t, Plan{Variant: "lock/redlock", Thorough: true})
	require.Equal(t, thoroughWithin, thorough.Duration)
	require.NotNil(t, thorough.Spec(Machine{}, t.TempDir(), harness.NewMemory()).Quota)
	require.Contains(t, thorough.Command(), " --thorough")
	require.Less(t, thorough.expectedLength(), thoroughWithin)
	require.Empty(t, thorough.OnlyCover())
	require.Equal(t, time.Minute, resolved(t,
		Plan{Variant: "lock/redlock", Thorough: true, Duration: time.Minute}).Duration)
	require.Contains(t, resolved(t, Plan{Variant: "lock/redlock"}).OnlyCover(),
		"no search can cover a lock on several masters")
	plain := resolved(t, Plan{Variant: "lock/set-nx-px"})
	require.Empty(t, plain.OnlyCover())
	require.Nil(t, plain.Spec(Machine{}, t.TempDir(), harness.NewMemory()).Quota)
	real := &workloads.Adapter{As: workloads.Lock, Command: []string{"mylock"}, Can: []string{"acquire", "release"},
		Clock: workloads.RealClock}
	require.Contains(t, resolved(t, Plan{Adapter: real}).OnlyCover(), "reads the machine's clock")
}

func TestAWrittenPlanIsReadBack(t *testing.T) {
	r := resolved(t, Plan{
		Variant: "lock/set-nx-px", Nemesis: []string{"kill-primary"}, TTL: 1500 * time.Millisecond,
		With: []string{"writes/sadd"},
	})
	dir := t.TempDir()
	require.NoError(t, r.Plan.Write(dir))
	back, err := ReadFolder(dir)
	require.NoError(t, err)
	back.place = fields.Place{}
	require.Equal(t, r.Plan, back)
	require.Contains(t, back.Command(), "doublegrant run lock/set-nx-px --topology=sentinel --nemesis=kill-primary")
	_, err = ReadFolder(t.TempDir())
	require.ErrorContains(t, err, "not a results folder")
}

func TestExpectationsFollowTheDocumentedFlaws(t *testing.T) {
	split, kill := []string{"partition-primary"}, []string{"kill-primary"}
	for _, c := range []struct {
		plan Plan
		want string
	}{
		{Plan{Variant: "lock/set-nx-px"}, "valid"},
		{Plan{Variant: "lock/set-nx-px", Nemesis: kill}, "valid, or invalid: double-grant"},
		{Plan{Variant: "lock/set-nx-px", Nemesis: split}, "invalid: double-grant"},
		{Plan{Variant: "lock/set-nx-px-blind-del"}, "invalid: stolen-release or double-grant"},
		{Plan{Variant: "lock/setnx-expire"}, "valid, or invalid: stolen-release or double-grant"},
		{Plan{Variant: "lock/setnx-expire-truncated"}, "invalid: double-grant, and perhaps stolen-release"},
		{Plan{Variant: "lock/setnx-expire-truncated", TTL: time.Second},
			"valid, or invalid: stolen-release or double-grant"},
		{Plan{Variant: "sequence/numeric-compare-hash"}, "invalid: duplicate-number or returned-not-stored"},
		{Plan{Variant: "sequence/numeric-compare-hash", Regime: "fixed"}, "valid"},
		{Plan{Variant: "lock/setnx-expire-truncated", TTL: 500 * time.Millisecond},
			"invalid: double-grant, and perhaps stolen-release"},
		{Plan{Variant: "lock/set-nx-px-wait", Nemesis: split}, "valid, or invalid: double-grant"},
		{Plan{Variant: "dedup/get-set"}, "invalid: duplicate-delivery"},
		{Plan{Variant: "dedup/get-set", Nemesis: []string{"crash-clients"}},
			"invalid: duplicate-delivery, and perhaps immortal-mark or lost-message"},
		{Plan{Variant: "dedup/get-set-lua"}, "valid"},
		{Plan{Variant: "sequence/string-compare-hash", Regime: "timestamp17"}, "valid"},
		{Plan{Variant: "sequence/numeric-compare-hash", Regime: "timestamp17"},
			"invalid: duplicate-number or returned-not-stored"},
		{Plan{Variant: "lock/set-nx-px", Nemesis: split, MinReplicas: 1}, "valid, or invalid: double-grant"},
		{Plan{Variant: "lock/set-nx-px", Nemesis: []string{"freeze-clients"}, Resource: true},
			"valid, or invalid: stale-holder or lost-write"},
		{Plan{Variant: "lock/fenced", Nemesis: []string{"freeze-clients"}, Resource: true}, "valid"},
		{Plan{Variant: "lock/setnx", Nemesis: []string{"crash-clients"}},
			"valid, or invalid: stuck-lock or double-grant"},
		{Plan{Variant: "lock/getset-deadline", Nemesis: []string{"skew-clients"}},
			"invalid: stolen-release or double-grant or refused-release, and perhaps stuck-lock"},
		{Plan{Variant: "lock/getset-deadline", Nemesis: kill},
			"invalid: stolen-release or double-grant or refused-release"},
		{Plan{Variant: "lock/set-nx-px", Nemesis: []string{"kill-replica", "pause-sentinels", "script-flush"}},
			"valid"},
		{Plan{Variant: "lock/set-nx-px", Nemesis: []string{"memory-pressure"}}, "valid, or invalid: double-grant"},
		{Plan{Variant: "lock/set-nx-px", Nemesis: []string{"clock-step-forward"}}, "valid, or invalid: double-grant"},
		{Plan{Variant: "sequence/incr", Nemesis: []string{"clock-step-forward"}}, "valid"},
		{Plan{Variant: "writes/sadd", Nemesis: []string{"restart-primary-at-once"}}, "invalid: lost-write"},
		{Plan{Variant: "writes/sadd", Nemesis: []string{"restart-primary-at-once"}, AOF: "always"}, "valid"},
		{Plan{Variant: "writes/sadd", Nemesis: []string{"restart-primary-at-once"}, AOF: "everysec"},
			"valid, or invalid: lost-write"},
		{Plan{Variant: "lock/set-nx-px", Nemesis: []string{"restart-primary-at-once"}},
			"valid, or invalid: double-grant"},
		{Plan{Variant: "lock/redlock", Nemesis: []string{"kill-minority", "partition-minority"}}, "valid"},
		{Plan{Variant: "lock/redlock", Nemesis: []string{"kill-minority"}, TTL: 20 * time.Second},
			"valid, or invalid: double-grant"},
		{Plan{Variant: "lock/redlock", Nemesis: []string{"restart-majority-at-once"}},
			"valid, or invalid: double-grant"},
		{Plan{Variant: "lock/redlock", Nemesis: []string{"restart-majority-at-once"}, AOF: "always"}, "valid"},
		{Plan{Variant: "sequence/incr", Nemesis: split, With: []string{"writes/sadd"}},
			"invalid: duplicate-number or regression or sequence-restart, and lost-write"},
	} {
		r := resolved(t, c.plan)
		require.Equal(t, c.want, r.Expectation().String(), "%+v", c.plan)
	}
}

// TestLossesThatNobodyCountedAreASurprise checks that a missing figure does not count as 0.
func TestLossesThatNobodyCountedAreASurprise(t *testing.T) {
	e := Expectation{May: []harness.Class{harness.LostWrite}, Updates: true}
	j := harness.Judged{Verdict: harness.Invalid, Totals: map[harness.Class]int{harness.LostWrite: 1}}
	require.False(t, e.Met(j))
	require.Equal(t, `cannot tell whether writes that no lock guarded were lost: the checker writes, which reports "lost", did not run`, e.Surprise(j))
}

func TestMet(t *testing.T) {
	judged := func(v harness.Verdict, found ...harness.Class) harness.Judged {
		j := harness.Judged{Verdict: v, Totals: map[harness.Class]int{}}
		for _, c := range found {
			j.Totals[c] = 1
		}
		return j
	}
	const a, b, c = harness.DoubleGrant, harness.LostWrite, harness.Regression
	// updates of the lost writes were updates of what a lock guards
	lost := func(writes, updates float64) harness.Judged {
		j := judged(harness.Invalid, b)
		j.Judgements = []harness.Judgement{{Checker: "writes",
			Figures: []harness.Figure{{Name: "lost", Value: writes}, {Name: "lost updates", Value: updates}}}}
		return j
	}
	unanswered := func(j harness.Judged, n float64) harness.Judged {
		j.Judgements = append(j.Judgements, harness.Judgement{Checker: "gates",
			Figures: []harness.Figure{{Name: "info", Value: n}}})
		return j
	}
	for _, x := range []struct {
		e    Expectation
		j    harness.Judged
		want bool
	}{
		{Expectation{}, judged(harness.Valid), true},
		{Expectation{}, judged(harness.Unknown), false},
		{Expectation{}, judged(harness.Invalid, a), false},
		{Expectation{Must: [][]harness.Class{{a, b}}}, judged(harness.Invalid, b), true},
		{Expectation{Must: [][]harness.Class{{a}}}, judged(harness.Valid), false},
		{Expectation{Must: [][]harness.Class{{a}}}, judged(harness.Invalid, a, c), false},
		{Expectation{Must: [][]harness.Class{{a}}, May: []harness.Class{c}}, judged(harness.Invalid, a, c), true},
		{Expectation{May: []harness.Class{c}}, judged(harness.Valid), true},
		{Expectation{May: []harness.Class{c}}, judged(harness.Invalid, c), true},
		{Expectation{May: []harness.Class{c}}, judged(harness.Unknown), false},
		{Expectation{Must: [][]harness.Class{{a}, {b}}}, judged(harness.Invalid, b), false}, // each variant's own flaw
		{Expectation{Must: [][]harness.Class{{a}, {b}}}, judged(harness.Invalid, a, b), true},
		{Expectation{Late: []harness.Class{c}}, judged(harness.Invalid, c), false},
		{Expectation{Late: []harness.Class{c}}, unanswered(judged(harness.Invalid, c), 0), false},
		{Expectation{Late: []harness.Class{c}}, unanswered(judged(harness.Invalid, c), 1), true},
		{Expectation{Late: []harness.Class{c}}, unanswered(judged(harness.Invalid, a, c), 1), false},
		{Expectation{Late: []harness.Class{c}}, unanswered(judged(harness.Valid), 1), true},
		{Expectation{May: []harness.Class{b}, Updates: true}, lost(3, 3), true},
		{Expectation{May: []harness.Class{b}, Updates: true}, lost(4, 3), false},
	} {
		require.Equal(t, x.want, x.e.Met(x.j), "%v of %v", x.e, x.j.Totals)
	}
}

func TestAnExpectationOfThePlanTakesThePlaceOfTheDocumentation(t *testing.T) {
	grants, steals := []harness.Class{harness.DoubleGrant}, []harness.Class{harness.StolenRelease}
	for _, c := range []struct {
		expect Expected
		want   Expectation
	}{
		{Expected{Valid: true}, Expectation{}},
		{Expected{Invalid: grants}, Expectation{Must: [][]harness.Class{grants}}},
		{Expected{Invalid: grants, May: steals}, Expectation{Must: [][]harness.Class{grants}, May: steals}},
		{Expected{Valid: true, May: grants}, Expectation{May: grants}},
	} {
		r := resolved(t, Plan{Variant: "lock/set-nx-px-blind-del", Expect: c.expect})
		require.Equal(t, c.want, r.Expectation())
		dir := t.TempDir()
		require.NoError(t, r.Plan.Write(dir))
		back, err := ReadPlan(dir)
		require.NoError(t, err)
		require.Equal(t, c.expect, back.Expect, "a results folder says what was expected")
	}
}

func TestWhatARunCanShowCanBeExpected(t *testing.T) {
	for class, p := range map[harness.Class]Plan{
		harness.FenceRegression: {Variant: "lock/fenced"},
		harness.StaleHolder:     {Variant: "lock/set-nx-px", Resource: true},
		harness.LostWrite:       {Variant: "lock/set-nx-px", With: []string{"writes/sadd"}},
		harness.TTLLost:         {Variant: "sequence/incr"},
	} {
		p.Expect.May = []harness.Class{class}
		require.NoError(t, p.Check(), class)
	}
}
