package explore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/explore/internal/findings"
	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
	"github.com/doublegrant/doublegrant/harness/explore/internal/strategy"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// This file tests the promise Program.Symmetric: a schedule in which clients swap places must go as before, apart from
// their names. It tries the shortest schedules of the situations that a part has met, and some at random. If the
// promise does not hold, the search starts again without it, since it has left out orders that matter.

const (
	mostExchanges = 160 // the largest number of schedules with swapped clients that are run after one part
	drawnToSwap   = 12  // number of random schedules that are tried after one part
)

// symmetryTest holds what the search has found out about Program.Symmetric, the promise that clients are
// interchangeable.
type symmetryTest struct {
	asymmetry      string          // what shows that clients are not interchangeable; empty: nothing so far
	triedExchanges map[string]bool // schedules that met a situation and were run with swapped clients
}

// places is a permutation of clients: client i takes the place of client places[i], both from 0.
type places []int

// breaksSymmetry reports whether clients turn out not to be interchangeable although Program.Symmetric promises it. It
// tests schedules of the part that has just ended. If the promise is broken, the search no longer relies on it.
func (s *search) breaksSymmetry(ctx context.Context, w *world) bool {
	if !s.spec.inOneOrder(s.budget) || s.isEnding() {
		return false
	}
	why := ""
	err := catchPanics(func() (err error) {
		why, err = s.firstAsymmetry(context.WithoutCancel(ctx), w)
		return err
	})
	if err != nil {
		s.fail(err)
		return false
	}
	if why == "" {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asymmetry, s.spec.Program.Symmetric = why, false
	return true
}

// beginAnew resets the counts of the search. Counterexamples stay: their schedules are run again at the end.
func (s *search) beginAnew() {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.seen.Counterexamples
	s.seen = findings.New()
	s.seen.Counterexamples = found
	s.parts, s.resumed, s.round = nil, nil, nil
}

// exchangeTest is a schedule to be run with swapped clients.
type exchangeTest struct {
	budget interleave.Budget
	path   []interleave.Choice // nil: the schedule is drawn at random
	number int                 // number of the drawn schedule
	tried  []places
}

// toExchange lists the schedules of a finished part that are to be tried with swapped clients, and marks them as tried.
// If there are too many permutations to try all, each schedule gets about the same number of them.
func (s *search) toExchange() (all []exchangeTest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	most := mostExchanges
	if n := len(s.parts); n > 0 { // about as many as the part itself had
		most = min(most, 3+s.parts[n-1].Schedules)
	}
	others := otherPlaces(s.budget.Clients)
	for number := range min(drawnToSwap, most/4) {
		all = append(all, exchangeTest{s.budget, nil, number + 1, others[number%len(others):][:1]})
	}
	drawn := len(all)
	for _, name := range slices.Sorted(maps.Keys(s.seen.Encounters)) {
		e := s.seen.Encounters[name]
		key := fmt.Sprint(e.Budget.Place, candidateKey(e.Budget.Clients, e.Schedule))
		if e.Count == 0 || s.triedExchanges[key] || len(all) == most || !s.spec.inOneOrder(e.Budget) {
			continue
		}
		if s.triedExchanges == nil {
			s.triedExchanges = map[string]bool{}
		}
		s.triedExchanges[key] = true
		all = append(all, exchangeTest{budget: e.Budget, path: e.Schedule})
	}
	remaining := most - drawn
	for i := range all[drawn:] {
		x := &all[drawn+i]
		share := remaining / (len(all) - drawn - i)
		x.tried = otherPlaces(x.budget.Clients)
		x.tried = x.tried[:min(len(x.tried), share)]
		remaining -= len(x.tried)
	}
	return all
}

// otherPlaces lists the permutations to try. With two or three clients these are all but the identity. With four they
// are the even ones, which are enough to put any two clients into any two places. With more clients, every client takes
// every other client's place once.
func otherPlaces(clients int) (all []places) {
	if clients > interleave.MaxExhaustive {
		for by := 1; by < clients; by++ {
			p := make(places, clients)
			for i := range p {
				p[i] = (i + by) % clients
			}
			all = append(all, p)
		}
		return all
	}
	for _, p := range permutations(clients)[1:] {
		if clients < interleave.MaxExhaustive || p.isEven() {
			all = append(all, p)
		}
	}
	return all
}

// permutations lists all permutations of n clients, the identity first.
func permutations(clients int) (all []places) {
	if clients == 0 {
		return []places{{}}
	}
	for _, shorter := range permutations(clients - 1) {
		for at := clients - 1; at >= 0; at-- {
			all = append(all, slices.Insert(slices.Clone(shorter), at, clients-1))
		}
	}
	return all
}

// isEven reports whether the permutation is a product of an even number of swaps.
func (p places) isEven() bool {
	inversions := 0
	for j := range p {
		for _, before := range p[:j] {
			if before > p[j] {
				inversions++
			}
		}
	}
	return inversions%2 == 0
}

func (p places) String() string {
	var clients, of []string
	for i, client := range p {
		if i != client {
			clients, of = append(clients, strconv.Itoa(client+1)), append(of, strconv.Itoa(i+1))
		}
	}
	if len(of) == 2 {
		return fmt.Sprintf("clients %s and %s in each other's places", of[0], of[1])
	}
	return fmt.Sprintf("clients %s in the places of clients %s", strings.Join(clients, ", "), strings.Join(of, ", "))
}

// firstAsymmetry runs schedules again with swapped clients, and describes the first difference other than in names of
// clients and tokens; empty: none.
func (s *search) firstAsymmetry(ctx context.Context, w *world) (why string, err error) {
	free := *s.spec // with it, clients begin in any order
	free.Program.Symmetric = false
	asPromised, inAnyOrder := runner{spec: s.spec, w: w, traced: true}, runner{spec: &free, w: w, traced: true}
	random, steps := Random{Seed: 1, Depth: defaultDepth}, 0
	for _, x := range s.toExchange() {
		if s.isEnding() {
			break
		}
		first, err := asPromised.run(ctx, x.budget, func() strategy.Strategy {
			if x.path != nil {
				return &strategy.Replay{Schedule: x.path}
			}
			return random.draw(s.spec, x.budget, x.number, steps)
		})
		switch {
		case isInconclusive(err):
			continue // the search itself reports what is wrong
		case err != nil:
			return "", err
		}
		steps = max(steps, len(first.path))
		for _, p := range x.tried {
			if why, err = inAnyOrder.asymmetryUnder(ctx, first, p); why != "" || err != nil {
				return why, err
			}
		}
	}
	return "", nil
}

// isInconclusive reports whether err says that a schedule could not be run to its end although the harness works.
// Clients did something else, the schedule was stopped, or it was disturbed in every attempt.
func isInconclusive(err error) bool {
	return errors.Is(err, ErrDiverged) || errors.Is(err, schedule.ErrStopped) || errors.Is(err, errDisturbed)
}

// asymmetryUnder runs a schedule with swapped clients and describes the first difference other than in names. A
// difference that also shows when the same schedule is run twice is random, and ignored.
func (r runner) asymmetryUnder(ctx context.Context, first *execution, p places) (why string, err error) {
	swapped, err := r.replay(ctx, first.budget, exchange(first.path, p))
	if errors.Is(err, errDisturbed) || err != nil && !isInconclusive(err) {
		return "", ignoring(err, errDisturbed)
	}
	if why = describeAsymmetry(first, nil, swapped, p); why == "" {
		return "", nil
	}
	repeated, err := r.replay(ctx, first.budget, first.path)
	if err != nil {
		return "", ignoring(err, ErrDiverged, schedule.ErrStopped, errDisturbed)
	}
	return describeAsymmetry(first, repeated, swapped, p), nil
}

// ignoring returns nil if err wraps one of the errors in others. Otherwise it returns err.
func ignoring(err error, others ...error) error {
	if slices.ContainsFunc(others, func(o error) bool { return errors.Is(err, o) }) {
		return nil
	}
	return err
}

// exchange returns the schedule with clients swapped.
func exchange(path []interleave.Choice, p places) []interleave.Choice {
	out := slices.Clone(path)
	for at, c := range out {
		if i, ok := c.Client(); ok {
			out[at] = c - interleave.Choice(i) + interleave.Choice(p[i])
		}
	}
	return out
}

// describeAsymmetry compares a run of a schedule (the parameter first) with a run in which clients have changed places
// as p says (the parameter swapped; nil: that run could not begin). It describes the first step or operation that
// differs in more than names; empty: there is none. A second run of the first schedule is in the parameter repeated;
// nil: there was none. What differs between first and repeated is random, and does not count.
func describeAsymmetry(first, repeated, swapped *execution, p places) string {
	whose := p.String()
	if swapped == nil {
		return "a schedule cannot begin with " + whose
	}
	n := names{p, newRenaming()}
	a, b := first.trace.Steps, swapped.trace.Steps
	for i := range min(len(a), len(b)) {
		x, y, z := a[i], b[i], a[i]
		if repeated != nil && i < len(repeated.trace.Steps) {
			z = repeated.trace.Steps[i]
		}
		switch {
		// it lists keys sorted by name, and the names differ here
		case x.Choice.IsTime() && y.Choice.IsTime():
			if len(wordsBeforeGap(x.Command)) != len(wordsBeforeGap(y.Command)) {
				return fmt.Sprintf("in step %d %s, and with %s %s", i+1, x.Command, whose, y.Command)
			}
		case !n.same(x.Command, z.Command, n.unswapped(y.Command)):
			return fmt.Sprintf("in step %d client %d %s, and with %s client %d %s",
				i+1, x.Client, sentText(x.Command), whose, y.Client, sentText(y.Command))
		case !n.same(x.Reply, z.Reply, y.Reply) &&
			(x.Reply == y.Reply || !sameReply(x.Reply, y.Reply)) && !enoughAcks(x, y):
			return fmt.Sprintf("in step %d %s is answered %q, and with %s %s is answered %q", i+1, x.Command, x.Reply,
				whose, y.Command, y.Reply)
		}
	}
	if len(a) != len(b) {
		return fmt.Sprintf("a schedule has %d steps, and with %s it has %d", len(a), whose, len(b))
	}
	return firstAsymmetricOp(first, swapped, n, whose)
}

// firstAsymmetricOp describes the first operation that has another outcome in the swapped schedule.
func firstAsymmetricOp(first, swapped *execution, n names, whose string) string {
	of := harness.Meta{Workers: len(first.actors) + 1}
	for i := range min(len(first.ops), len(swapped.ops)) {
		x, y := first.ops[i], swapped.ops[i]
		client := x.Client // an operation of Observe or Finally has no client to swap
		if x.Client != harness.HarnessClient {
			client = n.places[of.Worker(x.Client)-1] + 1
		}
		if client != of.Worker(y.Client) || x.Kind != y.Kind || x.Outcome != y.Outcome ||
			!n.same(x.Result, x.Result, y.Result) {
			return fmt.Sprintf("client %d's %s is %s %s, and with %s client %d's %s is %s %s",
				of.Worker(x.Client), x.Kind, x.Outcome, x.Result, whose, of.Worker(y.Client),
				y.Kind, y.Outcome, y.Result)
		}
	}
	if len(first.ops) != len(swapped.ops) {
		return fmt.Sprintf("%d operations ended, and with %s %d", len(first.ops), whose, len(swapped.ops))
	}
	return ""
}

// names maps the words of a schedule to those of the same schedule with clients swapped, and back.
type names struct {
	places
	renaming
}

// numberedClient matches how a trace names a client.
var numberedClient = regexp.MustCompile(`\bclient (\d+)'s\b`)

// unswapped returns a text of the swapped schedule with the clients' original numbers.
func (n names) unswapped(text string) string {
	return numberedClient.ReplaceAllStringFunc(text, func(s string) string {
		i, err := strconv.Atoi(numberedClient.FindStringSubmatch(s)[1])
		if err != nil {
			return s
		}
		return fmt.Sprintf("client %d's", slices.Index(n.places, i-1)+1)
	})
}

// same reports whether a text of the original schedule differs only in names from the text swapped, which is from the
// schedule with swapped clients. Each word has to correspond to the word at the same position: see standsFor. The text
// repeated is from a second run of the original schedule. A word that differs there is random. If a text was shortened,
// only its words before the gap are compared.
func (n names) same(text, repeated, swapped string) bool {
	x, y, z := wordsBeforeGap(text), wordsBeforeGap(swapped), wordsBeforeGap(repeated)
	if short := min(len(x), len(y)); clipped(text) || clipped(swapped) {
		x, y = x[:short], y[:short]
	}
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		random := i < len(z) && z[i] != x[i]
		if !n.standsFor(x[i], y[i], random) {
			return false
		}
	}
	return true
}

// gap stands in a shortened text for the part that was left out.
const gap = "…"

func clipped(text string) bool { return strings.Contains(text, gap) }

// wordsBeforeGap lists the words of a text. In a shortened text it stops before the word with the gap, since what
// follows cannot be compared.
func wordsBeforeGap(text string) []string {
	all := tokens(text)
	if i := slices.IndexFunc(all, clipped); i >= 0 {
		return all[:i]
	}
	return all
}

// standsFor reports whether a word of the original schedule corresponds to the word swapped, which is from the schedule
// with swapped clients. Short words and numbers have to be equal, unless the word differs from run to run (random). Any
// other word counts as a name. It has to correspond to the same word everywhere, so standsFor stores the pair.
func (n names) standsFor(word, swapped string, random bool) bool {
	if !random && (min(len(word), len(swapped)) < shortestToken || isNumber(word) || isNumber(swapped)) {
		return word == swapped
	}
	return n.pair(word, swapped)
}
