package cli

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/coordinate"
	"github.com/doublegrant/doublegrant/harness/suite"
	"github.com/doublegrant/doublegrant/harness/workqueue"
	"github.com/doublegrant/doublegrant/harness/workqueue/jetstream"
)

func (a *app) coordinateSuiteCommand() *cobra.Command {
	var f coordinateFlags
	var only string
	cmd := &cobra.Command{
		Use:   "suite FILE...",
		Short: "spread a suite over workers, each repetition of a run as a unit",
		Long: `Spreads the runs of a suite over workers, and writes the results folder that one machine would have written.
The exit codes are those of doublegrant suite. A run that was lost with three workers counts as not run: the suite is
then unknown, or failed if another run was not as expected.`,
		Example: "  doublegrant coordinate suite mine.yaml --workers 2\n" +
			"  doublegrant coordinate suite mine.yaml --listen 10.0.0.5:4222\n" +
			"  doublegrant coordinate suite mine.yaml --nats tls://nats.example:4222 --credentials team.creds --name " +
			"nightly",
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := readSuites(args, only)
			if err != nil {
				return err
			}
			return a.coordinateSuite(cmd, &f, s)
		},
	}
	cmd.Flags().StringVar(&only, "only", "", "run only those whose names match this regular expression")
	a.place.add(cmd)
	f.add(cmd)
	return a.groupFlags(cmd, []flagGroup{ofCoordinations})
}

// coordinateSuite lets workers run a suite. The coordinator itself needs no Redis. If its machine has one, all workers
// need the same version of Redis.
func (a *app) coordinateSuite(cmd *cobra.Command, f *coordinateFlags, s suite.Suite) error {
	server, err := cluster.RedisVersion(a.place.redis)
	if err != nil && cmd.Flags().Changed("redis-server") {
		return err
	}
	if server != "" {
		if err := s.TryScripts(cmd.Context(), a.options()); err != nil {
			return err
		}
	}
	hash, err := s.Fingerprint()
	if err != nil {
		return err
	}
	task, err := json.Marshal(map[string]string{"suite": s.Name, "hash": hash})
	if err != nil {
		return err
	}
	head := jetstream.Head{Kind: "suite", Program: version(), Server: server, Task: task}
	work := &coordinate.Work{}
	return a.coordinate(cmd, f, head, work, coordinated{
		do: func(ctx context.Context, q workqueue.Queue, _ uint64, ready func(string) error) error {
			out, dir, err := coordinate.Suite(ctx, q, s, coordinate.SuiteOptions{
				Results: a.place.results, Version: version(), Server: server, Work: work, End: a.runEnded, Ready: ready,
			})
			if dir == "" {
				return err
			}
			return errors.Join(err, a.showSuite(out, dir))
		},
		show: func(dir string) (bool, error) {
			if !suite.IsFolder(dir) {
				return false, nil
			}
			out, err := suite.Report(dir)
			return true, errors.Join(err, a.showSuite(out, dir))
		},
	})
}

// runEnded prints the result of a run that a worker made.
func (a *app) runEnded(e coordinate.EndedRun) {
	what := e.Why
	if what == "" {
		what = suiteLine(e.Run) + ", by " + e.Run.Worker
		if len(e.Failed) > 0 {
			what += ", after " + strings.Join(e.Failed, "; ")
		}
	}
	a.sayPlain("[%d/%d] %s\n      %s", e.Done, e.Of, e.Run.Name, what)
}
