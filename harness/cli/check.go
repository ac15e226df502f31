package cli

import (
	"github.com/spf13/cobra"

	"github.com/doublegrant/doublegrant/harness/suite"
)

func (a *app) checkCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "check RESULT",
		Short:   "judge the stored history of a run again",
		Example: "  doublegrant check results/latest",
		Args:    exactly(1, "one results folder, such as results/latest"),
		RunE: func(cmd *cobra.Command, args []string) error {
			out, err := suite.Recheck(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return a.show(out)
		},
	}
}
