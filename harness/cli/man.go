package cli

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/reports"
)

// manWritten is the JSON output of the command man.
type manWritten struct {
	reports.Head
	Dir   string   `json:"dir"`
	Pages []string `json:"pages"` // files in the folder Dir, one for each command
}

func (a *app) manCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "man [DIR]",
		Short: "write manual pages, one for each command",
		Long: "Write manual pages from the texts of --help into DIR (default: man), one for each command. Pages that " +
			"are there\nalready are replaced.",
		Example: "  doublegrant man && man -l man/doublegrant-run.1\n" +
			"  doublegrant man ~/.local/share/man/man1",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage("%d folders given: name one", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.man(cmd.Root(), filepath.Clean(cmp.Or(strings.Join(args, ""), "man")))
		},
	}
}

// man writes the pages into a folder.
func (a *app) man(root *cobra.Command, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return cannotWrite("manual pages", err)
	}
	w := manWritten{Head: reports.HeadOf("man-pages"), Dir: dir}
	for _, cmd := range withCommands(root) {
		name := pageOf(cmd) + ".1"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(a.manPage(cmd)), 0o644); err != nil {
			return cannotWrite("manual pages", err)
		}
		w.Pages = append(w.Pages, name)
	}
	if a.json {
		return a.printJSON(w)
	}
	a.println("wrote %d pages: man -l %s", len(w.Pages), plan.CommandLine(filepath.Join(dir, w.Pages[0])))
	return nil
}

// withCommands lists cmd and all available commands below it.
func withCommands(cmd *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{cmd}
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			all = append(all, withCommands(c)...)
		}
	}
	return all
}

// pageOf returns the name of a command's manual page, such as doublegrant-run.
func pageOf(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// manPage returns the manual page of a command, in the language of man(7).
func (a *app) manPage(cmd *cobra.Command) string {
	var b strings.Builder
	cmd.InitDefaultHelpFlag()
	section := func(title, text string) { fmt.Fprintf(&b, ".SH %s\n%s\n", title, text) }
	source := "doublegrant " + buildOf(debug.ReadBuildInfo()).Version
	fmt.Fprintf(&b, ".TH %q 1 \"\" %q \"\"\n.ad l\n", strings.ToUpper(pageOf(cmd)), roff(source))
	section("NAME", roff(pageOf(cmd)+" - ")+roff(cmd.Short))
	section("SYNOPSIS", ".nh\n"+roff(cmd.UseLine())+"\n.hy")
	section("DESCRIPTION", strings.ReplaceAll(roff(cmp.Or(cmd.Long, cmd.Short+".")), "\n\n", "\n.PP\n"))
	var below strings.Builder
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			fmt.Fprintf(&below, ".TP\n.BR %s (1)\n%s\n", roff(pageOf(c)), roff(c.Short))
		}
	}
	if below.Len() > 0 {
		section("COMMANDS", strings.TrimSuffix(below.String(), "\n"))
	}
	fmt.Fprint(&b, ".SH OPTIONS\n")
	for _, s := range flagSections(cmd, a.groups[cmd]) {
		if a.groups[cmd] != nil {
			fmt.Fprintf(&b, ".SS %s\n", roff(s.title))
		}
		s.VisitAll(func(f *pflag.Flag) {
			one := pflag.NewFlagSet("", pflag.ContinueOnError) // what stands behind its name is its text
			one.AddFlag(f)
			name, text, _ := strings.Cut(strings.TrimSpace(one.FlagUsages()), "   ")
			fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(name), roff(strings.Join(strings.Fields(text), " ")))
		})
	}
	if cmd.Example != "" {
		section("EXAMPLES", ".nf\n"+roff(cmd.Example)+"\n.fi")
	}
	if parent := cmd.Parent(); parent != nil {
		section("SEE ALSO", ".BR "+roff(pageOf(parent))+" (1)")
	}
	return b.String()
}

// roff escapes text, so that man prints it as it is: its hyphens, backslashes and lines have no meaning to man.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`).Replace(text)
	return strings.ReplaceAll("\n"+text, "\n.", "\n\\&.")[1:]
}
