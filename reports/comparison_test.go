package reports

import (
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

// ran returns a row of a run that found nothing.
func ran(variant, regime string, rate float64) Row {
	return Row{Variant: variant, Regime: regime, Verdict: harness.Valid, Ops: 1000, Rate: rate, P50: ms, P99: 2 * ms,
		Elapsed: 2 * time.Second, Expected: "valid", Met: true, Link: "rich/report.html"}
}

func (r Row) breaking(found, mechanism string) Row {
	r.Verdict, r.Found, r.First, r.Mechanism = harness.Invalid, found, "call 79 returned 23, as call 1", mechanism
	return r
}

func (r Row) searched(v harness.Verdict, says string) Row {
	r.AddExplorer(says, true, v)
	return r
}

func (r Row) unclear() Row {
	r.Verdict, r.Sentence = harness.Unknown, "The load was too small."
	return r
}

// numbering compares three variants under two conditions.
func numbering() []Row {
	const doubles = "Lua's numbers are doubles, exact up to 2^53, so 16081817202494579 becomes 16081817202494580"
	valid, invalid := harness.Valid, harness.Invalid
	return []Row{
		ran("sequence/string-compare", "fixed", 9000).searched(invalid, "3 steps").
			breaking("22,300 duplicate-number", `strings compare by characters, so "100" < "23"`),
		ran("sequence/numeric-compare-hash", "fixed", 9000).searched(valid, "all 110 hold"),
		ran("sequence/digits-compare", "fixed", 8000).searched(valid, "all 110 hold"),
		ran("sequence/string-compare", "timestamp17", 9000).searched(valid, "all 110 hold"),
		ran("sequence/numeric-compare-hash", "timestamp17", 9000).searched(invalid, "2 steps").
			breaking("12,386 duplicate-number", doubles),
		ran("sequence/digits-compare", "timestamp17", 8000).searched(valid, "all 110 hold"),
	}
}

func TestAComparisonSaysWhichOneIsBetterAndWhy(t *testing.T) {
	a, b, c := ran("a", "", 1000), ran("b", "", 1100), ran("c", "", 3000)
	broke := "10 double-grant"
	for name, x := range map[string]struct {
		rows             []Row
		answer, sentence string
		verdict          harness.Verdict
	}{
		"one held everywhere": {numbering(), "sequence/digits-compare", "It held under both conditions, under load and in " +
			"every order of commands searched. sequence/string-compare broke under fixed; " +
			"sequence/numeric-compare-hash broke under timestamp17.", harness.Valid},
		"one is faster": {[]Row{a, c}, "c", "a and c held. Operations a second: a 1,000 and c 3,000.", harness.Valid},
		"alike": {[]Row{a, b}, "no difference", "a and b held. Operations a second: a 1,000 and b 1,100; " +
			"one run of each tells no smaller difference than a quarter.", harness.Valid},
		"only a search broke it": {[]Row{a, c.searched(harness.Invalid, "4 steps")}, "a", "It held. c broke.",
			harness.Valid},
		"unknown": {[]Row{a, b.unclear(), c.breaking(broke, "")}, "cannot be told",
			"a held. Nothing can be said of b. c broke.", harness.Unknown},
		"all broke": {[]Row{a.breaking(broke, ""), b.breaking(broke, "")}, "none is safe", "a broke; b broke.",
			harness.Invalid},
		"one broke less": {[]Row{a.breaking(broke, ""), b.breaking(broke, ""), ran("a", "x", 1),
			ran("b", "x", 1).breaking(broke, "")}, "none is safe", "a broke under no fault; b broke under no fault and x. " +
			"a broke under fewer conditions, which does not make it safe.", harness.Invalid},
		"conditions of one variant": {[]Row{a, ran("a", "kill-primary", 900).breaking(broke, "")}, "no fault",
			"It held. kill-primary broke.", harness.Valid},
		"nothing": {nil, "cannot be told", "", harness.Unknown},
	} {
		got := Rank(x.rows)
		require.Equal(t, x.answer, got.Answer, name)
		require.Equal(t, x.sentence, got.Sentence, name)
		require.Equal(t, x.verdict, got.Verdict, name)
	}
}

func TestEachRowOfAComparisonSaysWhyInOneSentence(t *testing.T) {
	a := ran("a", "", 1000)
	byStrings := numbering()[0]
	for want, r := range map[string]Row{
		"Held: no violation in 1,000 operations.": a,
		"Held: no violation in 1,000 operations, nor in any order of commands searched.": a.searched(
			harness.Valid, "all 5 hold"),
		"Held: no violation in 1,000 operations; orders of commands: undecided after 7.": a.searched(
			harness.Unknown, "undecided after 7"),
		"Held under this load, but an order of commands breaks it in 4 steps.":              a.searched(harness.Invalid, "4 steps"),
		"Broke: 9 duplicate-number, the first: call 79 returned 23, as call 1.":             a.breaking("9 duplicate-number", ""),
		`Broke by 22,300 duplicate-number: strings compare by characters, so "100" < "23".`: byStrings,
		"Nothing can be said: The load was too small.":                                      a.unclear(),
	} {
		require.Equal(t, want, r.why())
	}
}

func TestEveryFormOfAComparisonHasTheAnswerAndTheReasons(t *testing.T) {
	c := Rank(numbering())
	text := func(w io.Writer, c Ranking) error { return ComparisonText(w, c, Layout{Width: 150}) }
	for _, form := range []string{textOf(t, text, c), pageOf(t, ComparisonHTML, c),
		textOf(t, ComparisonMarkdown, c)} {
		for _, want := range []string{"sequence/digits-compare", "It held under both", "broke under timestamp17",
			"16081817202494580"} {
			require.Contains(t, form, want)
		}
	}
	require.Contains(t, textOf(t, text, c), "BETTER  sequence/digits-compare. It held")
	require.Contains(t, textOf(t, text, Rank(nil)), "CANNOT BE TOLD")
}
