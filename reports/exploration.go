package reports

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/doublegrant/doublegrant/harness/units"
)

// Exploration is the content of the files of one search through interleavings.
type Exploration struct {
	// Dir is the results folder; the paths in Files are relative to it. Empty: they are relative to the current folder.
	Dir     string            `json:"-"`
	Name    string            `json:"name"`
	Variant string            `json:"variant"`
	Command string            `json:"command,omitempty"` // the command that repeats the search
	Labels  map[string]string `json:"labels,omitempty"`  // such as the regime and the lease
	Doc     string            `json:"doc,omitempty"`     // a description of the variant in one line
	Source  string            `json:"source,omitempty"`  // where the variant comes from
	Clients int               `json:"clients"`           // number of clients; 0 in Go code: the number in the budget
	Started time.Time         `json:"started,omitzero"`
	Result  interleave.Result `json:"result"`
	// files that replay counterexamples, by index in result.found
	Files    map[int]string `json:"files,omitempty"`
	Versions []Version      `json:"versions,omitempty"` // of all programs and libraries involved
	// Replay is the first part of the command that replays a counterexample. The recipe of the counterexample, from
	// result.found, is appended to it.
	Replay   string `json:"replay,omitempty"`
	Expected string `json:"expected,omitempty"` // what was expected, such as "double-grant"; empty: nothing
	Met      bool   `json:"-"`                  // whether Expected came true
}

// Verdict returns invalid if there is a counterexample, valid if every schedule was run without one, and unknown
// otherwise.
func (e Exploration) Verdict() harness.Verdict { return e.Result.Verdict() }

// Sentence explains the verdict in one sentence, and says what was searched.
func (e Exploration) Sentence() string {
	if len(e.Result.Counterexamples) > 0 {
		return e.headline() + e.partsSentence()
	}
	return e.headline()
}

// headline explains the verdict in one sentence.
func (e Exploration) headline() string {
	switch found := e.Result.Counterexamples; {
	case len(found) == 1:
		return fmt.Sprintf("A counterexample of %s: %s.", stepCount(found[0]), found[0].Anomaly.Class)
	case len(found) > 1:
		return fmt.Sprintf("%d counterexamples, the smallest of %s: %s.", len(found), stepCount(found[0]),
			units.And(e.classes()))
	case e.Verdict() == harness.Valid && len(e.Result.Parts) > 1:
		return fmt.Sprintf("No interleaving breaks it: %s.", e.joinedParts())
	case e.Verdict() == harness.Valid:
		return fmt.Sprintf("No interleaving of %s breaks it: all %s, %s.",
			e.clientCount(), e.everything(), boundsOf(e.Result.Budget))
	case e.Result.Random != nil && e.Result.Schedules > 0:
		return fmt.Sprintf("Searched at random, nothing found: %s, in %s. %s%s",
			e.joinedParts(), units.Duration(e.Result.Elapsed), e.Result.Random.Guarantee(), e.Result.WhyAtRandom())
	default:
		return fmt.Sprintf("Nothing can be said after %s in %s: %s.", e.schedules(), units.Duration(e.Result.Elapsed),
			strings.TrimSuffix(e.stopped(), "."))
	}
}

// InShort explains the verdict in one sentence. If the verdict is valid, the sentence leaves out what Scope says.
func (e Exploration) InShort() string {
	if e.Verdict() == harness.Valid {
		return fmt.Sprintf("No interleaving breaks it: all %s.", e.everything())
	}
	return e.headline()
}

// Scope says how many clients each part of the search had, and which faults: "3 clients, at most 1 crash and 1 expiry".
// It leaves out the number of schedules.
func (e Exploration) Scope() string {
	var all []string
	for _, p := range e.Result.Parts {
		all = append(all, p.Who()+", "+boundsOf(p.Budget))
	}
	return cmp.Or(strings.Join(all, "; "), e.clientCount()+", "+boundsOf(e.Result.Budget))
}

// partsSentence returns a sentence that describes the parts of a search, with a space before it. For a search with one
// part it returns "".
func (e Exploration) partsSentence() string {
	if len(e.Result.Parts) < 2 {
		return ""
	}
	return " Searched: " + e.joinedParts() + "."
}

func (e Exploration) joinedParts() string { return strings.Join(e.parts(), "; ") }

// parts describes each part of the search, such as "all 50 schedules of 3 clients, at most 1 crash and 1 expiry".
func (e Exploration) parts() (all []string) {
	for _, p := range e.Result.Parts {
		extent := "all "
		if !p.Exhausted {
			extent = ""
		}
		of := "of"
		if p.AtRandom {
			of = "at random of"
		}
		all = append(all, fmt.Sprintf("%s%s %s %s, %s", extent,
			units.Plural(int64(p.Schedules), "schedule", "schedules"), of, p.Who(), boundsOf(p.Budget)))
	}
	return all
}

// Brief returns the result in two or three words: "4 steps" for the smallest counterexample, or "all 5,040 hold".
func (e Exploration) Brief() string {
	switch e.Verdict() {
	case harness.Invalid:
		return stepCount(e.Result.Counterexamples[0])
	case harness.Valid:
		return "all " + units.Count(int64(e.Result.Schedules)) + " hold"
	default:
		return "undecided after " + units.Count(int64(e.Result.Schedules))
	}
}

// Row summarizes the search in one line. The parameter link is the relative path of its page and may be empty.
func (e Exploration) Row(link string) Row {
	row := Row{
		Name: e.title(), Variant: e.Variant, Regime: regime(e.Labels), Expected: e.Expected, Met: e.Met,
		Verdict: e.Verdict(), Sentence: e.Sentence(), Found: e.found(), Explorer: e.Brief(),
		Started: e.Started, Elapsed: e.Result.Elapsed, Command: e.Command, Link: link,
	}
	if len(e.Result.Counterexamples) > 0 {
		row.First = e.note(e.Result.Counterexamples[0])
		row.Steps = e.Steps(0)
	}
	return row
}

func (e Exploration) title() string { return cmp.Or(e.Name, e.Variant, "exploration") }

func (e Exploration) clients() int { return cmp.Or(e.Clients, e.Result.Budget.Clients) }

func (e Exploration) clientCount() string {
	return units.Plural(int64(e.clients()), "client", "clients")
}

func (e Exploration) schedules() string {
	return units.Plural(int64(e.Result.Schedules), "schedule", "schedules")
}

// everything returns the number of schedules of an exhausted search. If some were pruned, it speaks of schedules that
// differ: a pruned schedule would have shown nothing new.
func (e Exploration) everything() string {
	if e.Result.Pruned > 0 {
		return e.schedules() + " that differ"
	}
	return e.schedules()
}

func (e Exploration) stopped() string {
	if e.Result.Exhausted {
		return "there was nothing to run"
	}
	return cmp.Or(strings.TrimSuffix(e.Result.Stopped, "."), "the search ended early")
}

// found lists the counterexamples: "double-grant in 7 steps and stuck-lock in 3 steps".
func (e Exploration) found() string {
	var parts []string
	for _, c := range e.Result.Counterexamples {
		parts = append(parts, fmt.Sprintf("%s in %s", c.Anomaly.Class, stepCount(c)))
	}
	return units.And(parts)
}

func (e Exploration) classes() []string {
	var all []string
	for _, c := range e.Result.Counterexamples {
		all = append(all, string(c.Anomaly.Class))
	}
	return all
}

func stepCount(c interleave.Counterexample) string {
	return units.Plural(int64(c.Length()), "step", "steps")
}

// boundsOf describes which faults may happen in one schedule, and how often.
func boundsOf(b interleave.Budget) string {
	return cmp.Or(b.AtMost(), "without crash, expiry or failover")
}

// setup returns what was searched, for the lines below the headline.
func (e Exploration) setup() []fact {
	all := []fact{
		{"variant", orDash(e.Variant)}, {"clients", units.Count(int64(e.clients()))},
	}
	if len(e.Result.Parts) < 2 { // otherwise there is a table of the bounds
		all = append(all, fact{"in each schedule", boundsOf(e.Result.Budget)})
	}
	for _, name := range slices.Sorted(maps.Keys(e.Labels)) {
		if name != "variant" {
			all = append(all, fact{name, orDash(e.Labels[name])})
		}
	}
	if e.Doc != "" {
		all = append(all, fact{"algorithm", e.Doc})
	}
	if e.Source != "" {
		all = append(all, fact{"source", e.Source})
	}
	if !e.Started.IsZero() {
		all = append(all, fact{"started", e.Started.UTC().Format("2006-01-02 15:04 UTC")})
	}
	return all
}

// warnings lists what a reader has to know before anything else.
func (e Exploration) warnings() (all []string) {
	for _, limit := range e.Result.Limits {
		all = append(all, "Not looked at: "+limit+".")
	}
	if slow := e.slowSteps(); slow != "" {
		all = append(all, slow)
	}
	if e.Result.Exhausted || len(e.Result.Counterexamples) == 0 { // the headline says it
		return all
	}
	if e.Result.Random != nil {
		return append(all, "Schedules were drawn at random. There may be other violations. "+
			e.Result.Random.Guarantee())
	}
	return append(all, "Not every schedule was run: "+e.stopped()+
		". There may be smaller counterexamples, and other ones.")
}

// slowSteps says that a search was cut short by steps that take real time. It returns "" if it was not.
func (e Exploration) slowSteps() string {
	const slow = 100 * time.Millisecond // most take less than one
	r := e.Result
	if r.Exhausted || r.Steps == 0 || r.Elapsed/time.Duration(r.Steps) < slow {
		return ""
	}
	return fmt.Sprintf("A step took %s on average: the algorithm waits in real time, as a sleep does, and nothing passes "+
		"that time in a search. An adapter asks for each sleep (ask sleep, and clock, in workloads/adapters/README.md); "+
		"Go code calls harness.Sleep.", units.Duration(r.Elapsed/time.Duration(r.Steps)))
}

// situations lists the situations that schedules met or could have met.
func (e Exploration) situations() (all []harness.Situation) {
	for _, s := range e.Result.Situations {
		all = append(all, s.Situation)
	}
	return all
}

// numbers returns the size and the speed of the search.
func (e Exploration) numbers() []fact {
	r := e.Result
	covered := "everything"
	switch {
	case r.Random != nil:
		covered = "a part, at random"
	case !r.Exhausted:
		covered = "a part"
	}
	first := dash
	if len(r.Counterexamples) > 0 {
		first = units.Took(r.First)
	}
	all := []fact{
		{"schedules", units.Count(int64(r.Schedules))}, {"pruned", units.Count(int64(r.Pruned))},
		{"steps", units.Count(int64(r.Steps))},
		{"schedules a second", units.Whole(r.Rate())}, {"search took", units.Duration(r.Elapsed)},
		{"first found after", first}, {"covered", covered},
	}
	if r.Random != nil {
		all = append(all, fact{"seed", fmt.Sprint(r.Random.Seed)})
		if r.Random.Strategy != "" {
			all = append(all, fact{"strategy", r.Random.Strategy})
		} else {
			all = append(all, fact{"depth", fmt.Sprint(r.Random.Depth)})
		}
	}
	return all
}
