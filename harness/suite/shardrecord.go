package suite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/harness/results"
	"github.com/doublegrant/doublegrant/harness/tally"
)

type shardRecord struct {
	recorded
	dir  string
	runs []recordedRun // runs that ended, in order
}

// recordedRun is a recorded run, and its index among the repetitions of the whole suite.
type recordedRun struct {
	tally.Run
	turn int
}

// readShard reads the record of the shard in dir. The error wraps plan.ErrUsage if dir is not the folder of a shard.
func readShard(dir string) (s shardRecord, err error) {
	file, err := os.Open(filepath.Join(dir, recordFile))
	if err != nil {
		return s, fmt.Errorf("suite: %w", err)
	}
	defer file.Close()
	s.dir = dir
	if s.recorded, err = readRecord(file, s.addRun); err != nil {
		return s, fmt.Errorf("suite: %s: %w", file.Name(), err)
	}
	switch {
	case s.head.Shards != nil:
		return s, plan.Usagef("%s was merged from %d shards: name the folders of the shards", dir,
			len(s.head.Shards))
	case s.head.Shard == nil:
		return s, plan.Usagef("%s is the results folder of a whole suite, and only shards can be merged: see suite "+
			"--shard",
			dir)
	}
	if left := s.countUnrun(); left > 0 && s.out.Ended == "" {
		s.out.Ended = fmt.Sprintf("%d of its runs have no record", left)
	}
	return s, nil
}

// addRun adds the run that a line of the record holds, if that run ended. The first parameter holds what the record
// says up to this line.
func (s *shardRecord) addRun(was recorded, l recordLine) error {
	if l.Suite != nil {
		return l.Suite.checkShard()
	}
	if l.Run == nil || l.Run.Ending == tally.NotRun || was.head.Shard == nil {
		return nil
	}
	i := slices.IndexFunc(was.head.Cases, func(c recordCase) bool { return c.Name == l.Run.Name }) // addTo has found it
	turns, ended := was.head.Cases[i].Turns, was.inPass[l.Run.Name]
	if ended > len(turns) {
		return fmt.Errorf("pass %d has more runs of %q than this shard contains", l.Run.Pass, l.Run.Name)
	}
	if l.Run.Link != "" && !filepath.IsLocal(filepath.FromSlash(l.Run.Link)) {
		return fmt.Errorf("the report of %q is not in this folder", l.Run.Name)
	}
	s.runs = append(s.runs, recordedRun{*l.Run, turns[ended-1]})
	return nil
}

// checkShard returns an error if the first line of a shard's record contradicts itself.
func (h recordHead) checkShard() error {
	if h.Shard == nil {
		return nil
	}
	if h.Shard.Number < 1 || h.Shard.Number > h.Shard.Of {
		return fmt.Errorf("there is no shard %v", h.Shard)
	}
	for _, c := range h.Cases {
		i := h.Shard.index(c.Name)
		if i < 0 || len(c.Turns) == 0 || c.Turns[0] < 0 || c.Turns[len(c.Turns)-1] >= h.Shard.Whole[i].Times ||
			!slices.IsSorted(c.Turns) {
			return fmt.Errorf("%q is not a run of the suite, or has fewer repetitions", c.Name)
		}
	}
	return nil
}

// index returns the index of a run in the whole suite; -1 if the suite has no such run.
func (s recordShard) index(name string) int {
	return slices.IndexFunc(s.Whole, func(w recordWhole) bool { return w.Name == name })
}

// countUnrun counts the runs of the first pass that are not in the record.
func (s shardRecord) countUnrun() (n int) {
	for _, c := range s.head.Cases {
		n += len(c.Turns)
	}
	for _, r := range s.runs {
		if r.Pass == 1 {
			n--
		}
	}
	return n
}

// String names the shard and its folder, for errors.
func (s shardRecord) String() string { return fmt.Sprintf("shard %v in %s", s.head.Shard, s.dir) }

// readShards reads the shards at or below the folders, sorted by number. It skips whole suites and merged ones. The
// error wraps plan.ErrUsage.
func readShards(folders []string) (all []shardRecord, err error) {
	seen := map[string]bool{}
	for _, folder := range folders {
		dirs, err := suitesIn(folder)
		if err != nil {
			return nil, err
		}
		found := 0
		for _, dir := range dirs {
			s, err := readShard(dir)
			if errors.Is(err, plan.ErrUsage) && dir != folder {
				continue
			}
			if err != nil {
				return nil, err
			}
			found++
			// one folder may be named twice, or by two paths
			if real, err := filepath.EvalSymlinks(dir); err == nil && !seen[real] {
				seen[real] = true
				all = append(all, s)
			}
		}
		if found == 0 {
			return nil, plan.Usagef("no shard is in %s: name the results folders of suite --shard, or a folder that "+
				"contains them", folder)
		}
	}
	slices.SortStableFunc(all, func(a, b shardRecord) int { return a.head.Shard.Number - b.head.Shard.Number })
	return all, nil
}

// suitesIn lists the results folders of suites at and below folder. It does not follow links. It skips folders called
// latest, since CI systems store the link latest as a second copy of its target.
func suitesIn(folder string) (dirs []string, err error) {
	if _, err := os.Stat(folder); err != nil {
		return nil, plan.Usagef("%s: there is no such folder: name the results folders of suite --shard, or a "+
			"folder that contains them", folder)
	}
	if IsFolder(folder) {
		return []string{folder}, nil
	}
	root, err := filepath.EvalSymlinks(folder) // WalkDir follows no link, not even the root
	if err != nil {
		return nil, fmt.Errorf("suite: %w", err)
	}
	err = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fmt.Errorf("suite: %w", err)
		case !e.IsDir():
			return nil
		case path != root && e.Name() == results.Latest:
			return filepath.SkipDir
		case IsFolder(path):
			dirs = append(dirs, path)
			return filepath.SkipDir
		}
		return nil
	})
	return dirs, err
}
