package reports

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/analysis"
	"github.com/doublegrant/doublegrant/harness/units"
)

// Report is the content of the files of one run.
type Report struct {
	Name      string
	Command   string            // the command that repeats the run; may be empty
	Labels    map[string]string // such as variant, topology, nemesis and regime
	History   harness.History   // the history; reports do not read its Ops
	Judged    harness.Judged
	Stats     analysis.Stats
	Failovers []analysis.Failover
	Pages     map[int]string // relative paths of pages that draw anomalies, by index in Judged.Anomalies
	Expected  string         // what was expected, such as "double-grant"; empty: nothing
	Met       bool           // whether Expected came true
	Notes     []string       // remarks from the run's Result that the history does not contain
	Elapsed   time.Duration  // time of the whole run; the caller may include the judging
}

// New reads h once and returns its report. It sorts and numbers the faults by their Start. The caller sets Command,
// Pages, Expected, Met and Notes. If there is an error, the report describes what could be read.
func New(h harness.History, j harness.Judged) (Report, error) {
	h.Faults = h.FaultsByStart()
	stats, failovers, err := analysis.Compute(h)
	analysis.AssignLosses(failovers, j.Findings, lookedFor(h.Events, j))
	r := Report{
		Name: h.Meta.Name, Labels: maps.Clone(h.Meta.Labels), History: h, Judged: j,
		Stats: stats, Failovers: failovers,
	}
	r.Elapsed = r.Stats.Last
	if h.End != nil {
		r.Elapsed = h.End.At
	}
	return r, err
}

// lookedFor lists the classes of violations that a report counts for each failover. A class is counted only if its
// checker reached a verdict, and so has seen all violations of the class. If the run's clocks could not be trusted, no
// class is counted.
func lookedFor(events []harness.Event, j harness.Judged) (all []harness.Class) {
	untrusted := func(e harness.Event) bool { return e.Kind == harness.EventClockUntrusted }
	if slices.ContainsFunc(events, untrusted) {
		return nil
	}
	finds := map[string]harness.Class{"mutex": harness.DoubleGrant, "writes": harness.LostWrite}
	for _, g := range j.Judgements {
		if class := finds[g.Checker]; class != "" && g.Verdict != harness.Unknown {
			all = append(all, class)
		}
	}
	return all
}

// FailoversLine summarizes the failovers of the run in one line. It is empty unless there are several.
func (r Report) FailoversLine() string {
	if len(r.Failovers) < 2 {
		return ""
	}
	return FailoversLine(figuresOf(r.Failovers))
}

// Sentence explains the verdict in one sentence.
func (r Report) Sentence() string {
	switch {
	case r.Judged.Verdict == harness.Valid:
		return "No violation in " + r.scope() + "."
	case len(r.Judged.Totals) > 0:
		s := "Found " + r.ViolationCounts() + " in " + r.scope()
		if len(r.Judged.Anomalies) > 0 {
			s += ", the first at " + units.At(firstComplete(r.Judged.Anomalies))
		}
		return s + "."
	default:
		return "Nothing can be said: " + r.reasons() + "."
	}
}

// firstComplete returns the earliest end of an anomaly. That anomaly need not be the first one in the list, which is
// sorted by class, and only within a class by time.
func firstComplete(anomalies []harness.Anomaly) time.Duration {
	return slices.MinFunc(anomalies, func(a, b harness.Anomaly) int { return cmp.Compare(a.To, b.To) }).To
}

// ViolationCounts lists the violations by class, such as "12 double-grant and 1 stuck-lock". It is empty if there are
// none.
func (r Report) ViolationCounts() string {
	var parts []string
	for _, c := range classes(r.Judged.Totals) {
		parts = append(parts, fmt.Sprintf("%s %s", units.Count(int64(r.Judged.Totals[c])), c))
	}
	return units.And(parts)
}

// classes returns the classes in totals, the most frequent first.
func classes(totals map[harness.Class]int) []harness.Class {
	all := slices.Sorted(maps.Keys(totals))
	slices.SortStableFunc(all, func(a, b harness.Class) int { return totals[b] - totals[a] })
	return all
}

func (r Report) scope() string {
	s := units.Plural(r.Stats.Totals.All(), "operation", "operations")
	if n := r.History.Meta.Workers; n > 0 {
		s += " of " + units.Plural(int64(n), "client", "clients")
	}
	if n := len(r.History.Faults); n > 0 {
		s += " through " + units.Plural(int64(n), "fault", "faults")
	}
	return s
}

// reasons joins the reasons of the checkers that could not tell.
func (r Report) reasons() string {
	var parts []string
	for _, g := range r.Judged.Judgements {
		if g.InDoubt() {
			parts = append(parts, g.Checker+": "+strings.TrimSuffix(g.Reason, "."))
		}
	}
	if len(parts) == 0 {
		return "nothing was judged"
	}
	return strings.Join(parts, "; ")
}

// uncheckedNote names the checkers that were not asked, with the reason.
func (r Report) uncheckedNote() string {
	var parts []string
	for _, g := range r.Judged.Judgements {
		if g.NotNeeded {
			parts = append(parts, g.Checker+": "+g.VerdictText()+": "+g.Reason)
		}
	}
	return strings.Join(parts, "; ")
}

// Unplanned describes each failover that no fault caused. It is empty if there was none.
func (r Report) Unplanned() string {
	var all []string
	for _, f := range r.Failovers {
		if f.Uncaused() {
			all = append(all, f.WhyUncaused())
		}
	}
	return strings.Join(all, "; ")
}

// unplannedNote returns Unplanned as sentences, with what to do. It returns "" if no failover was unplanned.
func (r Report) unplannedNote() string {
	s := r.Unplanned()
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:] + ". " + analysis.RemedyUncaused
}

// warnings lists what a reader has to know before anything else.
func (r Report) warnings() []string {
	var all []string
	switch end := r.History.End; {
	case end == nil:
		all = append(all, "The record stops before the run did; what follows covers the recorded part.")
	case end.Reason != "":
		all = append(all, "The run ended early: "+end.Reason)
	}
	if note := r.unplannedNote(); note != "" {
		all = append(all, note)
	}
	for i, f := range r.History.Faults {
		if !f.Proved {
			all = append(all, fmt.Sprintf("Fault %d (%s) was not seen to act: %s", i+1, f.Name, f.Proof))
		}
		if f.End == 0 {
			all = append(all, fmt.Sprintf("The system was not seen whole again after fault %d (%s).", i+1, f.Name))
		}
	}
	return append(all, r.Notes...)
}

// label returns a label, or a dash if there is none.
func (r Report) label(name string) string { return orDash(r.Labels[name]) }
