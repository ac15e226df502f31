package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/harness/skeleton"
	"github.com/doublegrant/doublegrant/reports"
)

// skeletonWritten is the JSON output of the command init.
type skeletonWritten struct {
	reports.Head
	Dir      string   `json:"dir"`
	Files    []string `json:"files"` // files in the folder Dir
	Change   string   `json:"change"`
	Needs    string   `json:"needs,omitempty"`
	Commands []string `json:"commands"` // commands to run next, in a shell in the folder Dir
}

func (a *app) initCommand() *cobra.Command {
	names := strings.Join(skeleton.Names(), "|")
	return &cobra.Command{
		Use:   "init " + names + " [DIR]",
		Short: "write a test of your own lock to start from, in your language, or a suite for CI",
		Long: "Write a lock that works and the files to test it, or a suite with jobs for GitHub and GitLab, into DIR " +
			"(default: this\n" +
			"folder), and print where your own code goes and the commands that test it. Files that are there already " +
			"are never\n" +
			"written over: then nothing is written, and the exit code is 64.",
		Example: "  doublegrant init python mylock\n" +
			"  doublegrant init suite",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 || len(args) > 2 {
				return usage("want a language or suite, and perhaps a folder: doublegrant init %s [DIR]", names)
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			return a.init(args[0], filepath.Clean(append(args, ".")[1]))
		},
	}
}

// init writes a skeleton into a folder, and prints the next steps.
func (a *app) init(name, dir string) error {
	s, err := skeleton.Find(name)
	if err != nil {
		return usage("%w", err)
	}
	version := publishedVersion(debug.ReadBuildInfo())
	if name == "go" && version == "" {
		s.Needs += "; this build has no published version, so go mod tidy takes the latest"
	}
	files, err := s.Files(version)
	if err != nil {
		return err
	}
	if err := skeleton.Write(dir, files); err != nil {
		return cannotWrite("the skeleton", err)
	}
	w := skeletonWritten{Head: reports.HeadOf("skeleton"), Dir: dir, Change: s.Change, Needs: s.Needs,
		Commands: s.Commands}
	for _, f := range files {
		w.Files = append(w.Files, f.Name)
	}
	if a.json {
		return a.printJSON(w)
	}
	label := "wrote"
	for _, name := range w.Files {
		a.println("%-7s %s", label, filepath.Join(dir, name))
		label = ""
	}
	a.println("change  %s", w.Change)
	if w.Needs != "" {
		a.println("needs   %s", w.Needs)
	}
	a.println("\nTry it:")
	if dir != "." {
		a.println("    cd %s", plan.CommandLine(dir))
	}
	for _, command := range w.Commands {
		a.println("    %s", command)
	}
	return nil
}

// cannotWrite returns the error for files that could not be written. That is wrong usage, since another folder may
// help. A full or broken disk is not.
func cannotWrite(what string, err error) error {
	err = fmt.Errorf("%s cannot be written: %w", what, err)
	for _, disk := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EIO} {
		if errors.Is(err, disk) {
			return err
		}
	}
	return usage("%w: name another folder", err)
}

// publishedVersion returns the version of a program that the Go command built from a published module, which has a
// checksum. It is empty for other programs, such as one that was built in a clone.
func publishedVersion(info *debug.BuildInfo, ok bool) string {
	if !ok || info.Main.Sum == "" {
		return ""
	}
	return info.Main.Version
}
