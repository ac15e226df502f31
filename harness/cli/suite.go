package cli

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/harness/suite"
	"github.com/doublegrant/doublegrant/harness/tally"
	"github.com/doublegrant/doublegrant/harness/texttable"
	"github.com/doublegrant/doublegrant/reports"
)

// suiteFlags hold the flags that only the command suite has.
type suiteFlags struct {
	list, print bool
	only        string
	shard       string // shard in the form that suite.ParseShard reads; empty: the whole suite
	how         suite.Options
	external    externalFlags
}

func (a *app) suiteCommand() *cobra.Command {
	var f suiteFlags
	cmd := &cobra.Command{
		Use:   "suite FILE...",
		Short: "run the plans of a file and compare each result with what is expected: for CI, or as a soak of hours",
		Long: `Runs the plans of a file, or of a built-in suite, one after the other, and compares each run with what is
expected.

Exit code 0: every run was as expected; 1: at least one was not; otherwise 3: at least one could not be carried out on
this machine; otherwise 2: at least one came to no verdict or did not run.`,
		Example: "  doublegrant suite ci\n" +
			"  doublegrant suite ci --print > mine.yaml && doublegrant suite mine.yaml\n" +
			"  doublegrant suite mine.yaml --for 8h\n" +
			"  doublegrant suite mine.yaml --shard 3/8\n" +
			"  doublegrant suite mine.yaml --resume results/20260102-030405-suite-mine",
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case f.list:
				return a.listSuites(args)
			case f.print:
				return a.printSuites(args)
			}
			if err := noZeros(cmd, "for"); err != nil {
				return err
			}
			if f.how.Resume != "" && cmd.Flags().Changed("results") {
				return usage("--resume continues in its own folder: leave --results out")
			}
			s, err := readSuites(args, f.only)
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("shard") {
				if s, err = shardOf(s, &f); err != nil {
					return err
				}
			}
			var plans []plan.Plan
			for _, r := range s.Runs {
				plans = append(plans, r.Plan)
			}
			if err := a.readExternal(cmd, &f.external, plans...); err != nil {
				return err
			}
			return a.suite(cmd.Context(), s, f, args)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.list, "list", false, "list the built-in suites")
	flags.BoolVar(&f.print, "print", false, "print the suite's text, to start your own, and run nothing")
	flags.StringVar(&f.only, "only", "", "run only those whose names match this regular expression")
	flags.StringVar(&f.shard, "shard", "",
		"run only this part of the suite, such as 3/8, on one of several machines; auto: taken from the variables "+
			"of GitLab, CircleCI, Buildkite or Kubernetes (auto/8); doublegrant merge combines the results")
	flags.BoolVar(&f.how.FailFast, "fail-fast", false, "end after the first run that is not as expected")
	flags.DurationVar(&f.how.For, "for", 0,
		"repeat all runs with new seeds for this time, and keep the histories of those that are not as expected "+
			"(default: once)")
	flags.StringVar(&f.how.Resume, "resume", "",
		"continue the interrupted or killed suite of this results folder with the remaining runs, for the rest of "+
			"its time")
	a.verboseFlag(cmd)
	a.place.add(cmd)
	f.external.add(cmd)
	return cmd
}

// readSuites combines the named suites into one.
func readSuites(names []string, only string) (s suite.Suite, err error) {
	if len(names) == 0 {
		return s, usage("no suite given: name a file, or a suite that doublegrant suite --list shows, such as ci")
	}
	var all []suite.Suite
	for _, name := range names {
		one, err := suite.Read(name)
		if err != nil {
			return s, err
		}
		all = append(all, one)
	}
	s = suite.Join(all...)
	if err := s.Check(); err != nil { // including runs that --only leaves out, to find their mistakes early
		return s, err
	}
	if only != "" {
		return s.Only(only)
	}
	return s, nil
}

// shardOf returns the part of the suite that --shard selects. If the flag is auto, the CI's environment variables
// select the part, and shardOf sets f.shard to it, such as 3/8.
func shardOf(s suite.Suite, f *suiteFlags) (suite.Suite, error) {
	shard, err := suite.ParseShard(f.shard, os.Getenv)
	if err != nil {
		return s, err
	}
	f.shard = shard.String()
	return s.Shard(shard)
}

func (a *app) listSuites(args []string) error {
	if len(args) > 0 {
		return usage("--list shows all suites: leave %s out", strings.Join(args, " "))
	}
	all, err := suite.BuiltIn()
	if err != nil {
		return err
	}
	var lines []listedSuite
	for _, s := range all {
		l := listedSuite{Name: s.Name, About: s.About}
		for _, r := range s.Runs {
			l.Runs = append(l.Runs, r.Title)
		}
		lines = append(lines, l)
	}
	if a.json {
		return a.printJSON(listedSuites{reports.HeadOf("suites"), lines})
	}
	var t texttable.Table
	t.Add("SUITE", "RUNS", "WHAT IT IS FOR")
	for _, l := range lines {
		t.Add(l.Name, strconv.Itoa(len(l.Runs)), l.About)
	}
	return a.write(&t)
}

// listedSuites is the JSON output of the command suite without a file.
type listedSuites struct {
	reports.Head
	Suites []listedSuite `json:"suites"`
}

// listedSuite is a suite that comes with doublegrant.
type listedSuite struct {
	Name  string   `json:"name"`
	About string   `json:"about"`
	Runs  []string `json:"runs"` // titles of the runs
}

func (a *app) printSuites(names []string) error {
	if len(names) != 1 {
		return usage("%d suites given: --print takes one, such as ci", len(names))
	}
	text, err := suite.Text(names[0])
	if err != nil {
		return err
	}
	_, err = a.tracked.Write(text) // a file stays as it is in any locale
	return err
}

// suite runs a suite. The worst run decides the exit code. The argument files has the suite's files, as the user gave
// them.
func (a *app) suite(ctx context.Context, s suite.Suite, f suiteFlags, files []string) error {
	v := a.newSuiteView(s, f.shard)
	defer v.stop()
	how := f.how
	how.Options, how.Version = a.options(), version()
	how.Progress, how.Begin, how.End = v.show, v.begin, v.end
	out, dir, err := suite.Run(ctx, s, how)
	v.stop()
	if dir == "" {
		return err
	}
	err = errors.Join(err, a.showSuite(out, dir))
	if out.Ended != "" && !a.json {
		a.println("continue  %s", resumeCommand(files, f, dir))
	}
	return err
}

// resumeCommand returns the command line that resumes a suite.
func resumeCommand(files []string, f suiteFlags, dir string) string {
	words := append([]string{"doublegrant", "suite"}, files...)
	if f.only != "" {
		words = append(words, "--only="+f.only)
	}
	if f.shard != "" {
		words = append(words, "--shard="+f.shard)
	}
	return plan.CommandLine(append(words, "--resume="+dir)...)
}

// endingCode returns the exit code of a suite.
func endingCode(e tally.Ending) int {
	switch e {
	case tally.Met:
		return ExitMet
	case tally.NotMet:
		return ExitInvalid
	case tally.Failed:
		return ExitFailed
	default:
		return ExitUnknown
	}
}
