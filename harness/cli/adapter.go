package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/harness/results"
	"github.com/doublegrant/doublegrant/reports"
	"github.com/doublegrant/doublegrant/workloads"
)

func (a *app) adapterCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "adapter", Aliases: []string{"client"},
		Short: "programs in any language whose lock, filter or sequence is put under test",
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("unknown command %q of adapter: there is doublegrant adapter check -- COMMAND", args[0])
			}
			return nil
		},
	}
	var of variantFlags
	check := &cobra.Command{
		Use:   "check -- COMMAND",
		Short: "talk with an adapter through every message, on a Redis of its own, and say what is wrong",
		Long: "Starts an adapter, a program that speaks the protocol of workloads/adapters/README.md, on a Redis of " +
			"its own, asks it for\n" +
			"everything once, and prints a line for each step. Exit code 0: it can be explored and run; " +
			"1: something is wrong.",
		Example: "  doublegrant adapter check -- python3 mylock.py",
		RunE: func(cmd *cobra.Command, args []string) error {
			_, c, err := of.readAdapter(cmd, args)
			switch {
			case err != nil:
				return err
			case c == nil:
				return usage("no adapter given: doublegrant adapter check -- COMMAND")
			}
			return a.checkAdapter(cmd.Context(), *c)
		},
	}
	f := check.Flags()
	f.StringVar(&of.script.as, "as", "", "what the adapter is: lock, dedup or sequence (default: what it says)")
	f.StringVar(&of.adapter.line, "adapter", "", "the adapter's command line, instead of -- COMMAND")
	f.StringVar(&of.adapter.connect, "connect", "", connectHelp)
	a.place.addRedis(check)
	cmd.AddCommand(check)
	return cmd
}

// adapterFlags hold the flags that name an adapter and say how to run it.
type adapterFlags struct {
	line      string // the adapter's command line
	connect   string // address at which the adapter listens
	announces bool   // true: the adapter runs by itself, and announces its operations
	clock     string // clock that an announcing adapter reads in a search
	processes int
	realCrash bool
}

const connectHelp = "where an adapter listens, unix:PATH, instead of its command line"

func (c *adapterFlags) add(f *pflag.FlagSet) {
	f.StringVar(&c.line, "adapter", "", "a program of your own in any language, instead of a variant: its command "+
		"line. Short form: -- COMMAND")
	f.StringVar(&c.connect, "connect", "", connectHelp)
	f.BoolVar(&c.announces, "announces", false,
		"the adapter drives itself, and announces its operations by ECHO; with --as, and only in a search")
	f.StringVar(&c.clock, "clock", "", "with --announces, the clock that the adapter reads in a search: preloaded or "+
		"real, as the table of clocks in workloads/adapters/README.md says (default: none)")
	f.IntVar(&c.processes, "processes", 0,
		"processes of the adapter that share the clients of each of the 5 client groups, under load (default: 1)")
	f.BoolVar(&c.realCrash, "real-crash", false,
		"a crash in a search kills the adapter's process (default: it is cut off from Redis, which is faster)")
}

// adapterCheck is the JSON output of the command adapter check.
type adapterCheck struct {
	reports.Head
	Steps   []adapterStep      `json:"steps"`
	Wrong   bool               `json:"wrong"` // whether a step failed
	Adapter *workloads.Adapter `json:"client,omitempty"`
}

type adapterStep struct {
	Step  string `json:"step"`
	Wrong string `json:"wrong,omitempty"`
}

// checkAdapter checks an adapter and prints each step.
func (a *app) checkAdapter(ctx context.Context, c workloads.Adapter) error {
	report := adapterCheck{Head: reports.HeadOf("adapter-check")}
	c, err := results.CheckAdapter(ctx, c, a.options(), func(step string, wrong error) {
		s := adapterStep{Step: step}
		if wrong != nil {
			s.Wrong, report.Wrong = message(wrong), true
		}
		report.Steps = append(report.Steps, s)
		switch {
		case a.json:
		case wrong != nil:
			a.println("WRONG  %s: %s", s.Step, s.Wrong)
		default:
			a.println("ok     %s", s.Step)
		}
	})
	if err != nil && (!report.Wrong || !errors.Is(err, plan.ErrUsage)) {
		return err
	}
	if report.Wrong {
		a.code = ExitInvalid
	}
	switch report.Adapter = &c; {
	case a.json:
		return a.printJSON(report)
	case !report.Wrong:
		next := "-- " + plan.CommandLine(c.Command...)
		if c.Connect != "" {
			next = "--connect " + plan.CommandLine(c.Connect)
		}
		if c.Masters > 0 { // the explorer has one master
			next = fmt.Sprintf("run --topology %s %s", plan.ManyMasters, next)
		} else {
			next = "explore " + next
		}
		a.println("next: doublegrant %s", next)
	}
	return nil
}

// readAdapter returns the adapter that the command line names: by --adapter, by --connect, or by the command after
// "--". Without one of these, c is nil. It also returns the other arguments: those before "--".
func (v *variantFlags) readAdapter(cmd *cobra.Command, args []string) (others []string, c *workloads.Adapter,
	err error) {
	var command []string
	if at := cmd.ArgsLenAtDash(); at >= 0 {
		args, command = args[:at], args[at:]
		if len(command) == 0 {
			return args, nil, usage("no adapter after --: give its command, such as python3 mylock.py")
		}
	}
	f := &v.adapter
	if f.line != "" {
		if command != nil {
			return args, nil, usage("two adapters given, by --adapter and after --: leave one of them out")
		}
		if command, err = splitWords(f.line); err != nil {
			return args, nil, usage("--adapter: %w", err)
		}
	}
	if command == nil && f.connect == "" {
		if f.processes != 0 || f.realCrash || f.announces || f.clock != "" {
			return args, nil, usage("--announces, --clock, --processes and --real-crash are about an adapter: " +
				"name it by --adapter")
		}
		return args, nil, nil
	}
	if f.clock != "" && !f.announces {
		return args, nil, usage("--clock %s: an adapter that does not announce its operations says its clock itself, "+
			"in its answer to init", f.clock)
	}
	if len(command) == 1 {
		if _, err := strconv.Atoi(command[0]); err == nil {
			return args, nil, usage("--adapter %s: a program is wanted: did you mean --clients?", command[0])
		}
	}
	adapter := &workloads.Adapter{As: workloads.Family(v.script.as), Command: command, Connect: f.connect,
		Announces: f.announces, Processes: f.processes, RealCrash: f.realCrash, Clock: workloads.AdapterClock(f.clock)}
	if s := &v.script; s.file != "" || s.onlyOfScripts() {
		return args, nil, usage("--script and its flags are about Lua, and %s is an adapter: leave one of them out",
			cmp.Or(f.connect, strings.Join(command[:min(1, len(command))], "")))
	}
	return args, adapter, nil
}

// splitWords splits a command line at spaces, as a shell does. Quotes keep words together, and a backslash keeps the
// next character.
func splitWords(line string) (words []string, err error) {
	var word strings.Builder
	quote, begun, escaped := rune(0), false, false
	for _, c := range line {
		switch {
		case escaped:
			word.WriteRune(c)
			escaped = false
		case c == '\\' && quote != '\'':
			escaped, begun = true, true
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote, begun = c, true
		case quote == 0 && (c == ' ' || c == '\t' || c == '\n'):
			if begun {
				words = append(words, word.String())
			}
			word.Reset()
			begun = false
		default:
			word.WriteRune(c)
			begun = true
		}
	}
	if quote != 0 || escaped {
		return nil, errors.New("a quote or backslash at its end is open: close it")
	}
	if begun {
		words = append(words, word.String())
	}
	if len(words) == 0 {
		return nil, errors.New("it is empty: give a command line, such as 'python3 mylock.py'")
	}
	return words, nil
}
