package cli

import (
	"github.com/spf13/cobra"

	"github.com/doublegrant/doublegrant/harness/suite"
)

func (a *app) mergeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "merge DIR...",
		Short: "combine the results of all shards of a suite into one report",
		Long: `Reads the results folders of all shards of a suite (suite --shard), or folders that contain them, such as
unpacked CI artefacts, and writes the results folder that one machine would have written, with a copy of each shard's
folder. The folders that it reads stay unchanged. The exit codes are those of doublegrant suite.

Shards that do not belong together are refused with exit code 64: one is missing or given twice, or comes from another
suite, another version of doublegrant or another version of the server.`,
		Example: "  doublegrant merge artifacts\n" +
			"  doublegrant merge results/20260102-030405-suite-mine-shard-1-of-2 " +
			"results/20260102-030406-suite-mine-shard-2-of-2",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("no folder given: name the results folders of suite --shard, or a folder that contains " +
					"them")
			}
			out, dir, err := suite.Merge(cmd.Context(), args, a.place.results)
			if err != nil {
				return err
			}
			return a.showSuite(out, dir)
		},
	}
	a.place.addResults(cmd, "folder in which the new results folder is made")
	return cmd
}
