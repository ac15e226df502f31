package cli

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/doublegrant/doublegrant/harness/results"
)

// workerCommand makes the command that other processes of this program start: see results.Work.
func (a *app) workerCommand() *cobra.Command {
	return &cobra.Command{
		Use:    results.WorkerCommand,
		Short:  "do pieces of a search that another doublegrant shares out (explore --workers)",
		Hidden: true,
		Args:   exactArgs(0, "none"),
		RunE:   func(cmd *cobra.Command, _ []string) error { return results.Work(cmd.Context(), os.Stdin, a.out) },
	}
}
