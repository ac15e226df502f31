package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/suite"
	"github.com/doublegrant/doublegrant/harness/suite/tally"
	"github.com/doublegrant/doublegrant/harness/texttable"
	"github.com/doublegrant/doublegrant/harness/units"
)

// suiteFlags holds the flags of suite alone.
type suiteFlags struct {
	list, print bool
	only        string
	how         suite.Options
}

func (a *app) suiteCommand() *cobra.Command {
	var f suiteFlags
	cmd := &cobra.Command{
		Use:   "suite FILE...",
		Short: "run the plans of a file, each with what is expected of it: for CI, and for hours of soak",
		Long: "suite runs the plans of a file, or of a suite that comes with the program, one after the other, and compares each\n" +
			"run with what is expected of it.\n\n" +
			"It exits with 0 if every run was as expected; otherwise with 1 if one was not, else with 3 if one failed for want of\n" +
			"something on this machine, else with 2 if one could tell nothing or did not run.",
		Example: "  doublegrant suite ci\n" +
			"  doublegrant suite ci --print > mine.yaml && doublegrant suite mine.yaml\n" +
			"  doublegrant suite mine.yaml --for 8h",
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
			s, err := readSuites(args, f.only)
			if err != nil {
				return err
			}
			return a.suite(cmd.Context(), s, f.how)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.list, "list", false, "list the suites that come with the program")
	flags.BoolVar(&f.print, "print", false, "print the suite's text, to be copied, and run nothing")
	flags.StringVar(&f.only, "only", "", "only the runs whose names this regular expression matches")
	flags.BoolVar(&f.how.FailFast, "fail-fast", false, "end after the first run that is not as expected")
	flags.DurationVar(&f.how.For, "for", 0,
		"repeat all runs with new seeds for so long, and keep the histories of those that are not as expected (default: once)")
	a.placeFlags(cmd)
	return cmd
}

// readSuites makes one suite of the named ones.
func readSuites(names []string, only string) (s suite.Suite, err error) {
	if len(names) == 0 {
		return s, usage("no suite given: name a file, or one of doublegrant suite --list, such as ci")
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
	if err := s.Check(); err != nil { // also the runs that --only leaves out: their mistakes are better found today
		return s, err
	}
	if only != "" {
		return s.Only(only)
	}
	return s, nil
}

func (a *app) listSuites(args []string) error {
	if len(args) > 0 {
		return usage("--list names all suites: leave %s out", strings.Join(args, " "))
	}
	all, err := suite.BuiltIn()
	if err != nil {
		return err
	}
	type line struct {
		Name  string   `json:"name"`
		About string   `json:"about"`
		Runs  []string `json:"runs"`
	}
	var lines []line
	for _, s := range all {
		l := line{Name: s.Name, About: s.About}
		for _, r := range s.Runs {
			l.Runs = append(l.Runs, r.Title)
		}
		lines = append(lines, l)
	}
	if a.json {
		return a.printJSON(lines)
	}
	var t texttable.Table
	t.Add("SUITE", "RUNS", "WHAT IT IS FOR")
	for _, l := range lines {
		t.Add(l.Name, strconv.Itoa(len(l.Runs)), l.About)
	}
	return a.write(&t)
}

func (a *app) printSuites(names []string) error {
	if len(names) != 1 {
		return usage("%d suites given: --print takes one, such as ci", len(names))
	}
	text, err := suite.Text(names[0])
	if err != nil {
		return err
	}
	_, err = a.out.Write(text)
	return err
}

// suite runs a suite. The worst run decides the exit code.
func (a *app) suite(ctx context.Context, s suite.Suite, how suite.Options) error {
	how.Options = a.options()
	began := time.Now()
	each, length := s.Takes()
	stop := a.startBar(max(length, how.For), "about")
	defer stop()
	if how.For > 0 {
		a.err.beginStage(max(length, how.For))
	}
	progress := a.newProgress()
	how.Progress = func(p harness.Progress) { progress.show(p) }
	how.Begin = func(at suite.Position) {
		if at.Pass == 1 && at.Run == 1 { // now that nothing has refused the suite
			fmt.Fprintln(a.err, lengthOfSuite(s, length, how.For))
		}
		pass := ""
		if how.For > 0 {
			pass = fmt.Sprintf("pass %d, %v of %v, ", at.Pass, time.Since(began).Round(time.Second), how.For)
		}
		fmt.Fprintf(a.err, "[%s%d/%d] %s\n", pass, at.Run, at.Of, at.Name)
		progress = a.newProgress()
		if how.For == 0 {
			a.err.beginStage(each[at.Run-1])
		}
	}
	how.End = func(_ suite.Position, r tally.Run) {
		fmt.Fprintf(a.err, "      %s\n", suiteLine(r))
	}
	out, dir, err := suite.Run(ctx, s, how)
	stop()
	if dir == "" {
		return err
	}
	return errors.Join(err, a.showSuite(out, dir))
}

// lengthOfSuite says in a sentence how long a suite takes.
func lengthOfSuite(s suite.Suite, pass, soak time.Duration) string {
	words := units.Plural(int64(len(s.Runs)), "run", "runs") + ", about " + pass.Round(time.Second).String()
	if soak > 0 {
		return fmt.Sprintf("%s each pass, for %v", words, soak)
	}
	return words
}

// suiteLine returns the result of a run, in a few words.
func suiteLine(r tally.Run) string {
	what := fmt.Sprintf("%s: %s %s", r.Ending, r.Verdict, r.Found)
	switch {
	case r.Ending == tally.NotRun && r.Found != "":
		what = fmt.Sprintf("interrupted: found %s by then", r.Found)
	case r.Ending == tally.NotRun:
		what = "interrupted"
	case r.Ending != tally.Met && r.Found == "":
		what = fmt.Sprintf("%s: %s", r.Ending, cmp.Or(strings.TrimSuffix(r.Why, "."), "interrupted"))
	}
	line := fmt.Sprintf("%s, expected %s, %v", strings.TrimSpace(what), r.Expected, r.Elapsed.Round(100*time.Millisecond))
	if r.Seed == 0 { // a search leaves nothing to chance
		return line
	}
	return fmt.Sprintf("%s, seed %d", line, r.Seed)
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
