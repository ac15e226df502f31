package cli

import (
	"github.com/spf13/cobra"

	"github.com/doublegrant/doublegrant/harness/history"
	"github.com/doublegrant/doublegrant/harness/results"
)

// textForm documents the text form of a history, for help texts.
const textForm = "A history is JSON lines: one operation a line, in order of return. Times are nanoseconds from the " +
	"start.\n" +
	`  {"client":3,"kind":"acquire","key":"lock-1","arg":"token",` +
	`"ttl":2000000000,"call":120,"return":450,"outcome":"ok"}` + "\n" +
	"client, kind, call, return and outcome are needed. Kinds, by model:\n" +
	"lock: acquire, extend, release; dedup: claim, confirm, deliver, inspect; sequence: next, inspect; writes: add, " +
	"read.\n" +
	"Outcomes: ok; fail, which had no effect; info, which may have one, now or later: " +
	"its client needs a new id then.\n" +
	`The first line may be {"meta":{"name":"mine","drift":0.01},"cut":"why the end is missing"}.` + "\n" +
	"A history that lacks operations before its end cannot be judged.\n" +
	"Every field is in harness/history/README.md."

func (a *app) historyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "history RESULT",
		Short: "print the stored history of a run as JSON lines",
		Long: `Prints the stored history of a run as JSON lines, for other programs and for check --history.

` + textForm,
		Example: "  doublegrant history results/latest | jq 'select(.outcome == \"info\")'",
		Args:    exactArgs(1, "one results folder, such as results/latest"),
		RunE: func(_ *cobra.Command, args []string) error {
			h, err := results.OpenHistory(args[0])
			if err != nil {
				return err
			}
			return history.Print(a.tracked, h) // data of users stays as it is in any locale
		},
	}
}
