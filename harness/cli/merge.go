package cli

import (
	"github.com/spf13/cobra"

	"github.com/doublegrant/doublegrant/harness/suite"
)

func (a *app) mergeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "merge DIR...",
		Short: "put the results of all shards of a suite together into one report",
		Long: "merge takes the results folders of all shards of a suite (suite --shard), or folders that hold them, " +
			"such as unpacked\n" +
			"artefacts of CI, and writes the results folder that one machine would have written, with a copy of each " +
			"shard's. What it\n" +
			"reads stays as it is. It exits as the whole suite would have.\n\n" +
			"It refuses shards that do not belong together, with exit code 64: one is missing or there twice, or is " +
			"of another suite,\n" +
			"program or version of the server.",
		Example: "  doublegrant merge artifacts\n" +
			"  doublegrant merge results/20260102-030405-suite-mine-shard-1-of-2 " +
			"results/20260102-030406-suite-mine-shard-2-of-2",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("no folder given: name the results folders of suite --shard, or a folder that holds them")
			}
			out, dir, err := suite.Merge(cmd.Context(), args, a.place.results)
			if err != nil {
				return err
			}
			return a.showSuite(out, dir)
		},
	}
	a.place.addResults(cmd, "folder for the new results folder")
	return cmd
}
