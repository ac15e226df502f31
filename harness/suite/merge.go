package suite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/harness/results"
	"github.com/doublegrant/doublegrant/harness/tally"
)

// Merge merges the results of all shards of a suite. Each folder is the results folder of a shard, or holds results
// folders of shards at any depth.
//
// It makes a new results folder in root (default "results"), and returns the suite's results and that folder. The
// folder has the files of a suite that ran on one machine, and a copy of each shard's folder. Its links lead into these
// copies. The shards' own folders stay unchanged. If a shard ended early, so did the suite.
//
// The error wraps plan.ErrUsage if a shard is missing, is there twice, or is of another suite, program or server than
// the others. After an error the new folder is removed, unless only its reports could not be written.
func Merge(ctx context.Context, folders []string, root string) (tally.Suite, string, error) {
	shards, err := readShards(folders)
	if err != nil {
		return tally.Suite{}, "", err
	}
	if err := checkFit(shards); err != nil {
		return tally.Suite{}, "", err
	}
	dir, err := results.NewFolder(root, suiteFolder(shards[0].head.Name))
	if err != nil {
		return tally.Suite{}, "", err
	}
	if err := assemble(ctx, dir, shards); err != nil {
		return tally.Suite{}, "", errors.Join(err, os.RemoveAll(dir))
	}
	out, err := Report(dir)
	return out, dir, errors.Join(err, results.LinkLatest(dir))
}

// assemble copies the shards into dir, and writes the suite's record there, made from the shards' records.
func assemble(ctx context.Context, dir string, shards []shardRecord) error {
	for _, s := range shards {
		if err := copyFolder(ctx, filepath.Join(dir, s.folder()), s.dir); err != nil {
			return fmt.Errorf("suite: copy %v: %w", s, err)
		}
	}
	end := recordEnd{At: longestElapsed(shards), Reason: endedEarly(shards)}
	return writeRecord(dir, headOf(shards), inOrder(shards, dir), end)
}

// headOf returns the first line of the record of a merged suite.
func headOf(shards []shardRecord) recordHead {
	first := shards[0].head
	head := recordHead{Name: first.Name, Started: first.Started, For: first.For, Version: first.Version,
		Fingerprint: first.Fingerprint,
		Servers:     map[string]string{}, Cases: make([]recordCase, len(first.Shard.Whole))}
	for _, s := range shards {
		if s.head.Started.Before(head.Started) {
			head.Started = s.head.Started
		}
		maps.Copy(head.Servers, s.head.Servers)
		for _, c := range s.head.Cases {
			c.Turns = nil
			head.Cases[first.Shard.index(c.Name)] = c
		}
		head.Shards = append(head.Shards, tally.ShardResult{
			Shard: s.head.Shard.Shard, Folder: s.folder(), Started: s.head.Started, Elapsed: s.out.Elapsed,
			Runs:  len(s.runs),
			Ended: s.out.Ended, Resumed: s.out.Resumed, RSS: s.out.Memory.Max,
		})
	}
	return head
}

// inOrder lists the runs of all shards in the order of a suite on one machine. Their links and commands point into dir.
func inOrder(shards []shardRecord, dir string) (all []tally.Run) {
	order := shards[0].head.Shard
	var runs []recordedRun
	for _, s := range shards {
		for _, run := range s.runs {
			if run.Link != "" {
				run.Link = path.Join(s.folder(), run.Link)
			}
			run.Command = withFolder(run.Command, s.head.Folder, filepath.Join(dir, s.folder()))
			runs = append(runs, run)
		}
	}
	slices.SortStableFunc(runs, func(a, b recordedRun) int {
		return cmp.Or(cmp.Compare(a.Pass, b.Pass), cmp.Compare(order.index(a.Name), order.index(b.Name)),
			cmp.Compare(a.turn, b.turn))
	})
	for _, run := range runs {
		all = append(all, run.Run)
	}
	return all
}

// withFolder replaces one folder by another in the paths of a command line. If either folder needs quotes in a shell,
// the command line stays as it is.
func withFolder(command, from, to string) string {
	if from == "" || plan.CommandLine(from, to) != from+" "+to {
		return command
	}
	return strings.ReplaceAll(command, from+"/", to+"/")
}

// endedEarly describes which shards ended early, and why; empty if none did.
func endedEarly(shards []shardRecord) string {
	var all []string
	for _, s := range shards {
		if s.out.Ended != "" {
			all = append(all, fmt.Sprintf("shard %v: %s", s.head.Shard, s.out.Ended))
		}
	}
	return strings.Join(all, "; ")
}

// longestElapsed returns the time of the shard that took longest.
func longestElapsed(shards []shardRecord) (most time.Duration) {
	for _, s := range shards {
		most = max(most, s.out.Elapsed)
	}
	return most
}

// folder returns the name of the shard's folder within the merged suite's folder.
func (s shardRecord) folder() string { return fmt.Sprintf("shard-%d", s.head.Shard.Number) }

// copyFolder copies one folder (the parameter from) to a new one (the parameter into). It skips links and other special
// files.
func copyFolder(ctx context.Context, into, from string) error {
	root, err := filepath.EvalSymlinks(from) // WalkDir follows no link, not even the root
	if err != nil {
		return err
	}
	return filepath.WalkDir(root, func(name string, e fs.DirEntry, err error) error {
		if err := cmp.Or(err, ctx.Err()); err != nil { // histories may be large
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		switch target := filepath.Join(into, rel); {
		case e.IsDir():
			return os.MkdirAll(target, 0o755)
		case e.Type().IsRegular():
			return copyFile(target, name)
		}
		return nil
	})
}

func copyFile(into, from string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenFile(into, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Close())
}
