package reports

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/units"
)

// ReportText writes a run for a terminal: its verdict, the first violation of each class, its failovers, and one line
// with what each checker found. If l.Verbose is set, each checker has lines of its own with figures, and the situations
// that the run met follow.
func ReportText(w io.Writer, r Report, l Layout) error {
	var b strings.Builder
	b.WriteString(l.Fold(strings.ToUpper(r.Judged.Verdict.String())+"  ", r.Sentence()))
	if note := r.unplannedNote(); note != "" {
		b.WriteString(l.Fold("  unplanned ", note))
	}
	firstOfEachClass(&b, r.Judged.Anomalies, l)
	for _, f := range r.Failovers {
		b.WriteString(l.Fold("  failover  ", f.String()))
	}
	if line := r.FailoversLine(); line != "" {
		b.WriteString(l.Fold("  in all    ", line))
	}
	for _, note := range r.Notes {
		b.WriteString(l.Fold("  note      ", note))
	}
	b.WriteString(l.Fold("ran       ", r.ran()))
	if l.Verbose {
		judgements(&b, r.Judged, l)
	} else if line := judgedLine(r.Judged.Judgements); line != "" {
		b.WriteString(l.Fold("judged    ", line))
		if r.Judged.Verdict != harness.Unknown { // the sentence says why, otherwise
			doubts(&b, r.Judged.Judgements, l)
		}
	}
	return writeText(w, "text", b.String())
}

// ran says how much was run: clients, time, operations by outcome, and faults.
func (r Report) ran() string {
	text := units.Duration(r.Stats.Last)
	if n := r.History.Meta.Workers; n > 0 {
		text = units.Plural(int64(n), "client", "clients") + " for " + text
	}
	c := r.Stats.Totals
	text += fmt.Sprintf("; operations: %s ok, %s refused, %s failed, %s without an answer", units.Count(c.OK),
		units.Count(c.Refused), units.Count(c.Failed), units.Count(c.Unknown))
	if n := len(r.History.Faults); n > 0 {
		text += "; " + units.Plural(int64(n), "fault", "faults")
	}
	return text
}

func firstOfEachClass(b *strings.Builder, anomalies []harness.Anomaly, l Layout) {
	seen := map[harness.Class]bool{}
	for _, an := range anomalies {
		if seen[an.Class] {
			continue
		}
		seen[an.Class] = true
		certified := ""
		if an.Certified {
			certified = ", certified by porcupine"
		}
		b.WriteString(l.Fold("  ", fmt.Sprintf("the first %s%s:", an.Class, certified)) + l.Fold("    ", an.Note))
	}
}

// judgedLine says what each checker found: "mutex invalid; stuck and gates valid". It is empty if no checker was asked.
func judgedLine(all []harness.Judgement) string {
	by := map[string][]string{}
	var words []string
	for _, g := range all {
		word := g.VerdictText()
		if g.NotNeeded {
			word += " on whole keys" // single violations it may have certified
		}
		if !slices.Contains(words, word) {
			words = append(words, word)
		}
		by[word] = append(by[word], g.Checker)
	}
	for i, word := range words {
		words[i] = units.And(by[word]) + " " + word
	}
	return strings.Join(words, "; ")
}

// doubts writes why checkers came to no verdict.
func doubts(b *strings.Builder, all []harness.Judgement, l Layout) {
	for _, g := range all {
		if g.InDoubt() {
			b.WriteString(l.Fold("  "+g.Checker+" "+g.VerdictText()+": ", g.Reason))
		}
	}
}

// judgements writes what each checker found, with its figures, and the situations that the run met.
func judgements(b *strings.Builder, j harness.Judged, l Layout) {
	for _, g := range j.Judgements {
		b.WriteString(l.Fold(fmt.Sprintf("  %-9s %-9s ", g.Checker, g.VerdictText()), g.Reason))
		if len(g.Figures) > 0 {
			b.WriteString(l.Fold(strings.Repeat(" ", 22), figureLine(g.Figures)))
		}
	}
	for _, line := range SituationsText(j.Situations) {
		b.WriteString(l.Fold("  ", line))
	}
}

// figureLine lists figures: "grants 591, keys 2".
func figureLine(figures []harness.Figure) string {
	var words []string
	for _, f := range figures {
		value := units.Figure(f.Value)
		if f.Value != math.Trunc(f.Value) {
			value = fmt.Sprintf("%.2f", f.Value)
		}
		words = append(words, strings.TrimSpace(f.Name+" "+value+" "+f.Unit))
	}
	return strings.Join(words, ", ")
}
