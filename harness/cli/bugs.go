package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/doublegrant/doublegrant/harness/texttable"
	"github.com/doublegrant/doublegrant/harness/trackrecord"
	"github.com/doublegrant/doublegrant/reports"
	"github.com/doublegrant/doublegrant/workloads/bugs"
)

func (a *app) bugsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "bugs [LIBRARY[@VERSION] | FILE]",
		Short: "list bugs of real libraries that reproduce shows; or say whether the versions that you use have one",
		Long: "Lists the bugs of real libraries that doublegrant reproduce shows. With a library, lists that library's; " +
			"with a\n" +
			"version too, or a file that pins versions (" + bugs.Files() + "),\n" +
			"says which bugs those versions have. Nothing is asked of the network. Exit code 1: a version has a bug of " +
			"the table.",
		Example: "  doublegrant bugs\n" +
			"  doublegrant bugs redsync\n" +
			"  doublegrant bugs redsync@v4.10.0\n" +
			"  doublegrant bugs go.mod\n" +
			"  doublegrant reproduce bug/redislock-token",
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.bugsOf(strings.Join(args, ""))
		},
	}
}

// listedBugs is the JSON output of the command bugs.
type listedBugs struct {
	reports.Head
	Bugs []bugs.Match `json:"bugs"`
}

// shownBugs is the JSON output of the command reproduce bug/...
type shownBugs struct {
	reports.Head
	Bugs []trackrecord.Outcome `json:"bugs"`
}

// listBugs prints bugs as a table. If the version in use is known for at least one bug, the table has a column for
// these versions. Without a terminal, the class, conditions and issues of a bug stand below its row, in lines of at
// most 120 columns, so that no name is broken.
func (a *app) listBugs(all []bugs.Match) error {
	if a.json {
		return a.printJSON(listedBugs{reports.HeadOf("bugs"), all})
	}
	piped := texttable.Width(a.terminal) == 0
	used := slices.ContainsFunc(all, func(m bugs.Match) bool { return m.Used != "" })
	var t texttable.Table
	add := func(yours string, cells ...string) {
		if piped {
			cells = cells[:4]
		}
		if used {
			cells = slices.Insert(cells, 2, yours)
		}
		t.Add(cells...)
	}
	add("YOURS", "BUG", "LIBRARY", "SHOWN WITH", "FIXED IN", "CLASS", "CONDITIONS", "UPSTREAM")
	below := []string{""}
	for _, b := range all {
		add(cmp.Or(b.Used, "any"), b.Name(), b.Library, b.Shown.Version, cmp.Or(b.Fixed, "-"), string(b.Class),
			b.Conditions, b.Upstream.String())
		below = append(below, texttable.Fold("    ", fmt.Sprintf("%s: %s; %s", b.Class, b.Conditions, b.Upstream), 120))
	}
	if !piped {
		return a.write(&t)
	}
	var rows strings.Builder
	if err := t.Write(&rows, 0); err != nil {
		return err
	}
	i := 0
	for row := range strings.Lines(rows.String()) { // of any length, so each is one line
		fmt.Fprint(a.out, row+below[i])
		i++
	}
	return nil
}

// bugsOf prints the bugs of what arg names: a library, a version of a library, or a file that pins versions. An empty
// arg means all bugs.
func (a *app) bugsOf(arg string) error {
	use, err := bugs.ParseUse(arg)
	if err != nil {
		return usage("%w", err)
	}
	found, err := use.Bugs()
	switch {
	case err != nil:
		return err
	case len(found) == 0 && !a.json && use.Pinned():
		a.println("%s: no bug of the table%s", arg, use.Meant())
		return nil
	case len(found) == 0 && !a.json:
		a.println("%s: no bug of a library of this name, and no such file%s", arg,
			cmp.Or(use.Meant(), ": doublegrant bugs lists the libraries; files are "+bugs.Files()))
		return nil
	case len(found) > 0 && use.Pinned():
		a.code = ExitInvalid
	}
	return a.listBugs(found)
}

// isBug reports whether an argument of reproduce names a bug.
func isBug(arg string) bool { return strings.HasPrefix(arg, bugs.Prefix) }

const everyBug = "all" // argument that names all bugs together

// reproduceBugs shows the named bugs one after the other. If table is not empty, it is the path of a file into which
// reproduceBugs also writes a table of these bugs. The exit code is 1 if a bug did not show as stated, else 3 if this
// machine lacks something, else 2 if a search was undecided.
func (a *app) reproduceBugs(cmd *cobra.Command, names []string, table string) error {
	ctx := cmd.Context()
	for _, flag := range []string{"all", "list", "trials", "parallel", "seed", "on", "redis-image"} {
		if cmd.Flags().Changed(flag) {
			return usage("--%s is of experiments, and a bug has a search of its own: leave it out", flag)
		}
	}
	chosen, err := chosenBugs(names)
	if err != nil {
		return err
	}
	var outs []trackrecord.Outcome
	for i, b := range chosen {
		if len(chosen) > 1 {
			fmt.Fprintf(a.err, "[%d/%d] %s\n", i+1, len(chosen), b.Name())
		}
		out, err := trackrecord.Show(ctx, b, a.options())
		if err = orInterrupted(ctx, err); err != nil {
			return err
		}
		outs = append(outs, out)
		if a.json {
			continue
		}
		if a.markdown {
			err = trackrecord.Markdown(a.out, out)
		} else {
			err = a.printBug(out, len(chosen) == 1)
		}
		if err != nil {
			return err
		}
	}
	a.code = trackrecord.ExitCode(outs)
	if table != "" {
		if err := trackrecord.WriteTable(table, outs); err != nil {
			return err
		}
	}
	switch {
	case a.json:
		return a.printJSON(shownBugs{reports.HeadOf("bug-reproductions"), outs})
	case len(outs) > 1 && !a.markdown:
		a.println("%s", trackrecord.Summary(outs))
	}
	return nil
}

// chosenBugs returns the named entries, each once.
func chosenBugs(names []string) (chosen []bugs.Bug, err error) {
	if slices.Contains(names, bugs.Prefix+everyBug) {
		if len(names) > 1 {
			return nil, usage("%s leaves nothing to name beside it", bugs.Prefix+everyBug)
		}
		return bugs.All()
	}
	for _, name := range names {
		id, ok := strings.CutPrefix(name, bugs.Prefix)
		if !ok {
			return nil, usage("%s is not a bug: reproduce bugs and experiments one after the other", name)
		}
		b, err := bugs.Find(id)
		if err != nil {
			return nil, usage("%w", err)
		}
		chosen = append(chosen, b)
	}
	return chosen, nil
}

// printBug prints whether a bug was shown. If full is set, it prints the counterexample first.
func (a *app) printBug(out trackrecord.Outcome, full bool) error {
	if full && out.Shown.Search.Name != "" {
		if err := reports.ExplorationText(a.out, out.Shown.Search, a.layout()); err != nil {
			return err
		}
		a.println("")
	}
	a.println("%s", out.Line())
	return nil
}

// printBugsAbout prints the names of the known bugs of the library that a variant of the catalogue runs. It prints
// nothing if there are none.
func (a *app) printBugsAbout(variant string) error {
	if a.json || a.markdown || !strings.HasPrefix(variant, "lib/") {
		return nil
	}
	names, err := bugs.About(variant)
	if err == nil && len(names) > 0 {
		a.println("in the table of bugs: %s; doublegrant reproduce %s", strings.Join(names, ", "), names[0])
	}
	return err
}
