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
	"github.com/doublegrant/doublegrant/harness/suite/tally"
	"github.com/doublegrant/doublegrant/reports"
)

// cutShort is the reason that is given for a suite whose record has no end.
const cutShort = "it was cut short, or is still under way: suite.jsonl stops before the suite did, and the run of that moment is not counted"

// Report writes the reports of a suite again, from the record in its results folder. If the suite was killed, they cover as much
// as the record has. The error wraps plan.ErrUsage if dir holds no record.
func Report(dir string) (tally.Suite, error) {
	file, err := os.Open(filepath.Join(dir, recordFile))
	if errors.Is(err, os.ErrNotExist) {
		return tally.Suite{}, plan.Usagef("%s is no results folder of a suite: it has no %s", dir, recordFile)
	}
	if err != nil {
		return tally.Suite{}, fmt.Errorf("suite: %w", err)
	}
	defer file.Close()
	s, err := readRecord(file)
	if err != nil {
		return s, fmt.Errorf("suite: %s: %w", file.Name(), err)
	}
	return s, reports.WriteSuite(dir, s)
}

// IsFolder reports whether dir is the results folder of a suite.
func IsFolder(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, recordFile))
	return err == nil
}

// readRecord reads a record up to its last whole line.
func readRecord(r io.Reader) (s tally.Suite, err error) {
	s.Ended = cutShort
	lines := bufio.NewReader(r)
	for n := 1; ; n++ {
		text, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) { // the rest is a line that the suite was writing when it was killed
			if n == 1 {
				return s, errors.New("it does not say what was begun")
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
			return s, fmt.Errorf("line %d: what was begun belongs in the first line, and nowhere else", n)
		}
		if err := l.addTo(&s); err != nil {
			return s, fmt.Errorf("line %d: %w", n, err)
		}
	}
}

// addTo changes s as the suite did when it wrote the line.
func (l recordLine) addTo(s *tally.Suite) error {
	switch {
	case l.Suite != nil:
		s.Name, s.Started, s.For, s.Cases = l.Suite.Name, l.Suite.Started, l.Suite.For, l.Suite.cases()
	case l.Sample != nil:
		s.Elapsed = max(s.Elapsed, l.Sample.At)
		s.Memory.UnderLoad(*l.Sample)
	case l.End != nil:
		s.Elapsed, s.Ended = l.End.At, l.End.Reason
	case l.Run != nil:
		for i := range s.Cases {
			if s.Cases[i].Name == l.Run.Name {
				s.Cases[i].Add(*l.Run)
				s.Passes, s.Elapsed = max(s.Passes, l.Run.Pass), max(s.Elapsed, l.Run.Process.At)
				s.Memory.AfterRun(l.Run.Pass, l.Run.Process)
				return nil
			}
		}
		return fmt.Errorf("%q is none of the suite's runs", l.Run.Name)
	}
	return nil
}

// cases lists the suite's cases, none of which has run yet.
func (h recordHead) cases() (all []tally.Case) {
	for _, c := range h.Cases {
		all = append(all, tally.Case{Name: c.Name, Variant: c.Variant, Expected: c.Expected})
	}
	return all
}
