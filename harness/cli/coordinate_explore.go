package cli

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/coordinate"
	"github.com/doublegrant/doublegrant/harness/explore"
	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/doublegrant/doublegrant/harness/results"
	"github.com/doublegrant/doublegrant/harness/workqueue"
	"github.com/doublegrant/doublegrant/harness/workqueue/jetstream"
	"github.com/doublegrant/doublegrant/reports"
)

func (a *app) coordinateExploreCommand() *cobra.Command {
	var f coordinateFlags
	var s searchFlags
	cmd := &cobra.Command{
		Annotations: map[string]string{writesMarkdown: "yes"},

		Use:   "explore [VARIANT | -- COMMAND]",
		Short: "split a search into pieces for workers",
		Long: `Searches as doublegrant explore does, with the same counts, counterexamples and exit codes, but split into
pieces that any number of workers do. If a piece has been lost with three workers, the search ends early.`,
		Example: "  doublegrant coordinate explore lock/watch-multi --clients 4 --for 8h --workers 2\n" +
			"  doublegrant coordinate explore lock/watch-multi --clients 4 --for 8h --listen 10.0.0.5:4222",
		RunE: func(cmd *cobra.Command, args []string) error { return a.coordinateExplore(cmd, &f, &s, args) },
	}
	s.add(cmd)
	a.place.add(cmd)
	f.add(cmd)
	return a.groupFlags(cmd, append([]flagGroup{ofCoordinations}, ofSearches...))
}

func (a *app) coordinateExplore(cmd *cobra.Command, f *coordinateFlags, s *searchFlags, args []string) error {
	server, err := cluster.RedisVersion(a.place.redis)
	if err != nil {
		return err
	}
	task, err := taskOf(cmd, args)
	if err != nil {
		return err
	}
	requested, err := a.searches(cmd, s, false, args)
	if err != nil {
		return err
	}
	head := jetstream.Head{Kind: "explore", Program: version(), Server: server, Task: task, Seed: explore.DrawSeed()}
	work := &coordinate.Work{}
	return a.coordinate(cmd, f, head, work, coordinated{
		do: func(ctx context.Context, q workqueue.Queue, seed uint64, ready func(string) error) error {
			for i := range requested.all {
				// a resumed coordination draws the same schedules
				if s := &requested.all[i]; (s.Random != 0 || s.Clients > interleave.MaxExhaustive) && s.Seed == 0 {
					s.Seed = seed
				}
			}
			return a.searchBy(ctx, q, work, requested, searchHow{ready: ready})
		},
		show: func(dir string) (bool, error) {
			if _, err := os.Stat(filepath.Join(dir, reports.VerdictFile)); err != nil {
				return false, nil
			}
			e, err := results.ReportSearch(dir)
			if err != nil {
				return true, err
			}
			return true, a.showExploration(e, "")
		},
	})
}

// taskOf encodes what is searched: the arguments, and all flags except those about workers and limits. A later
// coordinator uses the result to check that it continues the same search.
func taskOf(cmd *cobra.Command, args []string) ([]byte, error) {
	flags := map[string]string{}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if !slices.Contains(ofCoordinations.flags, f.Name) && !slices.Contains(besideResume, f.Name) {
			flags[f.Name] = f.Value.String()
		}
	})
	return json.Marshal(map[string]any{"args": args, "flags": flags})
}
