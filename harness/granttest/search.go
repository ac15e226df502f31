package granttest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/checkers"
	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/explore"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// Leases and windows of a search include a fraction of a second. That shows whether an algorithm rounds down to
// seconds.
const (
	searchLease  = 10500 * time.Millisecond
	searchWindow = 20500 * time.Millisecond
)

// searchFor is the default time limit of a search. It is less than go test gives a package.
const searchFor = 5 * time.Minute

// leastSearch is how long a search gets if earlier searches have used up the time limit.
const leastSearch = 100 * time.Millisecond

// minimizeFor is the default of Search.Minimize.
const minimizeFor = 2 * time.Second

// callTime bounds one call of the algorithm. In a load, the lease is added to it. Tests shorten callTime.
var callTime = 10 * time.Second

// check returns an error for options that can never work, if the explorer does not detect them.
func (s Search) check() error {
	if s.Goroutines < 0 || s.Goroutines > interleave.MaxClients {
		return fmt.Errorf("%d goroutines of one process in the search: ask for 2 to %d", s.Goroutines,
			interleave.MaxClients)
	}
	if s.For < 0 {
		return fmt.Errorf("a search cannot last for %v: leave Search.For out for %v, or set Search.Skip for no search",
			s.For, searchFor)
	}
	return nil
}

// spec returns the explorer's spec of one program, without a time limit.
func (s subject) spec(g *supervisor, p parameters) explore.Spec {
	o := s.search
	program := s.program(g, p)
	program.Symmetric = s.isSymmetric()
	return explore.Spec{
		Program: program, Checkers: append(checkers.ForSearch(program.Kinds...), refusals{}), Bounds: s.bounds(),
		Skew: o.Skew, RunTwice: o.Twice,
	}
}

// mostInEveryOrder is the largest number of clients that begin in every order. Four clients have 24 orders, which would
// take hours.
const mostInEveryOrder = 3

// isSymmetric reports whether a search assumes that clients differ in their names only. The explorer checks the
// assumption. It does not hold for callers of a sequence, which propose different numbers, nor for goroutines of one
// process.
func (s subject) isSymmetric() bool {
	return s.search.Clients > mostInEveryOrder && s.kind != sequenceKind && !s.shared
}

// bounds returns the bounds of one schedule. Clients with shared values crash only on request.
func (s subject) bounds() interleave.Bounds {
	b := s.search.bounds()
	if s.shared && b.Crashes == 0 {
		b.Crashes = -1
	}
	return b
}

// searchPrograms searches each program, and reports whether the test may go on with the load. It may unless a violation
// was found. The time limit is for all searches together.
func (s subject) searchPrograms(t TB) (goOn bool) {
	t.Helper()
	until := time.Now().Add(cmp.Or(s.search.For, searchFor))
	if by, ok := testDeadline(t); ok && by.Before(until) {
		until = by
	}
	for _, p := range s.variations() {
		if !s.searchProgram(t, p, until) {
			return false
		}
	}
	return true
}

// searchProgram searches one program, and reports whether the test may go on. It may go on after an unknown result,
// which fails the test: the load may still find something.
func (s subject) searchProgram(t TB, p parameters, until time.Time) (goOn bool) {
	t.Helper()
	if s.isSymmetric() { // a lock that confuses two names shows it with three clients, too
		smaller := s
		smaller.search.Clients = mostInEveryOrder
		mayGoOn, decided := smaller.runSearch(t, p, until, nil)
		if !mayGoOn || !decided {
			t.Logf("nothing was searched with %d clients: the search with %d, which comes first, has failed the test",
				s.search.Clients, mostInEveryOrder)
			return mayGoOn
		}
	}
	goOn, _ = s.runSearch(t, p, until, nil)
	if goOn && s.search.Random.Schedules > 0 {
		goOn, _ = s.runSearch(t, p, until, s.search.Random.randomize)
	}
	return goOn
}

// randomClients is the default number of clients in random schedules.
const randomClients = 8

// randomize turns spec into a search of random schedules, in which all clients do the same.
func (r Random) randomize(spec *explore.Spec) {
	spec.Random = &explore.Random{Schedules: r.Schedules, Strategy: r.Strategy, Depth: r.Depth, Seed: r.Seed}
	spec.Clients, spec.RunTwice = cmp.Or(r.Clients, randomClients), 0
	spec.Program.SpecialPlaces, spec.Program.Symmetric = nil, false
}

// runSearch searches a program, and reports whether the test may go on and whether the search reached a verdict. If the
// function change is nil, the search runs every schedule. Otherwise the function makes it a search of random schedules.
func (s subject) runSearch(t TB, p parameters, until time.Time, change func(*explore.Spec)) (goOn, decided bool) {
	t.Helper()
	g := newSupervisor(callTime, true)
	spec := s.spec(g, p)
	asked := &operations{}
	spec.Checkers = append(spec.Checkers, tally{asked})
	if change != nil {
		change(&spec)
	}
	spec.For = max(leastSearch, time.Until(until))
	began := time.Now()
	var res interleave.Result
	err := g.runSupervised(searchGrace, func() (err error) {
		res, err = searchMinimized(t.Context(), spec, cmp.Or(s.search.Minimize, minimizeFor))
		return err
	})
	if !s.checkCompleted(t, g, err) {
		return false, false
	}
	s.searched.add(situationsOf(res))
	s.setRecipes(t, p, spec, res.Counterexamples)
	s.writeSearchReport(t, p, res, began)
	switch verdict := res.Verdict(); {
	case verdict == harness.Invalid:
		p.TTL = spec.Program.Lease
		s.reportAndSave(t, p, res, spec.Skew)
		return false, true
	case res.Random != nil && res.WhyAtRandom() == "":
		t.Logf("schedules at random%s, seed %d: %s (%.1fs)%s", p.inRegime(), res.Random.Seed, res.Summary(),
			res.Elapsed.Seconds(),
			s.triedText(asked, situationsOf(res)))
	case verdict == harness.Unknown:
		t.Errorf("unknown: the search%s came to no verdict on %s: %s, after %d schedules%s%s%s", p.inRegime(), s.name,
			res.Stopped, res.Schedules,
			g.underWay(), s.triedText(asked, situationsOf(res)), limitsText(res.Limits))
		return true, false
	default:
		t.Logf("search%s: %s (%.1fs)%s%s", p.inRegime(), res.Summary(), res.Elapsed.Seconds(),
			s.triedText(asked, situationsOf(res)), limitsText(res.Limits))
	}
	return true, true
}

// searchMinimized searches until it finds a violation. It then searches again, for the smallest counterexample of each
// class. The second search may take as long as the first, plus the time in the parameter more. If that is negative,
// there is no second search. The result is not exhausted if there was no time for all schedules.
func searchMinimized(ctx context.Context, spec explore.Spec, more time.Duration) (interleave.Result, error) {
	spec.First = true
	first, err := explore.Search(ctx, spec)
	remaining := spec.For - first.Elapsed
	if err != nil || len(first.Counterexamples) == 0 || more < 0 || remaining <= 0 {
		return first, err
	}
	spec.First, spec.For = false, min(remaining, first.Elapsed+more)
	all, err := explore.Search(ctx, spec)
	if err != nil || len(all.Counterexamples) > 0 &&
		all.Counterexamples[0].Length() <= first.Counterexamples[0].Length() {
		return all, err
	}
	return first, nil
}

// checkCompleted reports whether the run completed. If the code under test or the harness failed, it fails the test.
func (s subject) checkCompleted(t TB, g *supervisor, err error) bool {
	t.Helper()
	switch failure := g.failure(); {
	case failure != "":
		t.Fatalf("%s: %s", s.name, failure)
	case errors.Is(err, explore.ErrSpec), errors.Is(err, harness.ErrSpec):
		t.Fatalf("granttest: the options: %v", err)
	case err != nil:
		t.Fatalf("granttest: the harness failed: %v", err)
	default:
		return true
	}
	return false
}

// reportAndSave fails the test with the counterexamples of a search, and saves them.
func (s subject) reportAndSave(t TB, p parameters, res interleave.Result, skew time.Duration) {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "%s is not %s%s:\n", s.name, promise[s.kind], p.inRegime())
	for _, c := range res.Counterexamples {
		fmt.Fprintf(&b, "\n%s\n", counterexampleText(c))
		file, err := s.save(t, p, c, skew)
		if err != nil {
			fmt.Fprintf(&b, "it cannot be saved: %v\n", err)
			continue
		}
		fmt.Fprintf(&b, "saved in %s: later runs of the test begin with it\n", file)
		fmt.Fprintf(&b, "replay it anywhere: %s %s\n", replayCommand(t), c.Recipe)
	}
	if !res.Exhausted {
		fmt.Fprintf(&b, "\nthe search ended before its last schedule: there may be shorter counterexamples, and "+
			"other violations (Search.Minimize gives it more time)\n")
	}
	fmt.Fprintf(&b, "\nrepeat it: %s", commandToRepeat(t.Name()))
	t.Errorf("%s", b.String())
}

// counterexampleText describes a counterexample: what is wrong, and the steps below it.
func counterexampleText(c interleave.Counterexample) string {
	text := fmt.Sprintf("%s in %d steps: %s\n%s", c.Anomaly.Class, c.Length(), c.Anomaly.Note,
		strings.TrimRight(c.Text(), "\n"))
	if c.Shrunk != nil {
		text += "\n" + c.Shrunk.String()
	}
	return text
}

// inRegime returns the regime in parentheses, for messages; empty if there is none.
func (p parameters) inRegime() string {
	if p.Regime == "" {
		return ""
	}
	return fmt.Sprintf(" (proposals: %s)", p.Regime)
}

// testDeadline returns when the search has to end. It leaves the last fifth of the time until the test's own deadline
// for the report. ok is false if the test has no deadline.
func testDeadline(t TB) (by time.Time, ok bool) {
	d, ok := t.(interface{ Deadline() (time.Time, bool) })
	if !ok {
		return by, false
	}
	if by, ok = d.Deadline(); ok {
		by = by.Add(-time.Until(by) / 5)
	}
	return by, ok
}

// runSupervised runs f, and watches the calls of the code under test that f makes. When a call fails, for instance
// because it never returns, f has to end within the grace period. If f does not end, the error is
// context.DeadlineExceeded.
func (g *supervisor) runSupervised(grace time.Duration, f func() error) (err error) {
	stop := make(chan struct{})
	defer close(stop)
	go g.watch(stop)
	ended := make(chan error, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				ended <- fmt.Errorf("panicked: %v", p)
			}
		}()
		ended <- f()
	}()
	select {
	case err = <-ended:
		return err
	case <-g.trouble:
	}
	select {
	case err = <-ended:
		return err
	case <-time.After(grace):
		return context.DeadlineExceeded
	}
}

// searchGrace is how long a search may take to end after the supervisor reported a failure.
const searchGrace = 20 * time.Second

func (s Search) bounds() interleave.Bounds {
	return interleave.Bounds{
		Clients: s.Clients, Crashes: s.Crashes, Expiries: s.Expiries, Failovers: s.Failovers, Flushes: s.Flushes,
		LostAnswers: s.LostAnswers, LostCommands: s.LostCommands, Late: s.Late,
	}
}
