package reports

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// ExplorationDocument is the content of a search's verdict.json. Fields that also belong to a run have the same names
// in [Document]. Times of steps and operations are virtual.
type ExplorationDocument struct {
	Head
	Verdict harness.Verdict `json:"verdict"`       // "valid", "invalid" or "unknown"
	Summary string          `json:"summary"`       // the verdict in one sentence
	Met     *bool           `json:"met,omitempty"` // whether the expectation came true; absent if there was none
	Elapsed time.Duration   `json:"elapsed"`
	Exploration
}

// ExplorationDocumentOf returns the content of a search's verdict.json.
func ExplorationDocumentOf(e Exploration) ExplorationDocument {
	d := ExplorationDocument{Head: HeadOf(KindExploration), Verdict: e.Verdict(), Summary: e.Sentence(),
		Elapsed: e.Result.Elapsed, Exploration: e}
	d.Name, d.Clients = e.title(), e.clients()
	d.Result.Counterexamples = list(slices.Clone(e.Result.Counterexamples))
	for i, c := range d.Result.Counterexamples {
		c.Schedule, c.Steps, c.Ops, c.Anomaly.Ops = list(c.Schedule), list(c.Steps), list(c.Ops), list(c.Anomaly.Ops)
		d.Result.Counterexamples[i] = c
	}
	if e.Expected != "" {
		d.Met = &e.Met
	}
	return d
}

// ExplorationJSON writes the verdict.json of a search.
func ExplorationJSON(w io.Writer, e Exploration) error {
	return WriteJSON(w, ExplorationDocumentOf(e))
}

// ReadExplorationJSON reads the search in a verdict.json, so that its reports can be written again. The error wraps
// ErrSchema if the version is unknown, or if the file is that of a run.
func ReadExplorationJSON(r io.Reader) (Exploration, error) {
	var d ExplorationDocument
	if err := json.NewDecoder(r).Decode(&d); err != nil {
		return Exploration{}, fmt.Errorf("reports: read json: %w", err)
	}
	d.Exploration.Met = d.Met != nil && *d.Met
	return d.Exploration, d.check(KindExploration)
}
