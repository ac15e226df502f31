package suite

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/harness/tally"
	"github.com/doublegrant/doublegrant/reports"
)

// cutShort is the reason for an early end of a suite whose record has no last line.
const cutShort = "it was cut short or is still running: suite.jsonl has no end, and the run in progress at that " +
	"moment is not counted"

// Report rewrites the reports of a suite from the record in its results folder. If the suite was killed, they cover
// what was recorded. The error wraps plan.ErrUsage if dir holds no record.
func Report(dir string) (tally.Suite, error) {
	file, err := os.Open(filepath.Join(dir, recordFile))
	if errors.Is(err, os.ErrNotExist) {
		return tally.Suite{}, plan.Usagef("%w", notASuite(dir))
	}
	if err != nil {
		return tally.Suite{}, fmt.Errorf("suite: %w", err)
	}
	defer file.Close()
	was, err := readRecord(file, nil)
	s := was.out
	if err != nil {
		return s, fmt.Errorf("suite: %s: %w", file.Name(), err)
	}
	if run := unfinishedRun(dir); run != "" && s.Ended == cutShort {
		s.Ended += ": its recording is in " + run
	}
	return s, reports.WriteSuite(dir, s)
}

// unfinishedRun returns the name of the newest folder of a run that has a plan but no verdict: the suite was killed
// during that run. The name is empty if each run has a verdict.
func unfinishedRun(dir string) (newest string) {
	plans, _ := filepath.Glob(filepath.Join(dir, "2*", plan.File)) // the pattern is valid; names begin with the year
	for _, p := range plans {
		run := filepath.Dir(p)
		if _, err := os.Stat(filepath.Join(run, reports.VerdictFile)); errors.Is(err, os.ErrNotExist) {
			newest = max(newest, filepath.Base(run))
		}
	}
	return newest
}

// IsFolder reports whether dir is the results folder of a suite.
func IsFolder(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, recordFile))
	return err == nil
}

// notASuite returns an error that says why dir is not the results folder of a suite.
func notASuite(dir string) error {
	if _, err := os.Stat(dir); err != nil {
		return fmt.Errorf("%s is not a results folder: there is no such folder", dir)
	}
	return fmt.Errorf("%s is not the results folder of a suite: it has no %s", dir, recordFile)
}

// recorded holds what a record says.
type recorded struct {
	head       recordHead
	out        tally.Suite
	inPass     map[string]int // number of ended repetitions of each case in the newest pass, which is pass out.Passes
	kept       keptCounts     // counts of all runs that ended
	wholeBytes int64          // length of the record up to the end of its last complete line
}

// readRecord reads a record up to its last complete line. After each line it calls the given function, unless
// that is nil.
func readRecord(r io.Reader, then func(recorded, recordLine) error) (s recorded, err error) {
	s = recorded{out: tally.Suite{Ended: cutShort}, inPass: map[string]int{}, kept: keptCounts{}}
	lines := bufio.NewReader(r)
	for n := 1; ; n++ {
		text, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) { // the rest is a line that was being written when the suite was killed
			if n == 1 {
				return s, errors.New("its first line does not say what was begun")
			}
			return s, nil
		}
		if err != nil {
			return s, err
		}
		var l recordLine
		if err := json.NewDecoder(bytes.NewReader(text)).Decode(&l); err != nil {
			return s, fmt.Errorf("line %d: %w", n, err)
		}
		if (n == 1) != (l.Suite != nil) {
			return s, fmt.Errorf("line %d: only the first line says what was begun", n)
		}
		if err = s.add(l); err == nil && then != nil {
			err = then(s, l)
		}
		if err != nil {
			return s, fmt.Errorf("line %d: %w", n, err)
		}
		s.wholeBytes += int64(len(text))
	}
}

// add applies one line of the record.
func (s *recorded) add(l recordLine) error {
	pass := s.out.Passes
	if err := l.addTo(&s.out); err != nil {
		return err
	}
	if s.out.Passes > pass {
		clear(s.inPass)
	}
	if l.Suite != nil {
		s.head = *l.Suite
	}
	if l.Run != nil && l.Run.Ending != tally.NotRun {
		s.inPass[l.Run.Name]++
		s.kept.count(*l.Run)
	}
	return nil
}

// addTo applies the line to s. The suite changed its own results in the same way when it wrote the line.
func (l recordLine) addTo(s *tally.Suite) error {
	switch {
	case l.Suite != nil && l.Suite.Schema > recordSchema:
		return fmt.Errorf("its schema is %d, and this program reads %d: take a newer doublegrant", l.Suite.Schema,
			recordSchema)
	case l.Suite != nil:
		l.Suite.begin(s)
	case l.Sample != nil:
		s.Elapsed = max(s.Elapsed, l.Sample.At)
		s.Memory.UnderLoad(*l.Sample)
	case l.End != nil:
		s.Elapsed, s.Ended = l.End.At, l.End.Reason
	case l.Resume != nil:
		s.Ended, s.Elapsed = cutShort, l.Resume.At
		s.Resumed++
		s.Memory.Restart(l.Resume.At)
	case l.Run != nil:
		for i := range s.Cases {
			if s.Cases[i].Name == l.Run.Name {
				s.Cases[i].Add(*l.Run)
				s.Passes, s.Elapsed = max(s.Passes, l.Run.Pass), max(s.Elapsed, l.Run.Process.At)
				if s.Shards == nil { // processes of several machines have no common curve
					s.Memory.AfterRun(l.Run.Pass, l.Run.Process)
				}
				return nil
			}
		}
		return fmt.Errorf("the suite has no run %q", l.Run.Name)
	}
	return nil
}

// begin fills in what is known of a suite before its first run.
func (h recordHead) begin(s *tally.Suite) {
	s.Name, s.Started, s.For, s.Cases = h.Name, h.Started, h.For, h.cases()
	s.Version, s.Fingerprint, s.Servers, s.Shards = h.Version, h.Fingerprint, h.Servers, h.Shards
	if h.Shard != nil {
		s.Shard = &h.Shard.Shard
	}
	for _, one := range h.Shards {
		s.Memory.Max = max(s.Memory.Max, one.RSS)
	}
}

// cases lists the suite's cases, before any run.
func (h recordHead) cases() (all []tally.Case) {
	for _, c := range h.Cases {
		all = append(all, tally.Case{Name: c.Name, Variant: c.Variant, Expected: c.Expected})
	}
	return all
}
