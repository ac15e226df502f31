package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/doublegrant/doublegrant/harness/explore"
	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/doublegrant/doublegrant/harness/results"
	"github.com/doublegrant/doublegrant/reports"
	"github.com/doublegrant/doublegrant/workloads"
)

type replayFlags struct {
	from  string // path of a counterexample's file, or a recipe
	times int
}

// checkReplay refuses flags that a replay cannot have.
func (f *exploreFlags) checkReplay() error {
	if f.pieces != (pieceFlags{}) {
		return usage("--save, --resume and --workers are for searches: leave them out of a replay")
	}
	v := &f.variant
	if f.all || v.script.file+v.adapter.line+v.adapter.connect != "" && !interleave.IsRecipe(f.replay.from) {
		return usage("a replay reads everything from its file: leave --script, --adapter and --all out")
	}
	return nil
}

// replayed is the JSON output of the command explore --replay.
type replayed struct {
	reports.Head
	results.Replayed
}

// mayBeMended is the advice after a replay whose steps differ from those of the recorded counterexample.
const mayBeMended = "If the code has changed since, this may be mended: search again to be sure."

// replay runs a counterexample again.
func (a *app) replay(cmd *cobra.Command, f *exploreFlags, args []string) error {
	if err := f.checkReplay(); err != nil {
		return err
	}
	args, adapter, err := f.variant.readAdapter(cmd, args)
	if err != nil {
		return err
	}
	if len(args) > 1 {
		return usage("%d variants given: leave them out, since a replay reads its variant from its file", len(args))
	}
	variant := ""
	if len(args) == 1 {
		variant = args[0]
	}
	var script *workloads.Script
	if adapter == nil {
		if script, err = f.variant.script.read(); err != nil {
			return err
		}
	}
	out, err := results.Replay(cmd.Context(),
		results.ReplayOptions{From: f.replay.from, Variant: variant, Script: script, Adapter: adapter,
			Times: f.replay.times}, a.options())
	if errors.Is(err, explore.ErrDiverged) {
		if a.code = a.failed(ExitUnknown, err); !a.json {
			fmt.Fprint(a.out, a.layout().Fold("UNKNOWN  ", strings.TrimSuffix(message(err), ".")+". "+mayBeMended))
		}
		return nil
	}
	if err != nil {
		return err
	}
	a.code = ExitInvalid
	switch {
	case a.json:
		return a.printJSON(replayed{reports.HeadOf("replay"), out})
	case a.markdown:
		return reports.IssueMarkdown(a.out, out.Exploration)
	}
	return reports.ReplayText(a.out, out.Exploration, out.Counterexample, f.replay.times, a.layout())
}
