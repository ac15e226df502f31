package workloads_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/checkers"
	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/explore"
	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/doublegrant/doublegrant/harness/testenv"
	"github.com/doublegrant/doublegrant/workloads"
)

// This file tests the explorer and the load on a corpus of algorithms that are known to keep their promise or not:
// broken ones, each with another defect, and correct but unusual ones. CORPUS.md lists them.

// algorithm is a row of the corpus: a script or a constructor, and the verdicts that it should get.
type algorithm struct {
	name string
	doc  string // what it does and what is wrong with it, in one line
	as   workloads.Family

	script    workloads.Script
	locker    func(redis.UniversalClient) workloads.Locker
	deduper   func(redis.UniversalClient) workloads.Deduper
	sequencer func(redis.UniversalClient) workloads.Sequencer

	explorer said
	load     said

	// For the search; 0 is its default.
	clients  int
	lease    time.Duration // lease or window
	shortest int           // most steps of the shortest counterexample; 0: the first one will do
}

// A row begins with one of these. It is correct unless says gives other verdicts.

func scriptLock(name, doc, acquire, release string) algorithm {
	return script(name, doc, workloads.Script{As: workloads.Lock, Source: acquire, Release: release})
}

func scriptFilter(name, doc, text string) algorithm {
	return script(name, doc, workloads.Script{As: workloads.Dedup, Source: text,
		Args: []string{"{window_ms}", "{key}"}})
}

func scriptSequence(name, doc, text string) algorithm {
	return script(name, doc, workloads.Script{As: workloads.Sequence, Source: text, Args: []string{"{proposed}"}})
}

func script(name, doc string, s workloads.Script) algorithm {
	s.Name, s.Source = name, forOneServer(s.Source)
	if s.Release != "" {
		s.Release = forOneServer(s.Release)
	}
	return algorithm{name: name, doc: doc, as: s.As, script: s, explorer: holds, load: holds}
}

func codeLock(name, doc string, f func(redis.UniversalClient) workloads.Locker) algorithm {
	return algorithm{name: name, doc: doc, as: workloads.Lock, locker: f, explorer: holds, load: holds}
}

func codeFilter(name, doc string, f func(redis.UniversalClient) workloads.Deduper) algorithm {
	return algorithm{name: name, doc: doc, as: workloads.Dedup, deduper: f, explorer: holds, load: holds}
}

func codeSequence(name, doc string, f func(redis.UniversalClient) workloads.Sequencer) algorithm {
	return algorithm{name: name, doc: doc, as: workloads.Sequence, sequencer: f, explorer: holds, load: holds}
}

// says sets the verdicts that explorer and load have to give.
func (a algorithm) says(explorer, load said) algorithm {
	a.explorer, a.load = explorer, load
	return a
}

// given sets the keys and arguments of a script, and of its release.
func (a algorithm) given(keys []string, args ...string) algorithm {
	a.script.Keys, a.script.Args = keys, args
	if a.script.Release != "" {
		a.script.ReleaseArgs = args
	}
	return a
}

// yes sets the reply of a script that means yes.
func (a algorithm) yes(reply string) algorithm {
	a.script.Yes = reply
	return a
}

// of sets the number of explored clients.
func (a algorithm) of(clients int) algorithm {
	a.clients = clients
	return a
}

// leased sets the lease or window that explored clients ask for.
func (a algorithm) leased(d time.Duration) algorithm {
	a.lease = d
	return a
}

// steps requires a counterexample of at most n steps. The search then goes on until it has the shortest.
func (a algorithm) steps(n int) algorithm {
	a.shortest = n
	return a
}

// right reports whether the algorithm keeps its promise. Then explorer or load is expected to hold it valid.
func (a algorithm) right() bool { return a.explorer.isHolds() || a.load.isHolds() }

func (a algorithm) id() string { return string(a.as) + "/" + a.name }

// said is the expected verdict on an algorithm.
type said struct {
	verdict harness.Verdict
	classes []harness.Class // every counterexample has one of these classes
	why     string          // for Unknown, a part of the reason; for a defect that is not found, why not
	perhaps bool            // Invalid will do as well, since a load meets the defect only by chance
}

func finds(classes ...harness.Class) said { return said{verdict: harness.Invalid, classes: classes} }

// cannot expects the verdict Unknown. why is a part of the reason.
func cannot(why string) said { return said{why: why} }

// misses expects that the defect does not show, or only by chance, and says why.
func misses(why string) said { return said{verdict: harness.Valid, perhaps: true, why: why} }

var holds = said{verdict: harness.Valid}

// isHolds reports whether s accepts the verdict Valid alone.
func (s said) isHolds() bool { return s.verdict == harness.Valid && !s.perhaps }

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

// corpus lists all algorithms.
func corpus() []algorithm {
	return slices.Concat(lockScripts(), codeLocks(), extendingLocks(), timelyLocks(), deadlineLocks(), filters(),
		sequences(), timedSequences())
}

// variant returns a script as a variant.
func (a algorithm) variant(t *testing.T) workloads.Variant {
	t.Helper()
	v, err := workloads.ScriptVariant(a.script)
	require.NoError(t, err)
	return v
}

// programs lists the programs to search: one, or one for each regime of a sequence. A filter of one step may lose a
// message if the worker crashes.
func (a algorithm) programs(t *testing.T) (all []interleave.Program) {
	t.Helper()
	regimes := []workloads.Regime{""}
	if a.as == workloads.Sequence {
		regimes = workloads.Regimes()
	}
	for _, regime := range regimes {
		switch {
		case a.locker != nil:
			all = append(all, workloads.LockProgram(workloads.Options{TTL: a.lease, Habits: true}, a.locker))
		case a.deduper != nil:
			all = append(all, workloads.DedupProgram(workloads.Options{TTL: a.lease, AtMostOnce: true,
				Habits: true}, a.deduper))
		case a.sequencer != nil:
			all = append(all, workloads.SequenceProgram(workloads.Options{Regime: regime, Habits: true},
				a.sequencer))
		default:
			program, ok := a.variant(t).Program(workloads.Options{TTL: a.lease, Regime: regime, AtMostOnce: true})
			require.True(t, ok)
			all = append(all, program)
		}
	}
	return all
}

// search searches one program. A correct algorithm of several commands has two clients, since three take minutes.
func (a algorithm) search(t *testing.T, program interleave.Program) interleave.Result {
	t.Helper()
	spec := explore.Spec{
		Program: program, Checkers: checkers.ForSearch(program.Kinds...), Bounds: interleave.Bounds{Clients: a.clients},
		For:   5 * time.Minute,
		First: !a.right() && a.shortest == 0,
	}
	if a.clients == 0 && a.right() && a.script.Source == "" {
		spec.Clients = 2
	}
	res, err := explore.Search(t.Context(), spec)
	require.NoError(t, err)
	t.Logf("%.1fs %s", res.Elapsed.Seconds(), res.Summary())
	return res
}

// explore requires the expected verdict of the explorer. For a sequence it is the worst verdict of all regimes.
func (a algorithm) explore(t *testing.T) {
	var verdicts []harness.Verdict
	var found []interleave.Counterexample
	var reasons []string
	for _, program := range a.programs(t) {
		res := a.search(t, program)
		verdicts, found, reasons = append(verdicts, res.Verdict()), append(found, res.Counterexamples...),
			append(reasons,
				res.Stopped)
		if len(found) > 0 {
			break
		}
	}
	for _, c := range found {
		t.Logf("%s\n%s%s", c.Anomaly.Class, c.Text(), c.Anomaly.Note)
	}
	a.explorer.require(t, harness.Worst(verdicts...), strings.Join(reasons, "\n"))
	for _, c := range found {
		require.Contains(t, a.explorer.classes, c.Anomaly.Class)
	}
	if a.shortest > 0 {
		require.LessOrEqual(t, found[0].Length(), a.shortest)
	}
}

// require fails the test unless got is the expected verdict. For Unknown, reason has to contain the expected reason.
func (s said) require(t *testing.T, got harness.Verdict, reason string) {
	t.Helper()
	if s.perhaps && got == harness.Invalid {
		return
	}
	require.Equal(t, s.verdict, got, reason)
	if got == harness.Unknown {
		require.Contains(t, reason, s.why)
	}
}

// fewExplored lists what make test explores: about one algorithm of each family for each verdict.
var fewExplored = []string{
	"lock/token-without-case", "lock/end-by-a-second-script", "lock/one-end-for-all-locks", "lock/timer-deletes",
	"lock/set-nx-px",
	"dedup/half-buckets", "dedup/second-ask-drops-the-end", "dedup/claim-without-lease", "dedup/bits",
	"dedup/set-nx-get",
	"sequence/set-of-proposals", "sequence/round-numbers-win", "sequence/errors-only", "sequence/strides",
}

// The explorer gives the right verdict on some of the corpus.
func TestExplorerOfCorpus(t *testing.T) {
	for _, a := range corpus() {
		if slices.Contains(fewExplored, a.id()) {
			t.Run(a.id(), a.explore)
		}
	}
}

// The explorer gives the right verdict on one algorithm in 24, chosen by the seed, and in a deep run on all.
func TestLongExplorerOfCorpus(t *testing.T) {
	testenv.NeedLong(t)
	for _, a := range sampledCorpus() {
		t.Run(a.id(), a.explore)
	}
}

// sampledCorpus lists one algorithm in 24 of the corpus, chosen by the seed, and all of them in a deep run.
func sampledCorpus() (sampled []algorithm) {
	for i, a := range corpus() {
		if testenv.Sampled(i, 24) {
			sampled = append(sampled, a)
		}
	}
	return sampled
}

// run requires the expected verdict under a load. A load that has to find something is repeated if it has not, and then
// lasts until it does: lock/fence-drawn-first takes a minute on average, and machines differ. The first load is short,
// since some violations show at its end only, such as marks that never expire. The ten minutes only bound a hanging
// test.
func (a algorithm) run(t *testing.T) {
	res := a.loadFor(t, 6*time.Second)
	if a.load.verdict == harness.Invalid && res.Verdict != harness.Invalid {
		res = a.loadFor(t, 10*time.Minute)
	}
	t.Log(res.Summary())
	for _, s := range res.Situations {
		t.Logf("%6d %s", s.Count, s.Name)
	}
	for _, anomaly := range res.Anomalies[:min(2, len(res.Anomalies))] {
		t.Log(anomaly.Note)
	}
	a.load.require(t, res.Verdict, res.Summary())
}

// loadFor runs a load that is smaller than the default, so that several loads run side by side. A load that has to find
// something ends as soon as it does.
func (a algorithm) loadFor(t *testing.T, d time.Duration) harness.Result {
	c := cluster.Standalone(cluster.Options{})
	spec := harness.Spec{System: c, Clients: 50, Duration: d, Rate: 1000}
	switch {
	case a.locker != nil:
		spec.Workload = workloads.Locks(c, workloads.Options{}, a.locker)
	case a.deduper != nil:
		spec.Workload = workloads.Dedups(c, workloads.Options{}, a.deduper)
	case a.sequencer != nil:
		spec.Workload = workloads.Sequences(c, workloads.Options{}, a.sequencer)
	default:
		spec.Workload = a.variant(t).Workload(c, workloads.Options{})
	}
	spec.Checkers = checkers.For(spec.Workload)
	if a.load.verdict == harness.Invalid {
		spec.Watchers, spec.StopOnFirst = checkers.Watchers(spec.Checkers), true
	}
	res, err := harness.Run(t.Context(), spec)
	require.NoError(t, err)
	return res
}

// runAll puts algorithms under load, four at a time.
func runAll(t *testing.T, all []algorithm) {
	cage := make(chan struct{}, 4)
	for _, a := range all {
		t.Run(a.id(), func(t *testing.T) {
			t.Parallel()
			cage <- struct{}{}
			defer func() { <-cage }()
			a.run(t)
		})
	}
}

// fewLoaded lists what make test puts under load.
var fewLoaded = []string{"lock/owner-compared-in-part", "dedup/confirm-by-hash"}

// A load gives the right verdict on two of the corpus.
func TestLoadOfCorpus(t *testing.T) {
	runAll(t, slices.DeleteFunc(corpus(), func(a algorithm) bool { return !slices.Contains(fewLoaded, a.id()) }))
}

// A load gives the right verdict on one algorithm in 24, chosen by the seed, and in a deep run on all.
func TestLongLoadOfCorpus(t *testing.T) {
	testenv.NeedLong(t)
	runAll(t, sampledCorpus())
}
