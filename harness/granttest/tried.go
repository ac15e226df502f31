package granttest

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/doublegrant/doublegrant/checkers"
	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/doublegrant/doublegrant/harness/units"
	"github.com/doublegrant/doublegrant/reports"
)

// This file describes what a test without a finding has tried, and how often.

// answers counts the answers to one method.
type answers struct{ yes, no, unknown int }

// operations counts the calls of an algorithm.
type operations struct {
	mu sync.Mutex
	of map[harness.Kind]*answers
}

// tokens is the kind under which fencing tokens are counted, one for each grant that came with a token.
const tokens harness.Kind = "token"

// methods names the method behind each kind of operation, in the order of messages.
var methods = []struct {
	kind harness.Kind
	name string
}{
	{harness.Acquire, "Acquire"}, {tokens, "Fence"}, {harness.Extend, "Extend"}, {harness.Release, "Release"},
	{harness.Claim, "First"}, {harness.Confirm, "Confirm"}, {harness.Inspect, "Inspect"}, {harness.Next, "Next"},
}

// add counts the operations of a history.
func (o *operations) add(h harness.History) {
	counted := map[harness.Kind]answers{}
	for op, err := range h.Ops {
		if err != nil {
			break // the checkers report the error
		}
		n := counted[op.Kind]
		switch {
		case op.Outcome == harness.Info:
			n.unknown++
		case op.Outcome == harness.Fail || op.Kind == harness.Claim && op.Result != harness.ResultFirst ||
			op.Kind == harness.Inspect && op.Result == "":
			n.no++
		default:
			n.yes++
		}
		counted[op.Kind] = n
		if op.Kind == harness.Acquire && op.Outcome == harness.OK && op.Result != "" {
			n = counted[tokens]
			n.yes++
			counted[tokens] = n
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.of == nil {
		o.of = map[harness.Kind]*answers{}
	}
	for kind, n := range counted {
		if o.of[kind] == nil {
			o.of[kind] = &answers{}
		}
		all := o.of[kind]
		all.yes, all.no, all.unknown = all.yes+n.yes, all.no+n.no, all.unknown+n.unknown
	}
}

// describe says how often each method was called, and what it answered. It also names optional methods that typ, the
// algorithm's type, lacks.
func (o *operations) describe(k kind, typ reflect.Type) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var asked, never, none []string
	for _, m := range methods {
		i := slices.IndexFunc(optionals[k], func(of optional) bool { return of.name == m.name })
		switch n := o.of[m.kind]; {
		case n != nil:
			asked = append(asked, fmt.Sprintf("%s %s", m.name, n.describe(m.kind)))
		case i < 0:
		case typ.Implements(optionals[k][i].in):
			never = append(never, m.name)
		case typ.Kind() != reflect.Interface: // the dynamic type of an interface is unknown
			none = append(none, "no "+m.name)
		}
	}
	text := strings.Join(asked, ", ")
	if len(never) > 0 {
		text += "; not asked: " + strings.Join(never, ", ")
	}
	if len(none) > 0 {
		text += "; it has " + strings.Join(none, " and ")
	}
	return text
}

// describe says how often a method was called, and what it answered.
func (n answers) describe(of harness.Kind) string {
	all := units.Count(int64(n.yes + n.no + n.unknown))
	if of == tokens {
		return all
	}
	text := fmt.Sprintf("%s (%s yes, %s no", all, units.Count(int64(n.yes)), units.Count(int64(n.no)))
	if n.unknown > 0 {
		text += fmt.Sprintf(", %s without an answer", units.Count(int64(n.unknown)))
	}
	return text + ")"
}

// tally is a checker that reports nothing. It counts the operations of each schedule that ended.
type tally struct{ *operations }

var _ harness.Checker = tally{}

func (tally) Name() string { return "tally" }

func (t tally) Check(_ context.Context, h harness.History, _ func(harness.Anomaly)) harness.Judgement {
	if h.End != nil { // of a schedule under way a search asks as well
		t.add(h)
	}
	return harness.Judgement{Checker: t.Name(), Verdict: harness.Valid}
}

// triedText lists, one per line, what was tried, and which situations were met or never met.
func (s subject) triedText(o *operations, met []harness.Situation) string {
	lines := append([]string{"tried: " + o.describe(s.kind, s.shape)}, reports.SituationsText(met)...)
	return "\n  " + strings.Join(lines, "\n  ")
}

// situationsOf returns the situations of a search without their schedules.
func situationsOf(r interleave.Result) (all []harness.Situation) {
	for _, s := range r.Situations {
		all = append(all, s.Situation)
	}
	return all
}

// onlyLoad names the situations that the load met and no search did. It is empty if there are none.
func (s subject) onlyLoad(met []harness.Situation) string {
	var situations []string
	more := false
	for _, one := range met {
		if one.Count == 0 || one.Count >= checkers.QuotaCount || s.searched[one.Name] {
			continue
		}
		situations = append(situations, fmt.Sprintf("%s (%d)", one.Name, one.Count))
		more = more || !checkers.IsByChance(one.Name)
	}
	if len(situations) == 0 {
		return ""
	}
	text := "\n  situations that only the load met, and no schedule of the search: " + strings.Join(situations, "; ")
	if more && !s.load.Thorough {
		text += fmt.Sprintf(". Load{Thorough: true} continues until each has occurred %d times, except those that "+
			"come by chance",
			checkers.QuotaCount)
	}
	return text
}

// covered holds the situations that a test's searches have met. A sequence has one search for each regime.
type covered map[harness.SituationName]bool

func (c covered) add(all []harness.Situation) {
	for _, s := range all {
		c[s.Name] = c[s.Name] || s.Count > 0
	}
}

// inFields replaces flags of doublegrant explore by the corresponding fields of Search.
var inFields = strings.NewReplacer(
	"--for ", "Search.For ", "--clients ", "Search.Clients ", "--crashes 0", "Search.Crashes -1", "--expiries 0",
	"Search.Expiries -1", "--failovers ", "Search.Failovers ",
	"--flushes ", "Search.Flushes ", "--lost-answers 0", "Search.LostAnswers -1", "--lost-commands 0",
	"Search.LostCommands -1",
	"--late 0", "Search.Late -1",
)

// limitsText lists, one per line, what a search did not cover.
func limitsText(limits []string) string {
	text := ""
	for _, limit := range limits {
		text += "\n  not covered: " + inFields.Replace(limit)
	}
	return text
}
