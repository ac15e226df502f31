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

// fileFormat and fileVersion are at the head of every counterexample's file.
const (
	fileFormat  = "doublegrant schedule"
	fileVersion = 1
)

// counterexampleFile is the content of a counterexample's file.
type counterexampleFile struct {
	Format         string                    `json:"format"`
	Version        int                       `json:"version"`
	Search         plan.Search               `json:"search"`
	Counterexample interleave.Counterexample `json:"counterexample"`
}

func writeCounterexample(path string, s plan.Search, v workloads.Variant, c interleave.Counterexample) error {
	s.Variant = v.ID
	return reports.WriteFile(path, func(w io.Writer) error {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(counterexampleFile{fileFormat, fileVersion, s, c})
	})
}

// readCounterexample reads a counterexample's file. It returns an error if variant is neither empty nor the file's.
func readCounterexample(path, variant string) (f counterexampleFile, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return f, plan.Usagef("%w: name the file of a counterexample (explore leaves them in the folder %s of its "+
			"results), or its word (dg1-...)", err, anomaliesDir)
	}
	err = json.Unmarshal(b, &f)
	switch {
	case f.Format != fileFormat:
		return f, plan.Usagef("%s is not a schedule of doublegrant: explore leaves them in the folder %s of its results",
			path, anomaliesDir)
	case f.Version != fileVersion:
		return f, plan.Usagef("%s has version %d of the format, this program reads version %d: explore again", path,
			f.Version, fileVersion)
	case err != nil:
		return f, plan.Usagef("%s: %w", path, err)
	case variant != "" && variant != f.Search.Variant:
		return f, plan.Usagef("%s is a schedule of %s, not of %s", path, f.Search.Variant, variant)
	}
	return f, nil
}
