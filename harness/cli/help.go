package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/doublegrant/doublegrant/harness/suggest"
	"github.com/doublegrant/doublegrant/harness/texttable"
)

// flagGroup is a heading in a command's help, and the flags below it, in order.
type flagGroup struct {
	title string
	flags []string
}

// ofScripts, ofPlans and ofSearches are groups of flags that several commands share. A command's help shows only the
// flags that it has.
var (
	ofScripts = flagGroup{"Your own script or adapter",
		[]string{"script", "adapter", "connect", "announces", "clock", "processes", "real-crash", "as", "keys", "args",
			"yes", "no-error", "release", "release-args"}}

	ofPlans = []flagGroup{
		{"Variant and load", []string{
			"plan", "clients", "duration", "thorough", "rate", "pacing", "key-count", "ttl", "hold", "regime", "with",
			"resource", "stop-on-first", "seed", "explore-for",
		}},
		{"Topology", []string{"topology", "on", "min-replicas", "max-lag", "aof", "acks", "redis-server",
			"redis-image"}},
		ofLoads,
		{"External Redis", []string{
			"redis", "redis-url-file", "redis-ca", "redis-cert", "redis-key", "prefix", "i-may-load",
		}},
		{"Faults", []string{"nemesis", "repeat", "fault-for", "calm"}},
		ofScripts,
		{"Results", []string{"results", "verbose", "output", "color", "no-color", "help"}},
	}

	ofSearches = []flagGroup{
		{"Variant and search", []string{"clients", "ttl", "regime", "all", "for", "max-schedules", "first", "unpruned",
			"twice"}},
		{"At random", []string{"random", "strategy", "depth", "seed"}},
		{"Faults, each tried wherever it makes a difference", append(faultFlags(), "skew")},
		ofScripts,
		{"In pieces", []string{"save", "resume", "workers"}},
		{"Replay", []string{"replay", "times"}},
		{"Results", []string{"situation", "results", "redis-server", "verbose", "output", "color", "no-color", "help"}},
	}
)

// helpCommand returns the command that prints the help of the command named by its arguments. For an unknown name it
// returns an error. For such a name, Cobra's own help command would print the help of doublegrant and exit with 0.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "print the help of a command",
		ValidArgsFunction: func(cmd *cobra.Command, words []string, _ string) ([]string, cobra.ShellCompDirective) {
			about, _, _ := cmd.Root().Find(words)
			return commandNames(about), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, words []string) error {
			about, rest, err := cmd.Root().Find(words)
			if err == nil && len(rest) == 0 {
				about.InitDefaultHelpFlag()
				return about.Help()
			}
			if len(rest) == 0 {
				rest = words
			}
			return unknownCommand(about, rest[0])
		},
	}
}

// unknownCommand returns the error for a word that is not a command of cmd.
func unknownCommand(cmd *cobra.Command, word string) error {
	if !cmd.HasSubCommands() {
		return usage("unknown command %q: %s has no subcommands", word, cmd.CommandPath())
	}
	return usage("unknown command %q: %s", word,
		strings.TrimPrefix(suggest.Question("", word, commandNames(cmd))+" "+cmd.CommandPath()+" --help names them all",
			" "))
}

// groupFlags groups the flags in the help of cmd. Flags without a group come last.
func (a *app) groupFlags(cmd *cobra.Command, groups []flagGroup) *cobra.Command {
	if a.groups == nil {
		a.groups = map[*cobra.Command][]flagGroup{}
	}
	a.groups[cmd] = groups
	cmd.SetUsageFunc(func(cmd *cobra.Command) error {
		_, err := fmt.Fprint(cmd.OutOrStdout(), usageText(cmd, groups, texttable.Width(a.terminal)))
		return err
	})
	return cmd
}

// usageText returns the usage of cmd, in lines of at most width columns; 0: no limit.
func usageText(cmd *cobra.Command, groups []flagGroup, width int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage:\n  %s\n\nExamples:\n%s\n", cmd.UseLine(), cmd.Example)
	for _, s := range flagSections(cmd, groups) {
		fmt.Fprintf(&b, "\n%s:\n%s", s.title, s.FlagUsagesWrapped(width))
	}
	return b.String()
}

// flagSection is a heading in a command's help, with at least one flag of the command below it.
type flagSection struct {
	title string
	*pflag.FlagSet
}

// flagSections returns the flags of cmd by group. Flags without a group come last.
func flagSections(cmd *cobra.Command, groups []flagGroup) (all []flagSection) {
	other := flagGroup{title: "Other flags"}
	cmd.InheritedFlags() // adds them to those of cmd
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !slices.ContainsFunc(groups, func(g flagGroup) bool { return slices.Contains(g.flags, f.Name) }) {
			other.flags = append(other.flags, f.Name)
		}
	})
	for _, g := range append(slices.Clone(groups), other) {
		set := pflag.NewFlagSet(g.title, pflag.ContinueOnError)
		set.SortFlags = false
		for _, name := range g.flags {
			if f := cmd.Flags().Lookup(name); f != nil {
				set.AddFlag(f)
			}
		}
		if set.HasFlags() {
			all = append(all, flagSection{g.title, set})
		}
	}
	return all
}
