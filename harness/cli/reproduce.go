package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/doublegrant/doublegrant/harness/experiments"
	"github.com/doublegrant/doublegrant/harness/texttable"
	"github.com/doublegrant/doublegrant/reports"
	"github.com/doublegrant/doublegrant/workloads/bugs"
)

func (a *app) reproduceCommand() *cobra.Command {
	how := experiments.Repetition{}
	all, list, table := false, false, ""
	cmd := &cobra.Command{
		Annotations: map[string]string{writesMarkdown: "yes"},

		Use:   "reproduce [EXPERIMENT... | bug/ID...]",
		Short: "repeat a published experiment beside its figures, or show a library's bug; without a name, list experiments",
		Example: "  doublegrant reproduce jepsen-redis-2013\n" +
			"  doublegrant reproduce bug/redislock-token\n" +
			"  doublegrant reproduce bug/all\n" +
			"  doublegrant reproduce bug/redislock-token -o markdown   # a report for the library's maintainers\n" +
			"  doublegrant reproduce split-brain-guards --trials 5 --parallel 2",
		RunE: func(cmd *cobra.Command, args []string) error {
			if slices.ContainsFunc(args, isBug) {
				return a.reproduceBugs(cmd, args, table)
			}
			if table != "" {
				return usage("--table is of bugs: name them, or bug/all")
			}
			if a.markdown {
				return usage("-o markdown is a report of a bug for its maintainers: name one, such as bug/redislock-token")
			}
			if err := noZeros(cmd, "trials", "parallel"); err != nil {
				return err
			}
			if list && (all || len(args) > 0) {
				return usage("--list shows every experiment: leave %s out",
					strings.TrimSpace(strings.Join(args, " ")+allFlag(all)))
			}
			chosen, err := chosenExperiments(args, all)
			if err != nil {
				return err
			}
			if len(chosen) == 0 {
				return a.listExperiments()
			}
			return a.reproduce(cmd.Context(), chosen, how)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&list, "list", false, "list the experiments and how long each takes; the default without a name")
	f.BoolVar(&all, "all", false, "run every experiment, one after the other")
	f.IntVar(&how.Trials, "trials", 0, "number of runs for each condition (default: the experiment's, 3 to 5)")
	f.IntVar(&how.Parallel, "parallel", 1, "number of runs at the same time, each on its own cluster")
	f.Uint64Var(&how.Seed, "seed", 0, "seed of the first run; the others count up from it (default: chosen and "+
		"reported)")
	f.StringVar(&how.On, "on", "", "how Redis nodes run: process or docker (default process)")
	f.StringVar(&how.Image, "redis-image", "", "Redis image for --on docker")
	f.StringVar(&table, "table", "", "of bugs: write the table of what came out into this Markdown file")
	a.place.add(cmd)
	return cmd
}

func allFlag(all bool) string {
	if all {
		return " --all"
	}
	return ""
}

func chosenExperiments(names []string, all bool) (chosen []experiments.Experiment, err error) {
	if all {
		if len(names) > 0 {
			return nil, usage("--all runs every experiment: leave %s out", strings.Join(names, " "))
		}
		return experiments.All(), nil
	}
	for _, name := range names {
		e, err := experiments.Find(name)
		if err != nil {
			if _, notABug := bugs.Find(name); notABug == nil {
				return nil, usage("%s is the name of a bug: write it %s%[1]s", name, bugs.Prefix)
			}
			return nil, err
		}
		chosen = append(chosen, e)
	}
	return chosen, nil
}

// listedExperiments is the JSON output of the command reproduce without a name.
type listedExperiments struct {
	reports.Head
	Experiments []experiments.Experiment `json:"experiments"`
}

// reproductions is the JSON output of the command reproduce.
type reproductions struct {
	reports.Head
	Reproductions []reports.Reproduction `json:"reproductions"`
}

func (a *app) listExperiments() error {
	if a.json {
		return a.printJSON(listedExperiments{reports.HeadOf("experiments"), experiments.All()})
	}
	var t texttable.Table
	t.Add("EXPERIMENT", "TRIALS", "ABOUT", "WHAT IT SHOWS", "SOURCE")
	for _, e := range experiments.All() {
		trials, length := e.Estimate(experiments.Repetition{})
		t.Add(e.Name, strconv.Itoa(trials), roundedEstimate(length), e.Title, e.Source)
	}
	return a.write(&t)
}

// roundedEstimate formats an estimated duration, in seconds or whole minutes.
func roundedEstimate(d time.Duration) string {
	if d < 2*time.Minute {
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	return fmt.Sprintf("%.0f min", d.Minutes())
}

// reproduce repeats experiments. The exit code is 0 if all have the published shape, 1 if one differs, and otherwise 2.
func (a *app) reproduce(ctx context.Context, chosen []experiments.Experiment, how experiments.Repetition) error {
	for _, e := range chosen { // refuse all before repeating one
		if err := e.Check(how); err != nil {
			return err
		}
	}
	stop := func() {}
	defer func() { stop() }()
	var all []reports.Reproduction
	for i, e := range chosen {
		fmt.Fprintf(a.err, "[%d/%d] %s\n", i+1, len(chosen), e.Name)
		trials, length := e.Estimate(how)
		each := length / time.Duration(trials)
		stop = a.startBar(length, "about")
		a.err.beginStage(each)
		how.Done = func(arm string, trial, of int, t reports.Trial) {
			fmt.Fprintf(a.err, "  %s, trial %d of %d: %s\n", arm, trial, of, t.Verdict)
			a.err.beginStage(each)
		}
		r, dir, err := experiments.Reproduce(ctx, e, how, a.options())
		stop()
		if err != nil {
			if dir != "" {
				err = keptIn(dir, fmt.Errorf("%w (the results until then are in %s)", err, dir))
			}
			return err
		}
		a.code = worseShape(a.code, shapeCode(r.Shape))
		all = append(all, r)
		if a.json {
			continue
		}
		if err := reports.ReproductionText(a.out, r, a.layout()); err != nil {
			return err
		}
		a.println("\n  report  %s\n", filepath.Join(dir, reports.ReportFile))
	}
	if a.json {
		return a.printJSON(reproductions{reports.HeadOf("reproductions"), all})
	}
	return nil
}

// worseShape returns the worse of two exit codes of reproductions. A different shape is worse than an undecided one.
func worseShape(a, b int) int {
	if a == ExitInvalid || b == ExitInvalid {
		return ExitInvalid
	}
	return max(a, b)
}

// shapeCode returns the exit code of a reproduction.
func shapeCode(s reports.Shape) int {
	switch s {
	case reports.Matches:
		return ExitMet
	case reports.Differs:
		return ExitInvalid
	}
	return ExitUnknown
}
