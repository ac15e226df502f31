package cli

import (
	"errors"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/doublegrant/doublegrant/harness/results"
	"github.com/doublegrant/doublegrant/harness/suite"
	"github.com/doublegrant/doublegrant/harness/tally"
	"github.com/doublegrant/doublegrant/reports"
)

func (a *app) reportCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "report RESULT",
		Short: "write the reports of a run, search or suite again, or for the first time if it was killed",
		Long: `Writes the reports of a results folder again: of a suite from its suite.jsonl, of a search from its
verdict.json, of a run from its history, which is judged once more. Use it for a soak or a run that was killed before it
wrote reports: they will say that it was cut short. The exit codes are those of the suite, the search or the run.`,
		Example: "  doublegrant report results/latest\n" +
			"  doublegrant report results/20260102-030405-suite-mine",
		Args: exactArgs(1, "one results folder, such as results/latest"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if suite.IsFolder(args[0]) {
				s, err := suite.Report(args[0])
				if err != nil {
					return err
				}
				return a.showSuite(s, args[0])
			}
			kind, err := results.KindOf(args[0])
			if err != nil {
				return err
			}
			if kind == results.OfSearch {
				return a.reportSearch(args[0])
			}
			out, err := results.ReportRun(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return a.show(out)
		},
	}
}

func (a *app) reportSearch(dir string) error {
	e, err := results.ReportSearch(dir)
	if err != nil {
		return err
	}
	a.code = verdictCode(e.Verdict())
	if a.json {
		return reports.ExplorationJSON(a.out, e)
	}
	return a.printExploration(e, "")
}

// showSuite prints the results of a suite, as text or JSON, and sets the exit code by its ending.
func (a *app) showSuite(s tally.Suite, dir string) error {
	a.code = endingCode(s.Ending())
	if a.json {
		return errors.Join(reports.SuiteJSON(a.out, s), a.tellOfSuite(s))
	}
	if err := reports.SuiteText(a.out, s, a.layout()); err != nil {
		return err
	}
	a.println("\nreports   %s", filepath.Join(dir, reports.IndexFile))
	return a.tellOfSuite(s)
}
