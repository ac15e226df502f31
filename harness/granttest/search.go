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

// Leases and windows of a search are not whole numbers of seconds, so that one which is cut down to seconds is found.
const (
	searchLease  = 10500 * time.Millisecond
	searchWindow = 20500 * time.Millisecond
)

// searchFor is the longest that a search may take by default: less than go test gives a package.
const searchFor = 5 * time.Minute

// minimizeFor is the default of Search.Minimize.
const minimizeFor = 2 * time.Second

// callTime is the longest that one call may take; a load adds its lease. Tests shorten it.
var callTime = 10 * time.Second

// check returns an error for options that can never work and that the explorer does not see.
func (s Search) check() error {
	if s.Goroutines < 0 || s.Goroutines > interleave.MaxClients {
		return fmt.Errorf("%d goroutines of one process in the search: ask for 2 to %d", s.Goroutines, interleave.MaxClients)
	}
	if s.For < 0 {
		return fmt.Errorf("a search cannot take %v: leave Search.For out for %v, or set Search.Skip for no search", s.For, searchFor)
	}
	return nil
}

// spec returns the search of one program, without its bound in time.
func (s subject) spec(g *supervisor, p parameters) explore.Spec {
	o := s.search
	program := s.program(g, p)
	program.Symmetric = s.takenAsAlike()
	return explore.Spec{
		Program: program, Checkers: append(checkers.ForSearch(program.Kinds...), refusals{}), Bounds: s.bounds(), Skew: o.Skew, Twice: o.Twice,
	}
}

// mostInEveryOrder is the largest number of clients that begin in every order: four in 24 orders would take hours.
const mostInEveryOrder = 3

// takenAsAlike reports whether the clients of a search are taken to differ in their names only, which the explorer tries. Callers of a sequence
// propose different numbers, and goroutines of one process share what others do not.
func (s subject) takenAsAlike() bool {
	return s.search.Clients > mostInEveryOrder && s.kind != sequenceKind && !s.shared
}

// bounds returns what may happen in one schedule. Values that are shared crash only if that is asked for.
func (s subject) bounds() interleave.Bounds {
	b := s.search.bounds()
	if s.shared && b.Crashes == 0 {
		b.Crashes = -1
	}
	return b
}

// bounds returns what may happen in one schedule.
func (s Search) bounds() interleave.Bounds {
	return interleave.Bounds{
		Clients: s.Clients, Crashes: s.Crashes, Expiries: s.Expiries, Failovers: s.Failovers, Flushes: s.Flushes,
		LostAnswers: s.LostAnswers, LostCommands: s.LostCommands, Late: s.Late,
	}
}

// searchAll goes through every interleaving of each program, and reports whether it found no violation, so that the load
// may have something to add.
func (s subject) searchAll(t TB) (goOn bool) {
	t.Helper()
	until := time.Now().Add(cmp.Or(s.search.For, searchFor))
	if by, ok := testDeadline(t); ok && by.Before(until) {
		until = by
	}
	for _, p := range s.variations() {
		if !s.searchOne(t, p, until) {
			return false
		}
	}
	return true
}

// searchOne searches one program, and reports whether the test may go on. An unknown result fails the test, but the load
// may tell more.
func (s subject) searchOne(t TB, p parameters, until time.Time) (goOn bool) {
	t.Helper()
	if s.takenAsAlike() { // a lock that takes one name for another shows it to a third
		few := s
		few.search.Clients = mostInEveryOrder
		if goOn, decided := few.searchIn(t, p, until, nil); !goOn || !decided {
			t.Logf("the search of %d clients has not begun", s.search.Clients)
			return goOn
		}
	}
	goOn, _ = s.searchIn(t, p, until, nil)
	r := s.search.Random
	if !goOn || r.Schedules == 0 {
		return goOn
	}
	goOn, _ = s.searchIn(t, p, until, &explore.Random{Schedules: r.Schedules, Strategy: r.Strategy, Depth: r.Depth, Seed: r.Seed})
	return goOn
}

// randomClients is the number of clients of schedules at random by default.
const randomClients = 8

// searchIn runs every schedule of a program, or those that are drawn at random. It reports whether the test may go on, and whether the search
// came to its end.
func (s subject) searchIn(t TB, p parameters, until time.Time, random *explore.Random) (goOn, decided bool) {
	t.Helper()
	g := newLastingSupervisor(callTime)
	spec := s.spec(g, p)
	asked := &operations{}
	spec.Checkers = append(spec.Checkers, tally{asked})
	if random != nil {
		spec.Program.Apart, spec.Random, spec.Clients, spec.Twice = nil, random, cmp.Or(s.search.Random.Clients, randomClients), 0
		spec.Program.Symmetric = false
	}
	spec.For = max(time.Second, time.Until(until))
	began := time.Now()
	var res interleave.Result
	err := g.runSupervised(searchGrace, func() (err error) {
		res, err = searchMinimized(t.Context(), spec, cmp.Or(s.search.Minimize, minimizeFor))
		return err
	})
	if !s.cameToAnEnd(t, g, err) {
		return false, false
	}
	s.searched.add(situationsOf(res))
	s.recipes(t, p, spec, res.Found)
	s.keepSearch(t, p, res, began)
	switch verdict := res.Verdict(); {
	case verdict == harness.Invalid:
		s.found(t, p, res, spec.Skew)
		return false, true
	case res.Random != nil && res.WhyAtRandom() == "":
		t.Logf("schedules at random%s, seed %d: %s (%.1fs)%s", p.inRegime(), res.Random.Seed, res.Summary(), res.Elapsed.Seconds(),
			s.triedText(asked, situationsOf(res)))
	case verdict == harness.Unknown:
		t.Errorf("unknown: the search%s has shown nothing of %s: %s, after %d schedules%s%s%s", p.inRegime(), s.name, res.Stopped, res.Schedules,
			g.underWay(), s.triedText(asked, situationsOf(res)), limitsText(res.Limits))
		return true, false
	default:
		t.Logf("search%s: %s (%.1fs)%s%s", p.inRegime(), res.Summary(), res.Elapsed.Seconds(), s.triedText(asked, situationsOf(res)), limitsText(res.Limits))
	}
	return true, true
}

// searchMinimized searches until something is found. It then searches once more, for the smallest counterexample of each class, and gives
// that as much time as the first search took and beyond; with a negative beyond it does not. What it returns is not exhausted if there
// was no time for all schedules.
func searchMinimized(ctx context.Context, spec explore.Spec, beyond time.Duration) (interleave.Result, error) {
	spec.First = true
	first, err := explore.Search(ctx, spec)
	left := spec.For - first.Elapsed
	if err != nil || len(first.Found) == 0 || beyond < 0 || left <= 0 {
		return first, err
	}
	spec.First, spec.For = false, min(left, first.Elapsed+beyond)
	all, err := explore.Search(ctx, spec)
	if err != nil || len(all.Found) > 0 && all.Found[0].Length() <= first.Found[0].Length() {
		return all, err
	}
	return first, nil
}

// cameToAnEnd fails the test if the code under test or the harness broke down, and reports whether neither did.
func (s subject) cameToAnEnd(t TB, g *supervisor, err error) bool {
	t.Helper()
	switch said := g.failure(); {
	case said != "":
		t.Fatalf("%s: %s", s.name, said)
	case errors.Is(err, explore.ErrSpec), errors.Is(err, harness.ErrSpec):
		t.Fatalf("granttest: the options: %v", err)
	case err != nil:
		t.Fatalf("granttest: the harness failed: %v", err)
	default:
		return true
	}
	return false
}

// found fails the test with the counterexamples of a search, and saves them.
func (s subject) found(t TB, p parameters, res interleave.Result, skew time.Duration) {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "%s is not %s%s:\n", s.name, promise[s.kind], p.inRegime())
	for _, c := range res.Found {
		fmt.Fprintf(&b, "\n%s\n", counterexampleText(c))
		file, err := s.save(t, p, c, skew)
		if err != nil {
			fmt.Fprintf(&b, "it could not be saved: %v\n", err)
			continue
		}
		fmt.Fprintf(&b, "saved in %s: later runs begin with it\n", file)
		fmt.Fprintf(&b, "replay it anywhere: %s %s\n", passOn(t), c.Recipe)
	}
	if !res.Exhausted {
		fmt.Fprintf(&b, "\nthe search ended before its last schedule: there may be shorter ones, and other violations (Search.Minimize gives it more time)\n")
	}
	fmt.Fprintf(&b, "\nrepeat it: %s", commandToRepeat(t.Name()))
	t.Errorf("%s", b.String())
}

// counterexampleText returns a counterexample as text: what is wrong, and below it the steps as on a whiteboard.
func counterexampleText(c interleave.Counterexample) string {
	text := fmt.Sprintf("%s in %d steps: %s\n%s", c.Anomaly.Class, c.Length(), c.Anomaly.Note, strings.TrimRight(c.Text(), "\n"))
	if c.Shrunk != nil {
		text += "\n" + c.Shrunk.String()
	}
	return text
}

// inRegime returns the regime in parentheses, for messages. It is empty if there is none.
func (p parameters) inRegime() string {
	if p.Regime == "" {
		return ""
	}
	return fmt.Sprintf(" (proposals: %s)", p.Regime)
}

// testDeadline returns when the search has to be over. The last fifth of the time to the test's own deadline is left for its report. ok
// is false if there is no deadline.
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

// runSupervised runs f, which runs the code under test, and watches that code meanwhile. If something goes wrong in it, such as a
// call that never returns, f has grace left to end; then the error is context.DeadlineExceeded.
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

// searchGrace is the time in which a search ends by itself after it has given a client up.
const searchGrace = 20 * time.Second
