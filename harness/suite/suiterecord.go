package suite

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/harness/suite/tally"
)

const (
	recordFile = "suite.jsonl"
	pageFile   = "index.html"

	keptOfEach = 10 // number of runs of one case and one ending whose whole folders a soak keeps
)

// record writes suite.jsonl while the suite runs, so that a soak that is killed leaves behind what it had found.
type record struct {
	file *os.File
	enc  *json.Encoder
}

// recordLine is a line of suite.jsonl: exactly one field is set.
type recordLine struct {
	Suite  *recordHead   `json:"suite,omitempty"`
	Run    *tally.Run    `json:"run,omitempty"`
	Sample *tally.Sample `json:"sample,omitempty"`
	End    *recordEnd    `json:"end,omitempty"`
}

// recordHead is the first line: the suite as it began.
type recordHead struct {
	Name    string        `json:"name"`
	Started time.Time     `json:"started"`
	For     time.Duration `json:"for,omitempty"`
	Cases   []recordCase  `json:"cases"`
}

// recordCase is a case of that suite.
type recordCase struct {
	Name     string `json:"name"`
	Variant  string `json:"variant"`
	Expected string `json:"expected"`
}

// recordEnd is the last line. It is missing if the suite was killed or is still under way: see Report.
type recordEnd struct {
	At     time.Duration `json:"at"`
	Ending tally.Ending  `json:"ending"`
	Reason string        `json:"reason,omitempty"`
}

func newRecord(dir string, head recordHead) (*record, error) {
	f, err := os.OpenFile(filepath.Join(dir, recordFile), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("suite: %w", err)
	}
	r := &record{f, json.NewEncoder(f)}
	if err := r.write(recordLine{Suite: &head}); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return r, nil
}

func (r *record) write(l recordLine) error {
	if err := r.enc.Encode(l); err != nil {
		return fmt.Errorf("suite: write the record: %w", err)
	}
	return nil
}

func (r *record) end(e recordEnd) error {
	return errors.Join(r.write(recordLine{End: &e}), r.file.Close())
}

// remains lists the files that a soak keeps of a run that was not as expected, beyond the first keptOfEach of its case and
// ending.
var remains = []string{plan.File, "verdict.json", "summary.md"}

// tidy removes what a soak does not keep of a run. A run that was as expected loses its whole folder; beyond the first keptOfEach
// of a case and ending, only the files in remains stay. tidy reports whether the run's report is still there.
func (k keeper) tidy(dir string, r tally.Run) (kept bool, err error) {
	if dir == "" {
		return false, nil
	}
	if r.Ending == tally.Met {
		return false, os.RemoveAll(dir)
	}
	kind := r.Name + "/" + r.Ending.String()
	if k[kind]++; k[kind] <= keptOfEach {
		return true, nil
	}
	return false, thin(dir)
}

// keeper counts the runs of each case and ending. Keys are "case/ending".
type keeper map[string]int

func thin(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !slices.Contains(remains, e.Name()) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	return err
}
