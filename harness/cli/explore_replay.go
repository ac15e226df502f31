package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/doublegrant/doublegrant/harness/explore"
	"github.com/doublegrant/doublegrant/harness/results"
	"github.com/doublegrant/doublegrant/reports"
	"github.com/doublegrant/doublegrant/workloads"
)

// replayFlags hold the flags of a replay.
type replayFlags struct {
	from  string // path of a file, or a recipe
	times int
}

// replay runs a counterexample again.
func (a *app) replay(cmd *cobra.Command, r replayFlags, args []string) error {
	args, client, err := a.client(cmd, args)
	if err != nil {
		return err
	}
	if len(args) > 1 {
		return usage("%d variants given: a replay needs none, since it knows its own", len(args))
	}
	variant := ""
	if len(args) == 1 {
		variant = args[0]
	}
	var script *workloads.Script
	if client == nil {
		if script, err = a.flags.script.script(); err != nil {
			return err
		}
	}
	out, err := results.Replay(cmd.Context(),
		results.Again{From: r.from, Variant: variant, Script: script, Client: client, Times: r.times}, a.options())
	if errors.Is(err, explore.ErrDiverged) {
		if a.code = a.failed(ExitUnknown, err); !a.json {
			a.println("UNKNOWN  %s", message(err))
		}
		return nil
	}
	if err != nil {
		return err
	}
	a.code = ExitInvalid
	switch {
	case a.json:
		return a.printJSON(out)
	case a.markdown:
		return reports.IssueMarkdown(a.out, out.Exploration)
	}
	c := out.Counterexample
	a.println("INVALID  %s: %s in %d steps, the same %d of %d times\n", out.Variant, c.Anomaly.Class, c.Length(),
		r.times, r.times)
	a.println("%s  %s", c.Text(), c.Anomaly.Note)
	if again := out.Exploration.PassOn(c); again != "" {
		a.println("  replay anywhere: %s", again)
	}
	return nil
}
