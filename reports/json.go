package reports

import (
	"io"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/analysis"
	"github.com/doublegrant/doublegrant/harness/tally"
)

// Document is the content of a run's verdict.json. Times count from the start of the run.
type Document struct {
	Head
	Name       string                `json:"name"`
	Verdict    harness.Verdict       `json:"verdict"`            // "valid", "invalid" or "unknown"
	Summary    string                `json:"summary"`            // the verdict in one sentence
	Expected   string                `json:"expected,omitempty"` // what was expected; empty: nothing
	Met        *bool                 `json:"met,omitempty"`      // whether that came true; absent: nothing was expected
	Command    string                `json:"command,omitempty"`  // the command that repeats the run
	Labels     map[string]string     `json:"labels,omitempty"`   // variant, topology, nemesis, ...
	Elapsed    time.Duration         `json:"elapsed"`
	Totals     map[harness.Class]int `json:"totals"`               // violations by class
	Certified  int                   `json:"certified"`            // violations that porcupine confirmed
	Judgements []harness.Judgement   `json:"judgements"`           // one entry for each checker
	Situations []harness.Situation   `json:"situations,omitempty"` // those with a count of 0 were never met
	Anomalies  []harness.Anomaly     `json:"anomalies"`            // the first ones of each class, ordered by time
	// Notes are remarks that the history does not contain, such as which watchers fell behind.
	Notes     []string            `json:"notes,omitempty"`
	Pages     map[int]string      `json:"pages,omitempty"` // pages that draw anomalies, by index in anomalies
	Stats     analysis.Stats      `json:"stats"`           // totals, without the timeline
	Failovers []analysis.Failover `json:"failovers"`
	Figures   *tally.Figures      `json:"failoverFigures,omitempty"` // figures over all failovers, if there are several
	Faults    []harness.Fault     `json:"faults"`
	Meta      harness.Meta        `json:"meta"`
	End       *harness.End        `json:"end"` // null: the record ends before the run did
}

// DocumentOf returns the content of a report's verdict.json.
func DocumentOf(r Report) Document {
	d := Document{
		Head: HeadOf(KindRun), Name: r.Name, Verdict: r.Judged.Verdict, Summary: r.Sentence(), Expected: r.Expected,
		Command: r.Command, Labels: r.Labels, Elapsed: r.Elapsed, Totals: r.Judged.Totals,
		Certified: r.Judged.Certified, Judgements: list(r.Judged.Judgements), Anomalies: list(r.Judged.Anomalies),
		Situations: r.Judged.Situations,
		Notes:      r.Notes, Pages: r.Pages, Stats: r.Stats, Failovers: list(r.Failovers),
		Faults: list(r.History.Faults),
		Meta:   r.History.Meta, End: r.History.End,
	}
	if len(r.Failovers) > 1 {
		f := figuresOf(r.Failovers)
		d.Figures = &f
	}
	d.Stats.Kinds, d.Stats.Reasons = list(d.Stats.Kinds), list(d.Stats.Reasons)
	if d.Totals == nil {
		d.Totals = map[harness.Class]int{}
	}
	if r.Expected != "" {
		d.Met = &r.Met
	}
	return d
}

// list turns nil into an empty list, which JSON writes as [] instead of null.
func list[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// JSON writes a run's verdict.json.
func JSON(w io.Writer, r Report) error {
	return WriteJSON(w, DocumentOf(r))
}
