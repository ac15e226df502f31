package results

import (
	"encoding/json"
	"io"
	"os"

	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/reports"
	"github.com/doublegrant/doublegrant/workloads"
)

const kindCounterexample reports.Kind = "counterexample"

// counterexampleFile is the content of a counterexample's file.
type counterexampleFile struct {
	reports.Head
	Search         plan.Search               `json:"search"` // the search that found it
	Counterexample interleave.Counterexample `json:"counterexample"`
}

// olderFormat is the start of a file that a version before 0.1.0 wrote. Later files start with a reports.Head.
type olderFormat struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
}

func writeCounterexample(path string, s plan.Search, v workloads.Variant, c interleave.Counterexample) error {
	s.Variant = v.ID
	return reports.WriteFile(path, func(w io.Writer) error {
		return reports.WriteJSON(w, counterexampleFile{reports.HeadOf(kindCounterexample), s, c})
	})
}

// readCounterexample reads a counterexample's file. The counterexample must be of the variant with the given id; empty:
// of any variant.
func readCounterexample(path, variant string) (f counterexampleFile, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return f, plan.Usagef("%w: name a counterexample's file (explore writes it to the folder %s of its results) "+
			"or recipe (dg1-...)", err, anomaliesDir)
	}
	err = json.Unmarshal(b, &f)
	var older olderFormat
	if _ = json.Unmarshal(b, &older); older.Format == "doublegrant schedule" {
		f.Head = reports.Head{Schema: older.Version, Kind: kindCounterexample}
	}
	switch {
	case f.Kind != kindCounterexample && savedByTest(b) != "":
		return f, plan.Usagef("%s is a counterexample of a Go test, which replays it first: %s", path, savedByTest(b))
	case f.Kind != kindCounterexample:
		return f, plan.Usagef("%s is not a counterexample of doublegrant: explore writes them to the folder %s of "+
			"its results",
			path, anomaliesDir)
	case f.Schema != reports.Schema:
		return f, plan.Usagef("%s has the schema %d, this program reads %d: explore again", path, f.Schema,
			reports.Schema)
	case err != nil:
		return f, plan.Usagef("%s: %w", path, err)
	case variant != "" && variant != f.Search.Variant:
		return f, plan.Usagef("%s is a counterexample of %s, not of %s: name the right "+
			"one", path, f.Search.Variant, variant)
	}
	return f, nil
}

// savedByTest returns the command that repeats a test, if granttest saved the counterexample b for that test.
// Otherwise it returns "".
func savedByTest(b []byte) string {
	var f struct{ Again, Kind string }
	if json.Unmarshal(b, &f) != nil || f.Kind == "" {
		return ""
	}
	return f.Again
}
