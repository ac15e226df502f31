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
	"github.com/doublegrant/doublegrant/harness/results"
	"github.com/doublegrant/doublegrant/harness/tally"
	"github.com/doublegrant/doublegrant/reports"
)

const (
	recordFile = results.SuiteRecord
	pageFile   = reports.IndexFile

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
	Resume *recordResume `json:"resume,omitempty"`
}

// recordHead is the first line: the suite as it began.
type recordHead struct {
	Name    string        `json:"name"`
	Started time.Time     `json:"started"`
	For     time.Duration `json:"for,omitempty"`
	Cases   []recordCase  `json:"cases"`

	// A suite is resumed by the program of this version and with a suite of this fingerprint only. Empty: of an older record.
	Version     string `json:"version,omitempty"`
	Fingerprint string `json:"fingerprint,omitempty"` // of the whole suite, also in a shard's record

	Servers map[string]string   `json:"servers,omitempty"` // as in tally.Suite
	Folder  string              `json:"folder,omitempty"`  // path of the results folder, as the commands in the record have it
	Shard   *recordShard        `json:"shard,omitempty"`   // the part that this is of a suite; nil: it is whole
	Shards  []tally.ShardResult `json:"shards,omitempty"`  // the parts that Merge put together
}

// recordCase is a case of that suite.
type recordCase struct {
	Name     string `json:"name"`
	Variant  string `json:"variant"`
	Expected string `json:"expected"`
	Turns    []int  `json:"turns,omitempty"` // repetitions that a shard makes in each pass, from 0, in order
}

// recordShard says which part of a suite is on record, so that Merge can see whether nothing is missing.
type recordShard struct {
	tally.Shard
	Whole []recordWhole `json:"whole"` // all runs of the suite, in its order
}

// recordWhole is a run of the suite of which a shard is a part.
type recordWhole struct {
	Name  string `json:"name"`
	Times int    `json:"times"` // repetitions in a pass
}

// recordEnd is the last line, unless the suite was resumed. It is missing if the suite was killed or is still under way: see
// Report.
type recordEnd struct {
	At     time.Duration `json:"at"`
	Ending tally.Ending  `json:"ending"`
	Reason string        `json:"reason,omitempty"`
}

// recordResume is the line from which on another process went on with the suite.
type recordResume struct {
	At      time.Duration `json:"at"` // since the start, without the time in which no process ran the suite
	Started time.Time     `json:"started"`
}

func newRecord(dir string, head recordHead) (*record, error) {
	f, err := os.OpenFile(filepath.Join(dir, recordFile), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("suite: %w", err)
	}
	r := openedRecord(f)
	if err := errors.Join(lockRecord(f), r.write(recordLine{Suite: &head})); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return r, nil
}

// openedRecord returns a record that goes on at the end of file.
func openedRecord(file *os.File) *record { return &record{file, json.NewEncoder(file)} }

func (r *record) write(l recordLine) error {
	if err := r.enc.Encode(l); err != nil {
		return fmt.Errorf("suite: write the record: %w", err)
	}
	return nil
}

func (r *record) end(e recordEnd) error {
	return errors.Join(r.write(recordLine{End: &e}), r.file.Close())
}

// thinnedFiles lists the files that a soak keeps of a run that was not as expected, beyond the first keptOfEach of its case and
// ending.
var thinnedFiles = []string{plan.File, reports.VerdictFile, reports.SummaryFile}

// tidy removes what a soak does not keep of a run. A run that was as expected loses its whole folder; beyond the first keptOfEach
// of a case and ending, only thinnedFiles stay. tidy reports whether the run's report is still there.
func (k keptCounts) tidy(dir string, r tally.Run) (kept bool, err error) {
	if dir == "" {
		return false, nil
	}
	if r.Ending == tally.Met {
		return false, os.RemoveAll(dir)
	}
	if k.count(r) {
		return true, nil
	}
	return false, keepRemains(dir)
}

// count counts a run, and reports whether its whole folder is kept.
func (k keptCounts) count(r tally.Run) bool {
	kind := r.Name + "/" + r.Ending.String()
	k[kind]++
	return k[kind] <= keptOfEach
}

// keptCounts counts the runs of each case and ending. Keys are "case/ending".
type keptCounts map[string]int

func keepRemains(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !slices.Contains(thinnedFiles, e.Name()) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	return err
}
