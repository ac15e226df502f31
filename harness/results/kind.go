package results

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"

	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/reports"
)

// Kind says what a results folder holds.
type Kind uint8

// Kinds of results folders whose reports can be rewritten. The zero value is any other folder.
const (
	Other    Kind = iota
	OfRun         // folder of a run: ReportRun rewrites its reports
	OfSearch      // folder of a search: ReportSearch rewrites its reports
)

// SuiteRecord is the name of a suite's record. Package suite writes it.
const SuiteRecord = "suite.jsonl"

// KindOf returns the kind of a results folder. For a folder of another kind, it returns an error that says what the
// folder is and what to do. The error wraps plan.ErrUsage.
func KindOf(dir string) (Kind, error) {
	has := func(name string) bool {
		_, err := os.Stat(filepath.Join(dir, name))
		return err == nil
	}
	switch {
	case has(plan.File):
		return OfRun, nil
	case kindInVerdict(dir) == reports.KindExploration:
		return OfSearch, nil
	case has(reports.VerdictFile) && !isJSON(filepath.Join(dir, reports.VerdictFile)):
		return Other, plan.Usagef("%s has a %s that is cut short, and no %s: its search or run has to be repeated", dir,
			reports.VerdictFile, plan.File)
	case has(reports.VerdictFile):
		return Other, plan.Usagef("%s has the %s of a run but no %s: give the whole results folder of the run; if "+
			"check --history wrote it, give that command its file again", dir, reports.VerdictFile, plan.File)
	case has(reports.ReproductionFile):
		return Other, plan.Usagef("%s is the results folder of an experiment, whose report.html only reproduce "+
			"writes: name the folder of one of its runs", dir)
	}
	if newest := newestIn(dir); newest != "" {
		what := "a folder of results folders"
		if has(reports.IndexFile) {
			what += ", with a page of links to them"
		}
		return Other, plan.Usagef("%s is %s: name one of them, such as %s", dir, what, newest)
	}
	_, err := plan.ReadFolder(dir)
	return Other, err
}

// ofRun returns nil if dir is the results folder of a run, and otherwise an error that says what dir is. The error
// wraps plan.ErrUsage.
func ofRun(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, SuiteRecord)); err == nil {
		return plan.Usagef("%s is the results folder of a suite: name the folder of one of its runs, or use "+
			"doublegrant report for the suite", dir)
	}
	kind, err := KindOf(dir)
	if kind == OfSearch {
		return plan.Usagef("%s is the results folder of a search, which records no history: use doublegrant report "+
			"to write its reports again", dir)
	}
	return err
}

// kindInVerdict returns the kind in the folder's verdict.json; "" if there is none.
func kindInVerdict(dir string) reports.Kind {
	text, err := os.ReadFile(filepath.Join(dir, reports.VerdictFile))
	if err != nil {
		return ""
	}
	var head struct {
		Kind reports.Kind `json:"kind"`
	}
	_ = json.Unmarshal(text, &head) // what cannot be read has no kind
	return head.Kind
}

// isJSON reports whether a file is one JSON value.
func isJSON(path string) bool {
	text, err := os.ReadFile(path)
	return err == nil && json.Valid(text)
}

// newestIn returns the newest results folder in dir; "" if there is none.
func newestIn(dir string) string {
	var all []string
	for _, name := range []string{plan.File, reports.VerdictFile, reports.ReproductionFile, SuiteRecord} {
		found, _ := filepath.Glob(filepath.Join(dir, "2*", name)) // the pattern is known to be valid
		for _, path := range found {
			all = append(all, filepath.Dir(path))
		}
	}
	if len(all) == 0 {
		return ""
	}
	return slices.Max(all) // their names begin with the time
}
