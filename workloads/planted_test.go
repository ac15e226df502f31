package workloads_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/checkers"
	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/explore"
	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/doublegrant/doublegrant/workloads"
)

// This file tests the explorer and the load on algorithms that are known to keep their promise or not: broken ones, each
// with a planted defect, and right but odd ones. PLANTED.md lists them.

var (
	// long and deep are for test-long and verify-planted in the Makefile. Without them these tests take a minute.
	long = flag.Bool("long", false, "run what takes long too: the whole zoo, more of the planted algorithms, the largest searches")
	deep = flag.Bool("deep", false, "explore every planted algorithm and put it under load, not only some")

	writePlanted = flag.Bool("write-planted", false, "write PLANTED.md anew")
)

// planted is one algorithm: a script, or one of the constructors.
type planted struct {
	name string
	doc  string // what it does, and what is wrong with it; one line
	as   workloads.Family

	script    workloads.Script
	locker    func(redis.UniversalClient) workloads.Locker
	deduper   func(redis.UniversalClient) workloads.Deduper
	sequencer func(redis.UniversalClient) workloads.Sequencer

	sound    bool
	explorer said
	load     said
	clients  int // of the explorer; default 3
}

// said is the verdict that has to be given on an algorithm.
type said struct {
	verdict harness.Verdict
	classes []harness.Class // the smallest counterexample has one of these
	why     string          // of Unknown, a part of the reason; of a defect that is not found, why not
	perhaps bool            // Invalid will do as well: whether a load meets the defect is chance
}

func finds(classes ...harness.Class) said { return said{verdict: harness.Invalid, classes: classes} }

// cannot expects the verdict unknown, for that reason.
func cannot(why string) said { return said{why: why} }

// misses expects that the defect does not show, or by chance only, and says why.
func misses(why string) said { return said{verdict: harness.Valid, perhaps: true, why: why} }

var holds = said{verdict: harness.Valid}

func (s said) String() string {
	switch {
	case s.perhaps:
		return "not shown: " + s.why
	case s.verdict == harness.Unknown:
		return "unknown: " + s.why
	case s.verdict == harness.Valid || len(s.classes) == 0:
		return s.verdict.String()
	}
	names := make([]string, len(s.classes))
	for i, c := range s.classes {
		names[i] = string(c)
	}
	return "invalid: " + strings.Join(names, " or ")
}

// everyPlanted lists them all.
func everyPlanted() []planted {
	return slices.Concat(plantedLocks(), plantedFilters(), plantedSequences())
}

// of returns p with so many explored clients.
func (p planted) of(clients int) planted {
	p.clients = clients
	return p
}

// variant returns a script as a variant.
func (p planted) variant(t *testing.T) workloads.Variant {
	t.Helper()
	s := p.script
	s.Name, s.As = "planted", p.as
	v, err := workloads.ScriptVariant(s)
	require.NoError(t, err)
	return v
}

// programs lists what explored clients do with it: one program, or one for each regime of a sequence.
func (p planted) programs(t *testing.T) (all []interleave.Program) {
	t.Helper()
	regimes := []workloads.Regime{""}
	if p.as == workloads.Sequence {
		regimes = workloads.Regimes()
	}
	for _, regime := range regimes {
		switch {
		case p.locker != nil:
			all = append(all, workloads.LockProgram(workloads.LockOptions{}, p.locker))
		case p.deduper != nil:
			all = append(all, workloads.DedupProgram(workloads.DedupOptions{}, p.deduper))
		case p.sequencer != nil:
			all = append(all, workloads.SequenceProgram(workloads.SequenceOptions{Regime: regime}, p.sequencer))
		default:
			program, ok := p.variant(t).Program(workloads.Options{Regime: regime})
			require.True(t, ok)
			all = append(all, program)
		}
	}
	return all
}

// explored returns the explorer's verdict on a program, and the classes or the reason. A message that a filter of one step
// loses with its worker is not a defect of the filter: see Variant.Flaws of scripts.
func (p planted) explored(t *testing.T, program interleave.Program) (harness.Verdict, []harness.Class, string) {
	t.Helper()
	spec := explore.Spec{Program: program, Checkers: checkers.ForSearch(program.Kinds...), Clients: p.clients, For: time.Minute, First: !p.sound}
	if p.as == workloads.Dedup && !slices.Contains(program.Kinds, harness.Confirm) {
		spec.Crashes, spec.LostAnswers = -1, -1
	}
	res, err := explore.Search(t.Context(), spec)
	require.NoError(t, err)
	t.Logf("%.1fs %s", res.Elapsed.Seconds(), res.Summary())
	var classes []harness.Class
	for _, c := range res.Found {
		classes = append(classes, c.Anomaly.Class)
		t.Logf("%s\n%s%s", c.Anomaly.Class, c.Text(), c.Anomaly.Note)
	}
	return res.Verdict(), classes, res.Stopped
}

func (p planted) explore(t *testing.T) {
	var verdicts []harness.Verdict
	var classes []harness.Class
	var reasons []string
	for _, program := range p.programs(t) {
		v, c, why := p.explored(t, program)
		verdicts, classes, reasons = append(verdicts, v), append(classes, c...), append(reasons, why)
		if v == harness.Invalid {
			break
		}
	}
	got := harness.Worst(verdicts...)
	require.Equal(t, p.explorer.verdict, got, "%v %q", classes, reasons)
	for _, c := range classes {
		require.Contains(t, p.explorer.classes, c)
	}
	if p.explorer.verdict == harness.Unknown {
		require.Contains(t, strings.Join(reasons, "\n"), p.explorer.why)
	}
}

// The explorer gives the right verdict on every planted algorithm.
func TestExplorerOfPlanted(t *testing.T) {
	for i, p := range everyPlanted() {
		if !sampled(i, 12, 4) {
			continue
		}
		t.Run(string(p.as)+"/"+p.name, p.explore)
	}
}

// sampled reports whether the algorithm i is for this run: with -long one of so many, with -deep each.
func sampled(i, of, ofLong int) bool {
	if *long {
		of = ofLong
	}
	return i%of == 0 || *deep
}

// A load gives the right verdict on planted algorithms: on some of them, or on all with -deep.
func TestLoadOfPlanted(t *testing.T) {
	cage := make(chan struct{}, 4) // loads that run at one time
	for i, p := range everyPlanted() {
		if !sampled(i, 36, 12) {
			continue
		}
		t.Run(string(p.as)+"/"+p.name, func(t *testing.T) {
			t.Parallel()
			cage <- struct{}{}
			defer func() { <-cage }()
			p.script.As = p.as
			res := beast{script: p.script, locker: p.locker, deduper: p.deduper, sequencer: p.sequencer}.run(t)
			for _, a := range res.Anomalies[:min(2, len(res.Anomalies))] {
				t.Log(a.Note)
			}
			if p.load.perhaps && res.Verdict == harness.Invalid {
				return
			}
			require.Equal(t, p.load.verdict, res.Verdict, res.Summary())
		})
	}
}

// No two planted algorithms have one name, and a defect that is not expected to show has its reason.
func TestPlantedAreDescribed(t *testing.T) {
	names := map[string]bool{}
	broken, right := 0, 0
	for _, p := range everyPlanted() {
		name := string(p.as) + "/" + p.name
		require.False(t, names[name], name)
		names[name] = true
		require.NotEmpty(t, p.doc, name)
		require.NotContains(t, p.name+p.doc, "|", name)
		if p.sound {
			right++
			require.Equal(t, said{verdict: harness.Valid}, p.explorer, name)
			require.Equal(t, said{verdict: harness.Valid}, p.load, name)
		} else {
			broken++
			require.NotEqual(t, said{verdict: harness.Valid}, p.explorer, name)
			require.NotEqual(t, said{verdict: harness.Valid}, p.load, name)
		}
	}
	require.GreaterOrEqual(t, broken, 30)
	require.GreaterOrEqual(t, right, 20)
}

const plantedTable = "PLANTED.md"

// The table in PLANTED.md agrees with the code.
func TestPlantedTable(t *testing.T) {
	want := plantedText(everyPlanted())
	if *writePlanted {
		require.NoError(t, os.WriteFile(plantedTable, []byte(want), 0o644))
	}
	got, err := os.ReadFile(plantedTable)
	require.NoError(t, err)
	require.Equal(t, want, string(got), "write it anew: go test ./workloads -run PlantedTable -write-planted")
}

func plantedText(all []planted) string {
	var b strings.Builder
	b.WriteString(plantedHead)
	section := func(title string, sound bool) {
		n := 0
		var rows strings.Builder
		for _, p := range all {
			if p.sound == sound {
				n++
				fmt.Fprintf(&rows, "| %s/%s | %s | %s | %s |\n", p.as, p.name, p.doc, p.explorer.String(), p.load)
			}
		}
		fmt.Fprintf(&b, "\n## %s: %d\n\n| algorithm | what it does | explorer | load |\n|---|---|---|---|\n%s", title, n, rows.String())
	}
	section("Broken", false)
	section("Right, but unusual", true)
	return b.String()
}

const plantedHead = `# Planted algorithms

Algorithms whose defects are known, and what the explorer and a load say of them. The algorithms are in ` + "`planted_*_test.go`" + `. This
table is written from them, and a test compares the two:

    make verify-planted                                          # explorer and load, of all
    go test ./workloads -run Planted -long                       # the explorer of every fourth, the load of every twelfth
    go test ./workloads -run Planted                             # of a third of those
    go test ./workloads -run PlantedTable -write-planted         # writes this file anew

The explorer searches with its defaults: 3 clients (for some algorithms 2), 1 crash and 1 expiry; then 2 clients with a lost answer, and 2
with a late command. It searches a sequence in every regime. "invalid" names the classes of which the smallest counterexample has one. A filter of
one step is searched without crashes and lost answers: it claims and marks at once, so a crash of its worker always loses a message.

A load is 50 clients for 6 seconds without faults, so nobody crashes. "Not shown" says why it cannot show the defect, or only by chance.
"unknown: without any command" means that the algorithm answers from memory, which the explorer refuses to judge.
`
