package suite

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/harness/tally"
)

// Fingerprint returns a hash of the suite's runs, scripts and expectations. Two readings of one file have the same
// fingerprint. The folders of scripts do not matter.
func (s Suite) Fingerprint() (string, error) {
	hash := sha256.New()
	enc := yaml.NewEncoder(hash)
	for _, r := range s.Runs {
		r.Plan = r.Plan.WithoutFiles()
		if err := enc.Encode(r); err != nil {
			return "", fmt.Errorf("suite: %w", err)
		}
	}
	return hex.EncodeToString(hash.Sum(nil)[:8]), enc.Close()
}

// checkFits compares the record with the head of the suite that is about to run. It returns an error if the suite, the
// program or a server differs, since the recorded suite cannot be resumed in that case.
func (s recorded) checkFits(dir string, now recordHead) error {
	const anew = "leave --resume out to start over"
	refuse := func(format string, args ...any) error {
		return plan.Usagef("%s cannot be resumed: %s", dir, fmt.Sprintf(format, args...))
	}
	switch was := s.head; {
	case was.Shards != nil:
		return refuse("merge made it from %d shards: resume the interrupted shard, and merge again",
			len(was.Shards))
	case was.Fingerprint == "":
		return refuse("an older doublegrant began it and did not record what resuming needs: %s", anew)
	case was.Name != now.Name:
		return refuse("it belongs to the suite %q, not to %q: name the right file, or %s", was.Name, now.Name, anew)
	case was.Fingerprint != now.Fingerprint:
		return refuse("the runs, scripts or expectations of its suite differ from this file's: restore the file and "+
			"its --only, or %s", anew)
	case was.shard() != now.shard():
		return refuse("it was begun with %s: use the same, or %s", shardWords(was.Shard), anew)
	case was.Version != now.Version:
		return refuse("%s began it, and this is %s: use the former, or %s", was.Version, now.Version, anew)
	case was.Servers != nil && !maps.Equal(was.Servers, now.Servers):
		return refuse("it was begun on %s, and this is %s: use the former, or %s", serverWords(was.Servers),
			serverWords(now.Servers), anew)
	case now.For != 0 && now.For != was.For:
		return refuse("it was begun with %s: use the same, or leave --for out", forWords(was.For))
	case s.out.Ended == "":
		return refuse("it is complete, so nothing is left to run: %s", anew)
	}
	return nil
}

// shard returns the shard that was recorded; the zero Shard if the whole suite was recorded.
func (h recordHead) shard() (s tally.Shard) {
	if h.Shard != nil {
		s = h.Shard.Shard
	}
	return s
}

// shardWords describes which part of a suite was begun.
func shardWords(s *recordShard) string {
	if s == nil {
		return "no --shard"
	}
	return "--shard " + s.String()
}

// forWords describes the time that was requested for a suite.
func forWords(d time.Duration) string {
	if d == 0 {
		return "no --for"
	}
	return "--for " + d.String()
}

// resume opens the results folder of a suite that was interrupted or killed. The suite continues with the run after the
// last one in the record. A line that was only partly written is dropped.
func (s Suite) resume(how Options, now recordHead) (*suiteRunner, error) {
	dir, err := filepath.EvalSymlinks(how.Resume) // a link such as results/latest will soon point elsewhere
	if err != nil || !IsFolder(dir) {
		return nil, plan.Usagef("--resume: %w", notASuite(how.Resume))
	}
	file, err := os.OpenFile(filepath.Join(dir, recordFile), os.O_RDWR|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("suite: %w", err)
	}
	r, err := s.resumeFrom(file, dir, how, now)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return r, nil
}

func (s Suite) resumeFrom(file *os.File, dir string, how Options, now recordHead) (*suiteRunner, error) {
	if err := lockRecord(file); err != nil {
		return nil, plan.Usagef("%s cannot be resumed: it is still running: wait for its end", dir)
	}
	was, err := readRecord(file, nil)
	if err != nil {
		return nil, fmt.Errorf("suite: %s: %w", file.Name(), err)
	}
	if err := was.checkFits(dir, now); err != nil {
		return nil, err
	}
	if err := file.Truncate(was.wholeBytes); err != nil {
		return nil, fmt.Errorf("suite: %w", err)
	}
	how.For = was.head.For
	r := &suiteRunner{Suite: s, how: how, dir: dir, out: was.out, kept: was.kept, done: was.inPass}
	for _, c := range was.out.Cases {
		r.ended += c.Runs
	}
	r.out.Ended, r.out.Passes = "", max(0, r.out.Passes-1) // runAll begins that pass again, with the rest of its runs
	r.before, r.began = was.out.Elapsed, time.Now()
	r.record = openedRecord(file)
	line := recordLine{Resume: &recordResume{At: r.before, Started: r.began}}
	if err := line.addTo(&r.out); err != nil {
		return nil, err
	}
	r.out.Ended = ""
	return r, r.record.write(line)
}

// lockRecord locks the record for this process, until the file is closed or the process ends.
func lockRecord(file *os.File) error {
	return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}
