package cli

import (
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/experiments"
	"github.com/doublegrant/doublegrant/harness/explore"
	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/harness/results"
	"github.com/doublegrant/doublegrant/harness/skeleton"
	"github.com/doublegrant/doublegrant/harness/suggest"
	"github.com/doublegrant/doublegrant/harness/suite"
	"github.com/doublegrant/doublegrant/workloads"
	"github.com/doublegrant/doublegrant/workloads/bugs"
)

// shells lists the shells for which the command completion writes scripts.
var shells = []string{"bash", "zsh", "fish"}

func completionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "completion " + strings.Join(shells, "|"),
		Short: "print a script that completes command lines in bash, zsh or fish",
		Long: "Print a script for a shell that completes commands, flags, variants, faults, suites and results " +
			"folders. That of bash\nneeds the package bash-completion.",
		Example: "  source <(doublegrant completion bash)                                        # in ~/.bashrc\n" +
			"  doublegrant completion zsh > ~/.zfunc/_doublegrant                           # a folder of $fpath\n" +
			"  doublegrant completion fish > ~/.config/fish/completions/doublegrant.fish",
		ValidArgs: shells,
		Args:      exactArgs(1, "a shell: "+strings.Join(shells, ", ")),
		RunE: func(cmd *cobra.Command, args []string) error {
			root, out := cmd.Root(), cmd.OutOrStdout()
			switch args[0] {
			case "bash":
				return bashCompletion(root, out)
			case "zsh":
				return root.GenZshCompletion(out)
			case "fish":
				return root.GenFishCompletion(out, true)
			}
			return usage("no completion for %q: %s", args[0], suggest.DidYouMean(args[0], shells))
		},
	}
}

// bashCompletion writes the script for bash. It is Cobra's script with one change: bash escapes the commas in a list,
// and without the change only the first name of a list would be completed.
func bashCompletion(root *cobra.Command, out io.Writer) error {
	var script strings.Builder
	if err := root.GenBashCompletionV2(&script, true); err != nil {
		return err
	}
	const fits, single = `[[ $comp == "$cur"* ]]`, `COMPREPLY[0]=$(printf "%q" "${COMPREPLY[0]%%$tab*}")`
	_, err := strings.NewReplacer(fits, `[[ ${comp//\\,/,} == "$cur"* ]]`,
		single, single+"; COMPREPLY[0]=${COMPREPLY[0]//\\\\,/,}").WriteString(out, script.String())
	return err
}

// complete adds the completion of arguments and flags to every command below root.
func complete(root *cobra.Command) {
	ofFlags := flagCompletions()
	for path, f := range argumentCompletions() {
		cmd, _, err := root.Find(strings.Fields(path))
		if err != nil {
			panic(err) // a mistake in the table, which any test shows
		}
		cmd.ValidArgsFunction = fitting(f)
	}
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if complete, known := ofFlags[f.Name]; known {
				_ = cmd.RegisterFlagCompletionFunc(f.Name, fitting(complete)) // which fails only for an unknown flag
			}
		})
		for _, c := range cmd.Commands() {
			visit(c)
		}
	}
	visit(root)
}

// argumentCompletions returns the completion of each command's arguments. Each key has the words of a command, such as
// "coordinate suite".
func argumentCompletions() map[string]cobra.CompletionFunc {
	return map[string]cobra.CompletionFunc{
		"run":                first(variantNames),
		"explore":            first(variantNames),
		"coordinate explore": first(variantNames),
		"compare":            each(variantNames),
		"list":               each(listedNames),
		"reproduce":          each(experimentNames),
		"bugs":               first(libraryNames),
		"check":              folders(isResults),
		"history":            folders(isResults),
		"report":             folders(isResults),
		"merge":              folders(isResults),
		"suite":              suites,
		"coordinate suite":   suites,
		"man":                cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs),
		"init":               first(func() []cobra.Completion { return skeleton.Names() }),
	}
}

// flagCompletions returns the completion of each flag's value, by the name of the flag. A flag that is not listed takes
// a file, or any text.
func flagCompletions() map[string]cobra.CompletionFunc {
	return map[string]cobra.CompletionFunc{
		"nemesis":  several(faultNames),
		"regime":   several(regimeNames),
		"with":     several(riderNames),
		"topology": choices(plan.Standalone, plan.Sentinel, plan.Sentinel+":5", plan.ManyMasters, plan.External),
		"on":       choices(cluster.OnProcess, cluster.OnDocker),
		"output":   choices("text", "json", "markdown"),
		"pacing":   choices(plan.ClosedPacing, plan.OpenPacing),
		"aof":      choices("always", "everysec", "no"),
		"as":       choices(string(workloads.Lock), string(workloads.Dedup), string(workloads.Sequence)),
		"model": choices(string(workloads.Lock), string(workloads.Dedup), string(workloads.Sequence),
			string(workloads.Writes)),
		"clock":    choices(string(workloads.PreloadedClock), string(workloads.RealClock)),
		"strategy": choices(explore.Strategies()...),
		"script":   files("lua"),
		"release":  files("lua"),
		"plan":     files("yaml"),
		"results":  cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs),
		"resume":   folders(suite.IsFolder),
	}
}

// fitting returns a completion with those suggestions of f that begin with the word typed so far.
func fitting(f cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		all, directive := f(cmd, args, word)
		if directive == cobra.ShellCompDirectiveFilterFileExt {
			return all, directive
		}
		return slices.DeleteFunc(all, func(c cobra.Completion) bool { return !strings.HasPrefix(c, word) }), directive
	}
}

func choices(words ...string) cobra.CompletionFunc {
	return each(func() []cobra.Completion { return slices.Clone(words) })
}

// files completes files whose names end in extension.
func files(extension string) cobra.CompletionFunc {
	return cobra.FixedCompletions([]string{extension}, cobra.ShellCompDirectiveFilterFileExt)
}

// each completes every argument, or a flag's value, to one of the given names.
func each(names func() []cobra.Completion) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return names(), cobra.ShellCompDirectiveNoFileComp
	}
}

// first completes the first argument to one of the given names. Later arguments, such as an adapter's command, are
// completed to files.
func first(names func() []cobra.Completion) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return names(), cobra.ShellCompDirectiveNoFileComp
	}
}

// several completes a list with commas: the text after the last comma becomes one of the given names.
func several(names func() []cobra.Completion) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, word string) (all []cobra.Completion, _ cobra.ShellCompDirective) {
		before := word[:strings.LastIndex(word, ",")+1]
		for _, name := range names() {
			all = append(all, before+name)
		}
		return all, cobra.ShellCompDirectiveNoFileComp
	}
}

func variantNames() (all []cobra.Completion) {
	for _, v := range workloads.Catalogue() {
		all = append(all, cobra.CompletionWithDesc(v.ID, v.Doc))
	}
	return all
}

func riderNames() []cobra.Completion {
	return slices.DeleteFunc(variantNames(), func(c cobra.Completion) bool {
		return !strings.HasPrefix(c, string(workloads.Writes)+"/")
	})
}

func faultNames() (all []cobra.Completion) {
	for _, d := range plan.FaultDocs() {
		for _, name := range d.Names {
			all = append(all, cobra.CompletionWithDesc(name, d.Doc))
		}
	}
	return all
}

func regimeNames() (all []cobra.Completion) {
	for _, r := range workloads.Regimes() {
		all = append(all, cobra.CompletionWithDesc(string(r), r.Doc()))
	}
	return all
}

func experimentNames() (all []cobra.Completion) {
	for _, e := range experiments.All() {
		all = append(all, cobra.CompletionWithDesc(e.Name, e.Title))
	}
	known, _ := bugs.All()
	for _, b := range known {
		all = append(all, cobra.CompletionWithDesc(b.Name(), b.Library+": "+b.Conditions))
	}
	return all
}

func libraryNames() (all []cobra.Completion) {
	known, _ := bugs.All()
	for _, b := range known {
		all = append(all, b.Library)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func listedNames() []cobra.Completion {
	return slices.Concat([]cobra.Completion{allVariants, allFaults, allRegimes}, variantNames(), faultNames(),
		regimeNames())
}

// suites completes the names of built-in suites, and files that end in .yaml.
func suites(_ *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	all, _ := filepath.Glob(escaped(word) + "*.yaml")
	builtIn, _ := suite.BuiltIn()
	for _, s := range builtIn {
		all = append(all, cobra.CompletionWithDesc(s.Name, s.About))
	}
	return all, cobra.ShellCompDirectiveDefault
}

// isResults reports whether a folder has the name of a results folder.
func isResults(dir string) bool {
	named, _ := filepath.Match("2*-*-*", filepath.Base(dir)) // the time when it was made, and what it is about
	return named || filepath.Base(dir) == results.Latest
}

// folders suggests results folders, the newest first. The function accepts decides which folders fit. As long as the
// word is empty, or a beginning of "results/", it suggests folders in results, where commands put them by default. If
// no folder fits, it completes any folder.
func folders(accepts func(dir string) bool) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, word string) (all []cobra.Completion, _ cobra.ShellCompDirective) {
		if strings.HasPrefix("results/", word) {
			word = "results/"
		}
		found, _ := filepath.Glob(escaped(word) + "*")
		for _, dir := range slices.Backward(found) { // their names begin with the time
			if accepts(dir) {
				all = append(all, dir)
			}
		}
		if all == nil {
			return nil, cobra.ShellCompDirectiveFilterDirs
		}
		return all, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// escaped returns a pattern for filepath.Glob that matches the given word alone.
func escaped(word string) string {
	return strings.NewReplacer("*", `\*`, "?", `\?`, "[", `\[`, `\`, `\\`).Replace(word)
}
