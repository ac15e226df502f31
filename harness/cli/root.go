// Package cli is the doublegrant command line, on top of harness/plan, results, suite and experiments. No other package
// prints.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"regexp"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/cluster/docker"
	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/harness/suggest"
	"github.com/doublegrant/doublegrant/harness/texttable"
)

// Exit codes.
const (
	ExitMet     = 0  // every expectation was met; for a single run: valid
	ExitInvalid = 1  // a violation was found, or an expectation was not met
	ExitUnknown = 2  // undecided, or interrupted before any verdict
	ExitFailed  = 3  // the harness or its environment failed
	ExitUsage   = 64 // wrong usage

	ExitInterrupted = 130 // a second interrupt ended the process at once
)

// Main runs the command line args and returns the exit code. The first interrupt ends the command in good order. After
// a second one, Main returns ExitInterrupted at once, while the command still runs, and the process has to exit.
func Main(args []string, stdout, stderr io.Writer) (code int) {
	if cluster.Watchdog() || docker.Watchdog() { // this process was started to remove another's folder or containers
		return ExitMet
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	interrupts := make(chan os.Signal, 2)
	signal.Notify(interrupts, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(interrupts)
	tracked := &trackedWriter{Writer: stdout}
	a := &app{out: tracked, tracked: tracked, terminal: stdout, err: newScreen(stderr)}
	ended := make(chan int, 1)
	go func() { ended <- a.execute(ctx, args, stdout, stderr) }()
	for {
		select {
		case code := <-ended:
			return code
		case <-interrupts:
			if ctx.Err() != nil {
				return ExitInterrupted
			}
			cancel()
			go a.interrupted() // in the background, so that the second one counts even if standard error blocks
		}
	}
}

// execute runs the command line and returns its exit code. An interrupt cancels ctx.
func (a *app) execute(ctx context.Context, args []string, stdout, stderr io.Writer) (code int) {
	defer func() {
		if p := recover(); p != nil { // Go's own exit code of a panic means an unknown verdict here
			fmt.Fprintf(stderr, "doublegrant: a defect of doublegrant: %v\n%s", p, debug.Stack())
			code = a.failed(ExitFailed, fmt.Errorf("a defect of doublegrant: %v", p))
		}
	}()
	_ = cluster.RaiseFileLimit() // if it fails, a run that needs more files reports it
	root := a.root()
	root.SetArgs(append([]string{}, args...)) // nil would mean those of this process
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return a.code
	}
	fmt.Fprintln(a.err, "doublegrant: "+message(err)+mountHint(err))
	if code = exitCode(err); code == ExitFailed && ctx.Err() != nil { // an interrupt is not a failure
		code = ExitUnknown
	}
	return a.failed(code, err)
}

// app is one invocation of the command line.
type app struct {
	out      io.Writer      // where results are written, coloured on request
	terminal io.Writer      // where out finally writes; its width limits tables
	tracked  *trackedWriter // all output to out goes through it
	err      *screen
	code     int    // exit code of a command that ran
	format   string // value of -o; empty: the flags could not be parsed
	json     bool   // whether -o json was given
	markdown bool   // whether -o markdown was given
	verbose  bool   // whether -v was given, so that statistics are printed, too
	place    placeFlags
	external plan.OnExternal // where plans of topology external run
	warned   sync.Map        // warnings that have been printed
	groups   map[*cobra.Command][]flagGroup
}

// writesMarkdown is the annotation of commands that support -o markdown.
const writesMarkdown = "markdown"

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "doublegrant",
		Short: "Is my Redis lock safe?",
		Long: `Is my Redis lock safe? doublegrant races clients for a Redis lock, message filter or number generator,
breaks the cluster under them, records every operation and finds what was granted twice.

Ctrl-C ends a command cleanly: faults heal, Redis stops, and what was recorded is judged. A second Ctrl-C ends the
process at once, with exit code 130 and without a verdict.`,
		SilenceErrors: true, SilenceUsage: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return unknownCommand(cmd, args[0])
		},
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		Version: version(),
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.Flags().Bool("version", false, "print the version") // without -v, which means --verbose elsewhere
	var colors colorFlags
	colors.add(root.PersistentFlags())
	root.PersistentFlags().StringVarP(&a.format, "output", "o", "text",
		"output format: text or json; with explore also markdown, for an issue tracker")
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		also := ""
		if cmd.Annotations[writesMarkdown] != "" {
			also = ", markdown"
		}
		switch format := a.format; {
		case format == "markdown" && also != "":
		case format == "markdown":
			return usage("%s cannot write markdown: choose text or json", cmd.Name())
		case format != "text" && format != "json":
			return usage("unknown output %q: choose text%s or json", format, also)
		}
		a.json, a.markdown = a.format == "json", a.format == "markdown"
		if a.format == "text" && wantsASCII(texttable.Terminal(a.terminal), os.Getenv) {
			a.out = asciiWriter{a.out}
		}
		colored, err := colors.resolve(a.terminal)
		if colored && a.format == "text" {
			a.out = painter{a.out}
		}
		return err
	}
	root.SetGlobalNormalizationFunc(currentFlag)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		a.format = ""
		return usage("%s", rewordFlagError(cmd, err))
	})
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpCommand(helpCommand())
	root.AddCommand(a.exploreCommand(), a.runCommand(), a.checkCommand(), a.adapterCommand(), a.historyCommand(),
		a.reportCommand(), a.compareCommand(),
		a.suiteCommand(), a.mergeCommand(), a.coordinateCommand(), a.workCommand(), a.demoCommand(),
		a.reproduceCommand(), a.bugsCommand(), a.listCommand(), a.doctorCommand(), a.initCommand(),
		completionCommand(), a.manCommand(),
		a.versionCommand())
	complete(root)
	return root
}

// currentFlag returns the current name of a flag, if name is what an earlier version called the flag. It returns any
// other name unchanged.
func currentFlag(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	switch name {
	case "client":
		name = "adapter"
	case "allow-clients":
		name = "allow-adapters"
	}
	return pflag.NormalizedName(name)
}

// fromParsers lists patterns for the end of error messages of Go's parsers, and the text that is printed in place of
// what they match.
var fromParsers = []struct {
	end    *regexp.Regexp
	remedy string
}{
	{regexp.MustCompile(`strconv\.ParseUint: .*`), "want a whole number, 0 or more"},
	{regexp.MustCompile(`strconv\.(ParseInt|Atoi): .*`), "want a whole number"},
	{regexp.MustCompile(`strconv\.ParseFloat: .*`), "want a number"},
	{regexp.MustCompile(`strconv\.ParseBool: .*`), "want true or false"},
	{regexp.MustCompile(`time: .*`), "want a time with its unit, such as 2s or 300ms"},
}

// rewordFlagError rewrites an error about a flag of cmd in the user's terms.
func rewordFlagError(cmd *cobra.Command, err error) string {
	s := err.Error()
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "" {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		return s + ": " + cmp.Or(suggest.Question("--", unknown.GetSpecifiedName(), names),
			cmd.CommandPath()+" --help lists them all")
	}
	for _, p := range fromParsers {
		s = p.end.ReplaceAllLiteralString(s, p.remedy)
	}
	return s
}

func commandNames(cmd *cobra.Command) (all []string) {
	for _, c := range cmd.Commands() {
		all = append(all, c.Name())
	}
	return all
}

// interrupted tells the user what happens after the first Ctrl-C, since nothing else is printed until faults are healed
// and Redis has stopped.
func (a *app) interrupted() {
	fmt.Fprintln(a.err, "doublegrant: interrupted: healing faults, stopping Redis and judging what was recorded; "+
		"press Ctrl-C again to quit at once without a verdict")
}

func usage(format string, args ...any) error {
	return fmt.Errorf("%w: %w", plan.ErrUsage, fmt.Errorf(format, args...))
}

// exitCode returns the exit code of an error: wrong usage, or a failed environment.
func exitCode(err error) int {
	if errors.Is(err, plan.ErrUsage) || errors.Is(err, harness.ErrSpec) {
		return ExitUsage
	}
	return ExitFailed
}

// message returns err on one line, without the prefix of usage errors.
func message(err error) string {
	s := strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "; ")
	return strings.ReplaceAll(s, plan.ErrUsage.Error()+": ", "")
}

// mountHint returns a remedy for a file that cannot be written in the container image of this program. Elsewhere it is
// empty.
func mountHint(err error) string {
	image, _ := docker.CurrentImage()
	if image == "" || !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.EROFS) {
		return ""
	}
	return fmt.Sprintf("; in a container: mount a folder there and run as its owner (docker run --user %q -v %q)",
		"$(id -u):$(id -g)", "$PWD/results:/results")
}

// verdictCode returns the exit code of a single run.
func verdictCode(v harness.Verdict) int {
	switch v {
	case harness.Valid:
		return ExitMet
	case harness.Invalid:
		return ExitInvalid
	default:
		return ExitUnknown
	}
}
