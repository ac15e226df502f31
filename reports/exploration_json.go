package reports

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// ExplorationDocument is the content of a search's verdict.json. Fields that runs have as well have the same names as
// in [Document]. Times of steps and operations are virtual.
type ExplorationDocument struct {
	Head
	Name     string            `json:"name"`
	Variant  string            `json:"variant"`
	Verdict  harness.Verdict   `json:"verdict"`            // "valid", "invalid" or "unknown"
	Summary  string            `json:"summary"`            // the verdict in one sentence
	Expected string            `json:"expected,omitempty"` // what was expected, if anything
	Met      *bool             `json:"met,omitempty"`      // whether that came true; only with expected
	Command  string            `json:"command,omitempty"`  // repeats the search
	Labels   map[string]string `json:"labels,omitempty"`   // regime, lease, ...
	Doc      string            `json:"doc,omitempty"`      // the variant in one line
	Source   string            `json:"source,omitempty"`   // where the variant comes from
	Clients  int               `json:"clients"`
	Started  time.Time         `json:"started,omitzero"`
	Elapsed  time.Duration     `json:"elapsed"`
	Result   interleave.Result `json:"result"`
	Files    map[int]string    `json:"files,omitempty"`    // index in result.found: file that replays it
	Versions []Version         `json:"versions,omitempty"` // of all programs and libraries involved
	// Replay begins the command that replays a counterexample; the recipe of a counterexample in result.found follows it.
	Replay string `json:"replay,omitempty"`
}

// ExplorationDocumentOf returns the content of a search's verdict.json.
func ExplorationDocumentOf(e Exploration) ExplorationDocument {
	d := ExplorationDocument{
		Head: HeadOf(KindExploration), Name: e.title(), Variant: e.Variant, Verdict: e.Verdict(),
		Summary: e.Sentence(), Expected: e.Expected, Command: e.Command, Labels: maps.Clone(e.Labels), Doc: e.Doc,
		Source: e.Source, Clients: e.clients(), Started: e.Started, Elapsed: e.Result.Elapsed, Result: e.Result,
		Files: maps.Clone(e.Files), Versions: slices.Clone(e.Versions), Replay: e.Replay,
	}
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

// Exploration returns the search that the document describes, so that its reports can be written again.
func (d ExplorationDocument) Exploration() Exploration {
	return Exploration{
		Name: d.Name, Variant: d.Variant, Command: d.Command, Labels: d.Labels, Doc: d.Doc, Source: d.Source,
		Clients: d.Clients, Result: d.Result, Files: d.Files, Expected: d.Expected, Met: d.Met != nil && *d.Met,
		Started: d.Started, Versions: d.Versions, Replay: d.Replay,
	}
}

// ExplorationJSON writes the verdict.json of a search.
func ExplorationJSON(w io.Writer, e Exploration) error {
	return WriteJSON(w, ExplorationDocumentOf(e))
}

// ReadExplorationJSON reads the verdict.json of a search. The error wraps ErrSchema if the version is unknown, or if
// the file is that of a run.
func ReadExplorationJSON(r io.Reader) (ExplorationDocument, error) {
	var d ExplorationDocument
	if err := json.NewDecoder(r).Decode(&d); err != nil {
		return d, fmt.Errorf("reports: read json: %w", err)
	}
	return d, d.check(KindExploration)
}
