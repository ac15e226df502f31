package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/units"
)

// Ranking says which of several variants is better. If all rows are of one variant, it compares the conditions instead.
type Ranking struct {
	Rows     []Row           // the rows, each with its field Why set
	Best     string          // the better variant or condition; empty: none is better
	Answer   string          // the better variant or condition, or why there is none, in few words
	Sentence string          // the reason for the answer, as a sentence
	Verdict  harness.Verdict // valid if something held, invalid if everything broke, otherwise unknown
}

// faster is the least ratio of two rates, in operations a second, for which one variant is called faster than another.
// Each ran once, and the machine may have been busy, so a smaller ratio says nothing.
const faster = 1.25

// Rank compares variants that ran under the same conditions. A variant that broke, under load or in a search, is worse
// than one that held. Of several variants that held, the best is faster than each of the others under every condition.
// It may be that none is.
func Rank(rows []Row) Ranking {
	c := Ranking{Rows: slices.Clone(rows)}
	for i, r := range c.Rows {
		c.Rows[i].Why = r.why()
	}
	var held, open, broke []contender
	for _, one := range contendersOf(c.Rows) {
		switch {
		case len(one.broke) > 0:
			broke = append(broke, one)
		case len(one.open) > 0:
			open = append(open, one)
		default:
			held = append(held, one)
		}
	}
	c.Sentence = joinSentences(tell(held), tell(broke))
	switch {
	case len(open) > 0 || len(rows) == 0:
		c.Answer = "cannot be told"
		c.Sentence = joinSentences(say(held, "%s held"), say(open, "Nothing can be said of %s"), tell(broke))
	case len(held) > 0:
		c.Verdict = harness.Valid
		c.Best = fastest(held)
		c.Answer = cmp.Or(c.Best, "no difference")
		if len(held) > 1 {
			c.Sentence = joinSentences(c.Sentence, pacesOf(held, c.Best))
		}
	default:
		c.Verdict, c.Answer, c.Best = harness.Invalid, "none is safe", leastBroken(broke)
		if c.Best != "" {
			c.Sentence = joinSentences(c.Sentence, c.Best+" broke under fewer conditions, which does not make it safe")
		}
	}
	return c
}

// contender is a variant or a condition, with its rows.
type contender struct {
	name  string
	rows  []Row // all its rows
	broke []Row // its rows with the verdict invalid
	open  []Row // its rows with the verdict unknown
}

// contendersOf groups rows by variant, or by condition if all are of one variant.
func contendersOf(rows []Row) (all []contender) {
	name := func(r Row) string { return r.Variant }
	if len(rows) > 0 && !slices.ContainsFunc(rows, func(r Row) bool { return r.Variant != rows[0].Variant }) {
		name = Row.under
	}
	for _, r := range rows {
		i := slices.IndexFunc(all, func(c contender) bool { return c.name == name(r) })
		if i < 0 {
			i, all = len(all), append(all, contender{name: name(r)})
		}
		all[i].add(r)
	}
	return all
}

func (c *contender) add(r Row) {
	c.rows = append(c.rows, r)
	switch {
	case r.broke():
		c.broke = append(c.broke, r)
	case r.Verdict == harness.Unknown:
		c.open = append(c.open, r)
	}
}

// broke reports whether the run or the search found a violation.
func (r Row) broke() bool { return r.Verdict == harness.Invalid || r.Searched == harness.Invalid }

// under returns the conditions of a row in the form in which they follow the word "under" in a sentence.
func (r Row) under() string { return cmp.Or(r.Regime, "no fault") }

// why explains the result of a row in one sentence.
func (r Row) why() string {
	since := ""
	if r.Mechanism != "" {
		since = ": " + r.Mechanism
	}
	switch {
	case r.Verdict == harness.Invalid && since == "" && r.First != "":
		return "Broke: " + r.Found + ", the first: " + units.Clip(r.First, 200) + "."
	case r.Verdict == harness.Invalid:
		return "Broke by " + r.Found + since + "."
	case r.Searched == harness.Invalid:
		return "Held under this load, but an order of commands breaks it in " + r.Explorer + since + "."
	case r.Verdict == harness.Unknown:
		return "Nothing can be said: " + r.Sentence
	}
	held := "Held: no violation in " + units.Plural(r.Ops, "operation", "operations")
	switch {
	case r.Searched == harness.Valid:
		held += ", nor in any order of commands searched"
	case r.Explorer != "":
		held += "; orders of commands: " + r.Explorer
	}
	return held + "."
}

// tell says under which conditions contenders broke, and which contenders held.
func tell(all []contender) string {
	var parts, held []string
	searched := true
	for _, c := range all {
		if len(c.broke) == 0 {
			held = append(held, c.name)
			searched = searched && !slices.ContainsFunc(c.rows, func(r Row) bool { return r.Searched != harness.Valid })
			continue
		}
		var under []string
		for _, r := range c.broke {
			under = append(under, r.under())
		}
		part := c.name + " broke"
		if len(c.rows) > 1 {
			part += " under " + units.And(under)
		}
		parts = append(parts, part)
	}
	if len(held) > 0 {
		how := " held"
		switch n := len(all[0].rows); {
		case n == 2:
			how += " under both conditions"
		case n > 2:
			how += fmt.Sprintf(" under all %d conditions", n)
		}
		if searched {
			how += ", under load and in every order of commands searched"
		}
		who := units.And(held)
		if len(held) == 1 {
			who = "It"
		}
		parts = append(parts, who+how)
	}
	return strings.Join(parts, "; ")
}

// say puts the names of contenders into a format. It returns "" if there are no contenders.
func say(all []contender, format string) string {
	var names []string
	for _, c := range all {
		names = append(names, c.name)
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf(format, units.And(names))
}

// joinSentences makes a sentence of each clause, and leaves out empty ones. It changes no first letter to a capital,
// since a clause may begin with the name of a variant.
func joinSentences(clauses ...string) string {
	var all []string
	for _, c := range clauses {
		if c != "" {
			all = append(all, strings.TrimSuffix(c, ".")+".")
		}
	}
	return strings.Join(all, " ")
}

// fastest returns the name of the contender that is faster than each of the others under every condition. It returns ""
// if there is none. A single contender counts as the fastest.
func fastest(all []contender) string {
	for _, c := range all {
		ahead := func(other contender) bool { return other.name == c.name || c.isFaster(other) }
		if !slices.ContainsFunc(all, func(other contender) bool { return !ahead(other) }) {
			return c.name
		}
	}
	return ""
}

// isFaster reports whether c is faster than another contender under each condition of c. Both have their rows in the
// same order.
func (c contender) isFaster(other contender) bool {
	for i, r := range c.rows {
		if i >= len(other.rows) || r.Rate < faster*other.rows[i].Rate {
			return false
		}
	}
	return true
}

// pacesOf says how many operations per second each contender did under its first condition. If the parameter best is
// empty, it adds which differences are too small to tell.
func pacesOf(all []contender, best string) string {
	var paces []string
	for _, c := range all {
		paces = append(paces, c.name+" "+units.Whole(c.rows[0].Rate))
	}
	s := "Operations a second: " + units.And(paces)
	if len(all[0].rows) > 1 {
		s += " under " + all[0].rows[0].under()
	}
	if best == "" {
		return s + "; one run of each tells no smaller difference than a quarter"
	}
	return s
}

// leastBroken returns the name of the contender that broke under the fewest conditions. It returns "" if several
// contenders broke under equally few.
func leastBroken(all []contender) (name string) {
	fewest := slices.MinFunc(all, func(a, b contender) int { return cmp.Compare(len(a.broke), len(b.broke)) })
	for _, c := range all {
		if c.name != fewest.name && len(c.broke) == len(fewest.broke) {
			return ""
		}
	}
	return fewest.name
}
