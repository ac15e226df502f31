// Command mutate changes a package in one small place at a time, and lists the changes that no test notices.
//
//	make bin/mutate && bin/mutate [flags] ./checkers [-- flags of its tests]
//
// It makes comparisons include or exclude equality (< becomes <=), negates conditions, swaps + and -, and omits return,
// continue and break. It compiles all mutants into one test binary, where the environment variable MUTANT selects one.
// It does not change files of the package. For each mutant it first runs the test that noticed the last mutant of the
// same file, and then the others in three stages, quick ones first.
//
// A mutant that fails no test survives. Survivors that behave like the original are listed with reasons in mutants.txt,
// in the package's folder. The exit code is 0 if tests notice all others and no entry of the list is stale, 1 if not,
// and 2 if mutate failed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"strings"
	"time"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// options holds the command's flags.
type options struct {
	pkg     string
	files   string
	every   int
	offset  int
	jobs    int
	longest time.Duration
	skip    string
	only    string
	overlay string
	show    bool
	flags   []string // flags for the tests
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("mutate", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&o.files, "file", ".", "mutate only files whose name matches this regular expression")
	f.IntVar(&o.every, "every", 1, "try one of so many mutants")
	f.IntVar(&o.offset, "from", 0, "with -every: leave out so many mutants first")
	f.IntVar(&o.jobs, "jobs", runtime.NumCPU(), "mutants tried at once")
	f.DurationVar(&o.longest, "longest", 4*time.Second, "leave out tests that take longer than this without mutants")
	f.StringVar(&o.skip, "skip", "", "leave out tests whose name matches this regular expression")
	f.StringVar(&o.only, "only", "", "try only the survivors of an earlier run, whose output is in this file")
	f.StringVar(&o.overlay, "overlay", "",
		"write the package with its mutants into this folder, try none: MUTANT=7 go test -overlay FOLDER/overlay.json")
	f.BoolVar(&o.show, "show", false, "list the mutants and try none")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() == 0 {
		return o, errors.New("name a package, such as ./checkers")
	}
	if o.every < 1 || o.offset < 0 || o.jobs < 1 {
		return o, errors.New("-every and -jobs are 1 or more, -from is 0 or more")
	}
	if _, err := regexp.Compile(o.files); err != nil {
		return o, fmt.Errorf("-file: %w", err)
	}
	o.pkg, o.flags = f.Arg(0), f.Args()[1:]
	if len(o.flags) > 0 && o.flags[0] == "--" {
		o.flags = o.flags[1:]
	}
	return o, nil
}

func run(args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "mutate:", err)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	fine, err := mutate(ctx, o, stdout)
	switch {
	case err != nil:
		_, _ = fmt.Fprintln(stderr, "mutate:", err)
		return 2
	case !fine:
		return 1
	}
	return 0
}

// mutate runs the tests under each mutant. It reports whether all survivors are listed, and all listed mutants
// survived.
func mutate(ctx context.Context, o options, out io.Writer) (bool, error) {
	p, err := load(o.pkg)
	if err != nil {
		return false, err
	}
	known, err := readList(p.list())
	if err != nil {
		return false, err
	}
	chosen, err := o.choose(p.mutants)
	if err != nil {
		return false, err
	}
	if o.show {
		for _, m := range chosen {
			_, _ = fmt.Fprintf(out, "%d %s:%d: %s\n", m.number, m.file, m.line, m.key())
		}
		return true, nil
	}
	if o.overlay != "" {
		_, err := p.overlay(o.overlay)
		return err == nil, err
	}
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return false, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	t, err := compile(ctx, p, dir, o)
	if err != nil {
		return false, err
	}
	survived, err := t.all(ctx, chosen, o.jobs, out)
	if err != nil {
		return false, err
	}
	return known.report(p.mutants, chosen, survived, out), nil
}

// choose returns the mutants that the flags select.
func (o options) choose(all []mutant) ([]mutant, error) {
	wanted := regexp.MustCompile(o.files)
	earlier := map[string]bool{}
	if o.only != "" {
		data, err := os.ReadFile(o.only)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(data)) {
			if where, ok := strings.CutPrefix(strings.TrimSpace(line), survivor); ok {
				_, key, _ := strings.Cut(where, ": ")
				earlier[key] = true
			}
		}
	}
	var chosen []mutant
	n := 0
	for _, m := range all {
		if !wanted.MatchString(m.file) || o.only != "" && !earlier[m.key()] {
			continue
		}
		if n >= o.offset && (n-o.offset)%o.every == 0 {
			chosen = append(chosen, m)
		}
		n++
	}
	return chosen, nil
}
