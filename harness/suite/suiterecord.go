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

	recordSchema = 1 // number that is raised when older programs can no longer read a record

	keptOfEach = 10 // for each case and ending, the number of runs whose whole folders a soak keeps
)

// record writes suite.jsonl while the suite runs, so that a killed soak leaves its results.
type record struct {
	file *os.File
	enc  *json.Encoder
}

// recordLine is a line of suite.jsonl. Exactly one field is set.
type recordLine struct {
	Suite  *recordHead   `json:"suite,omitempty"`
	Run    *tally.Run    `json:"run,omitempty"`
	Sample *tally.Sample `json:"sample,omitempty"`
	End    *recordEnd    `json:"end,omitempty"`
	Resume *recordResume `json:"resume,omitempty"`
}

// recordHead is the first line: the suite as it began.
type recordHead struct {
	Schema  int           `json:"schema,omitempty"` // recordSchema; 0 in records of versions before 0.1.0
	Name    string        `json:"name"`
	Started time.Time     `json:"started"`
	For     time.Duration `json:"for,omitempty"`
	Cases   []recordCase  `json:"cases"`

	// A suite is resumed only by the same version and with the same fingerprint. Both are empty in older records.
	Version     string `json:"version,omitempty"`
	Fingerprint string `json:"fingerprint,omitempty"` // fingerprint of the whole suite, even in a shard's record

	Servers map[string]string `json:"servers,omitempty"` // as in tally.Suite
	// Path of the results folder, as it is written in recorded commands.
	Folder string              `json:"folder,omitempty"`
	Shard  *recordShard        `json:"shard,omitempty"`  // which part of a suite was recorded; nil: the whole suite
	Shards []tally.ShardResult `json:"shards,omitempty"` // the parts that were merged
}

// recordCase is a case: an entry of the suite's file.
type recordCase struct {
	Name     string `json:"name"`
	Variant  string `json:"variant"`
	Expected string `json:"expected"`
	Turns    []int  `json:"turns,omitempty"` // numbers of repetitions that a shard runs in each pass, from 0, in order
}

// recordShard says which part of a suite was recorded, so that Merge can notice missing parts.
type recordShard struct {
	tally.Shard
	Whole []recordWhole `json:"whole"` // all runs of the suite, in its order
}

// recordWhole is one run of the whole suite, in the record of a shard.
type recordWhole struct {
	Name  string `json:"name"`
	Times int    `json:"times"` // number of repetitions in a pass
}

// recordEnd is the line with which a suite ends. After it come more lines only if the suite was resumed. It is missing
// while the suite runs, and if the suite was killed: see Report.
type recordEnd struct {
	At     time.Duration `json:"at"`
	Ending tally.Ending  `json:"ending"`
	Reason string        `json:"reason,omitempty"`
}

// recordResume marks where another process resumed the suite.
type recordResume struct {
	At      time.Duration `json:"at"` // time since the start, without the time in which no process ran the suite
	Started time.Time     `json:"started"`
}

func newRecord(dir string, head recordHead) (*record, error) {
	head.Schema = recordSchema
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

// writeRecord writes the record of a suite that ran elsewhere. It computes the Ending of the last line from the runs.
func writeRecord(dir string, head recordHead, runs []tally.Run, end recordEnd) error {
	out := tally.Suite{Ended: end.Reason}
	head.begin(&out)
	record, err := newRecord(dir, head)
	if err != nil {
		return err
	}
	for _, run := range runs {
		line := recordLine{Run: &run}
		if err := errors.Join(line.addTo(&out), record.write(line)); err != nil {
			return errors.Join(err, record.file.Close())
		}
	}
	end.Ending = out.Ending()
	return record.end(end)
}

// openedRecord returns a record that appends to the given file.
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

// thinnedFiles lists the files that a soak keeps of a run that was not as expected, once it has kept keptOfEach whole
// folders of the same case and ending.
var thinnedFiles = []string{plan.File, reports.VerdictFile, reports.SummaryFile}

// tidy removes those files of a run that a soak does not keep. A run that was as expected loses its whole folder.
// Beyond the first keptOfEach of a case and ending, only thinnedFiles stay. It reports whether the run's report is
// still there.
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
	return false, thinOut(dir)
}

// count counts a run, and reports whether its whole folder is kept.
func (k keptCounts) count(r tally.Run) bool {
	kind := r.Name + "/" + r.Ending.String()
	k[kind]++
	return k[kind] <= keptOfEach
}

// keptCounts counts runs, to bound how many folders a soak keeps. Keys are "case/ending".
type keptCounts map[string]int

func thinOut(dir string) error {
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
