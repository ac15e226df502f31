package suite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness/results"
	"github.com/doublegrant/doublegrant/harness/suite/tally"
)

// This file is for those who hand a suite out in shards of one repetition each, and get their results folders back.

// Repetitions returns the number of shards of which each is one repetition of one run: the most into which the suite can be split.
func (s Suite) Repetitions() int { return len(s.units()) }

// TryScripts tries every script of the suite on a Redis of this machine, so that a broken one is reported before its runs are handed out.
// The error wraps plan.ErrUsage.
func (s Suite) TryScripts(ctx context.Context, o results.Options) error {
	var scripts Suite
	for _, r := range s.Runs {
		if r.Script != nil {
			scripts.Runs = append(scripts.Runs, r)
		}
	}
	return scripts.tryScripts(ctx, o)
}

// Claim returns what a shard of one repetition that is run twice has to have in common: whether the run was as expected. Under load nothing
// else is the same each time. It is empty if the shard tells nothing: its environment failed, it was interrupted, or its verdict is unknown
// though one was expected.
func Claim(dir string) (string, error) {
	s, err := readShard(dir)
	if err != nil {
		return "", err
	}
	var all []string
	for _, run := range s.runs {
		if run.Ending != tally.Met && run.Ending != tally.NotMet {
			return "", nil
		}
		all = append(all, fmt.Sprintf("%s, repetition %d: %s", run.Name, run.turn+1, run.Ending))
	}
	if s.out.Ended != "" {
		return "", nil
	}
	return strings.Join(all, "; "), nil
}

// CheckReturned returns an error unless dir is the results folder of this shard, run by the program of that version. It returns the runs
// that the shard made.
func (s Suite) CheckReturned(dir, version string) (runs []tally.Run, err error) {
	if s.part == nil {
		return nil, errors.New("suite: it is no shard")
	}
	was, err := readShard(dir)
	if err != nil {
		return nil, err
	}
	h := was.head
	switch {
	case h.Shard.Shard != s.part.Shard || h.Fingerprint != s.part.fingerprint || h.Name != s.Name:
		return nil, fmt.Errorf("suite: it is shard %v of %q (%s), not %v of %q (%s)", h.Shard, h.Name, h.Fingerprint, s.part.Shard, s.Name, s.part.fingerprint)
	case h.Version != version:
		return nil, fmt.Errorf("suite: it was run by %s, not by %s", h.Version, version)
	}
	for _, r := range was.runs {
		runs = append(runs, r.Run)
	}
	return runs, nil
}

// Servers says what the nodes of a shard's runs were, by platform, as its record has it: see tally.Suite. The error says what is wrong with the record.
func Servers(dir string) (map[string]string, error) {
	s, err := readShard(dir)
	return s.head.Servers, err
}

// WriteUnrun writes into the folder dir, which it makes, the record of a shard that did not run, and why. Merge takes it as it takes one
// that ended early.
func (s Suite) WriteUnrun(dir, version, why string) error {
	head, err := s.head(Options{Version: version})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("suite: %w", err)
	}
	record, err := newRecord(dir, head)
	if err != nil {
		return err
	}
	return record.end(recordEnd{Reason: why})
}

// Doubt notes in the record of a shard that it cannot be relied on, and why: the suite that Merge makes of it ended early.
func Doubt(dir, why string) error {
	s, err := readShard(dir)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(filepath.Join(dir, recordFile), os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("suite: %w", err)
	}
	return openedRecord(file).end(recordEnd{At: max(s.out.Elapsed, time.Nanosecond), Ending: s.out.Ending(), Reason: why})
}
