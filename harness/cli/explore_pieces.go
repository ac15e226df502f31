package cli

import (
	"cmp"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/doublegrant/doublegrant/harness/explore"
	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/harness/results"
)

// pieceFlags hold the flags of a search that is saved, resumed, or split into pieces.
type pieceFlags struct {
	save, resume string
	workers      int
}

func (p *pieceFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&p.save, "save", "", "if the search ends early, write the remaining work to this file, for --resume")
	f.StringVar(&p.resume, "resume", "",
		"continue the search in this file, and save it there again (or to the file of --save)")
	f.IntVar(&p.workers, "workers", 0, "split the search into pieces for this many workers in this process, 1 to 8, "+
		"as coordinate explore does (default: not split)")
}

// besideResume lists the flags that may be given with --resume. All other flags are taken from the saved search.
var besideResume = []string{"resume", "save", "workers", "for", "max-schedules", "situation", "results", "redis-server",
	"output", "color", "no-color"}

func (p *pieceFlags) check(cmd *cobra.Command, all bool, args []string) error {
	if cmd.Flags().Changed("workers") && (p.workers < 1 || p.workers > explore.MaxWorkers) {
		return usage("--workers %d: ask for 1 to %d", p.workers, explore.MaxWorkers)
	}
	if all && (p.save != "" || p.workers > 0) {
		return usage("--save and --workers are for one search: name a variant instead of --all")
	}
	if p.resume == "" {
		return nil
	}
	if len(args) > 0 {
		return usage("--resume reads the variant from its file: leave %s out", args[0])
	}
	other := ""
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if !slices.Contains(besideResume, f.Name) {
			other = cmp.Or(other, f.Name)
		}
	})
	if other != "" {
		return usage("--resume reads the search from its file, except its limits (--for, --max-schedules): leave "+
			"--%s out", other)
	}
	return nil
}

// resumed returns the search in the file of --resume, with the limits For and MaxSchedules of the argument limits.
// Without --save, it sets p.save to the same file. Without --workers, it sets p.workers to 1 if the search began in
// pieces.
func (p *pieceFlags) resumed(limits plan.Search) (s plan.Search, from *results.Saved, err error) {
	saved, err := results.ReadSearch(p.resume)
	if err != nil {
		return s, nil, err
	}
	switch in := saved.Checkpoint.InPieces(); {
	case in && p.workers == 0:
		p.workers = 1
	case !in && p.workers > 0:
		return s, nil, usage("%s: this search was not begun with --workers, so it cannot continue with them: leave "+
			"--workers out", p.resume)
	}
	p.save = cmp.Or(p.save, p.resume)
	s = saved.Search
	s.For, s.MaxSchedules = limits.For, limits.MaxSchedules
	return s, &saved, nil
}

// printSaved prints how to resume a search that ended early.
func (a *app) printSaved(path string) {
	if path == "" || a.json || a.markdown {
		return
	}
	saved, err := results.ReadSearch(path)
	switch {
	case err != nil: // the search itself has reported that it could not be saved
	case saved.Checkpoint.Done():
		a.println("saved: %s; the search is complete", path)
	default:
		a.println("saved: %s; to continue: doublegrant explore --resume %s", path, plan.CommandLine(path))
	}
}
