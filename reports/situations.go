package reports

import (
	"fmt"
	"strings"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/units"
)

// This file lists the situations that a run met or never met.

func metSituations(all []harness.Situation) (met []harness.Situation) {
	for _, s := range all {
		if s.Count > 0 {
			met = append(met, s)
		}
	}
	return met
}

// neverMet names the situations that never occurred: "a; b". It is empty if all occurred.
func neverMet(all []harness.Situation) string {
	var names []string
	for _, s := range all {
		if s.Count == 0 {
			names = append(names, string(s.Name))
		}
	}
	return strings.Join(names, "; ")
}

// SituationsText lists the situations that were met, with counts, and on a second line the situations that were never
// met. Without situations it returns no lines.
func SituationsText(all []harness.Situation) (lines []string) {
	var met []string
	for _, s := range metSituations(all) {
		met = append(met, fmt.Sprintf("%s: %s", s.Name, units.Count(int64(s.Count))))
	}
	if len(met) > 0 {
		lines = append(lines, "met: "+strings.Join(met, "; "))
	}
	if never := neverMet(all); never != "" {
		lines = append(lines, "never met: "+never)
	}
	return lines
}

// countOrNever returns a count as text, or "never".
func countOrNever(n int) string {
	if n == 0 {
		return "never"
	}
	return units.Count(int64(n))
}

// summarySituations writes the situations into summary.md.
func summarySituations(b *strings.Builder, r Report) {
	all := r.Judged.Situations
	if len(all) == 0 {
		return
	}
	var rows [][]string
	for _, s := range all {
		rows = append(rows, []string{escapeMarkdown(string(s.Name)), countOrNever(s.Count)})
	}
	b.WriteString("\n")
	markdownTable(b, []string{"situation", ":met"}, rows)
}
