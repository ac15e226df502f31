package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/harness/results"
	"github.com/doublegrant/doublegrant/reports"
)

func (a *app) checkCommand() *cobra.Command {
	var file, model, root string
	cmd := &cobra.Command{
		Use:   "check RESULT | check --history FILE --model MODEL",
		Short: "judge the stored history of a run again, or a history that another program recorded",
		Long: `Judge the stored history of a run again, or, with --history, a history that another program recorded.

` + textForm + `

A lock's mutual exclusion, one first delivery in each window, unique growing numbers and acknowledged writes (against
the last read of client -1) are judged. Stuck locks and what is left behind in Redis are not: that rests on what
doublegrant does at the end of its own runs.`,
		Example: "  doublegrant check results/latest\n" +
			"  doublegrant check --history mine.jsonl --model lock\n" +
			"  doublegrant history results/latest | doublegrant check --history - --model sequence",
		RunE: func(cmd *cobra.Command, args []string) error {
			if file != "" || model != "" {
				return a.checkText(cmd, args, file, results.Model(model), root)
			}
			if err := exactArgs(1, "one results folder, such as results/latest")(cmd, args); err != nil {
				return err
			}
			out, err := results.Recheck(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return a.show(out)
		},
	}
	a.verboseFlag(cmd)
	cmd.Flags().StringVar(&file, "history", "", "file with a history as JSON lines; - reads standard input")
	cmd.Flags().StringVar(&root, "results", "results", "folder for the results folder of --history")
	cmd.Flags().StringVar(&model, "model", "", "what the history is of: lock, dedup, sequence or writes")
	return cmd
}

// openReadable opens a file for reading. If the file is a named pipe, openReadable waits for a writer until ctx ends.
func openReadable(ctx context.Context, file string) (*os.File, error) {
	files, errs := make(chan *os.File, 1), make(chan error, 1)
	go func() {
		f, err := os.Open(file)
		if err != nil {
			errs <- usage("no history: %w", err)
			return
		}
		files <- f
	}()
	select {
	case f := <-files:
		return f, nil
	case err := <-errs:
		return nil, err
	case <-ctx.Done():
		return nil, fmt.Errorf("open %s: %w", file, context.Cause(ctx))
	}
}

// checkText judges a history that another program recorded.
func (a *app) checkText(cmd *cobra.Command, args []string, file string, m results.Model, root string) error {
	switch {
	case len(args) > 0:
		return usage("a results folder was given together with --history or --model: leave one of them out")
	case file == "":
		return usage("--model needs --history FILE, or - for standard input")
	case m == "":
		return usage("--history needs --model: choose one of %s", results.ModelNames())
	}
	r, name := cmd.InOrStdin(), "standard input"
	if file != "-" {
		f, err := openReadable(cmd.Context(), file)
		if err != nil {
			return err
		}
		defer f.Close()
		if info, err := f.Stat(); err == nil && info.IsDir() {
			return usage("no history: %s is a folder: to check the results of a run, use doublegrant check "+
				"%s", file, file)
		}
		r, name = io.Reader(f), file
	}
	t := results.Text{From: r, Name: name, Model: m}
	if file != "-" {
		t.Again = plan.CommandLine("doublegrant", "check", "--history", file, "--model", string(m))
	}
	rep, dir, err := results.CheckText(cmd.Context(), t, root)
	if err != nil && dir == "" {
		return fmt.Errorf("check: %w", err)
	}
	return errors.Join(a.showReport(rep, dir), err)
}

// showReport prints the verdict on a history that another program recorded, and sets the exit code to match. The
// reports are in dir.
func (a *app) showReport(rep reports.Report, dir string) error {
	a.code = verdictCode(rep.Judged.Verdict)
	var err error
	if a.json {
		err = reports.JSON(a.out, rep)
	} else {
		err = reports.ReportText(a.out, rep, a.layout())
		a.println("report    %s", filepath.Join(dir, reports.ReportFile))
	}
	return errors.Join(err, a.tellOfRun(rep))
}
