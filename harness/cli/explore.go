package cli

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/coordinate"
	"github.com/doublegrant/doublegrant/harness/explore"
	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/harness/results"
	"github.com/doublegrant/doublegrant/harness/suggest"
	"github.com/doublegrant/doublegrant/harness/workqueue"
	"github.com/doublegrant/doublegrant/reports"
)

type exploreFlags struct {
	searchFlags
	pieces    pieceFlags
	replay    replayFlags
	all       bool   // whether the whole catalogue is searched
	situation string // situation to print step by step
}

func (f *exploreFlags) add(cmd *cobra.Command) {
	f.searchFlags.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.situation, "situation", "",
		"print the steps of the shortest schedule that met this situation, such as \"release after the lease\"")
	flags.BoolVar(&f.all, "all", false, "search the whole catalogue, sequences under every regime; exit code 0 if "+
		"every result is as documented")
	flags.StringVar(&f.replay.from, "replay", "",
		"run a counterexample again, from its file or its recipe (dg1-...); exit code 1 if every replay ends the "+
			"same way")
	flags.IntVar(&f.replay.times, "times", 1, "how often to replay")
	f.pieces.add(cmd)
}

func (a *app) exploreCommand() *cobra.Command {
	var f exploreFlags
	cmd := &cobra.Command{
		Annotations: map[string]string{writesMarkdown: "yes"},

		Use:   "explore [VARIANT | -- COMMAND]",
		Short: "try every interleaving of a few clients, and print the smallest that breaks the variant",
		Long: `Runs a few clients against a real Redis, one command at a time: in every order of their commands, with a crash,
the end of a lease or the promotion of a replica that lags behind at every place.

Exit code 0: every schedule was run, and none breaks the variant; 1: some do, and the smallest are printed; 2: a limit
was reached first, or schedules were drawn at random (--random, or 5 clients or more) and none broke the variant.`,
		Example: "  doublegrant explore dedup/get-set\n" +
			"  doublegrant explore lock/set-nx-px --failovers 1 --crashes 0 --expiries 0\n" +
			"  doublegrant explore lock/watch-multi --clients 8 --random 5000\n" +
			"  doublegrant explore --replay results/latest/anomalies/001-double-grant.json --times 100\n" +
			"  doublegrant explore --replay dg1-... -o markdown\n" +
			"  doublegrant explore --script my.lua --as sequence --keys k --args '{proposed}'\n" +
			"  doublegrant explore -- python3 mylock.py",
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.replay.from != "" {
				return a.replay(cmd, &f, args)
			}
			return a.explore(cmd, &f, args)
		},
	}
	f.add(cmd)
	a.place.add(cmd)
	a.verboseFlag(cmd)
	return a.groupFlags(cmd, ofSearches)
}

// searchFlags hold the flags that the commands explore and coordinate explore share.
type searchFlags struct {
	search  plan.Search
	variant variantFlags
}

func (sf *searchFlags) add(cmd *cobra.Command) {
	f, s := cmd.Flags(), &sf.search
	for _, b := range s.Fields() {
		f.IntVar(b.N, b.Flag, b.Default, b.Help)
	}
	f.DurationVar(&s.Skew, "skew", 0, "how far the last client's clock is ahead of the others'")
	f.DurationVar(&s.TTL, "ttl", 0, "lease of a lock or window of a message filter (default: the variant's; 10.5s "+
		"for your own lock, 20.5s for your own filter)")
	f.StringVar(&s.Regime, "regime", "",
		"what callers of a sequence propose: see doublegrant list (default, and all: each regime in turn)")
	f.IntVar(&s.MaxSchedules, "max-schedules", 0, "end after this many schedules (default: no limit)")
	f.DurationVar(&s.For, "for", plan.DefaultFor, "end after this time; 0: no limit")
	f.BoolVar(&s.First, "first", false, "end at the first counterexample, which may not be the smallest")
	f.IntVar(&s.Random, "random", 0, "run this many schedules drawn at random instead of every one (default with 5 "+
		"clients or more: as many as fit into --for)")
	f.StringVar(&s.Strategy, "strategy", "",
		"how --random draws schedules: "+strings.Join(explore.Strategies(), " or ")+" (default: "+
			""+explore.Strategies()[0]+
			")")
	f.IntVar(&s.Depth, "depth", 0, "how many steps have to come in the right order for the bugs that --random looks "+
		"for, 1 to 10 (default: 3)")
	f.Uint64Var(&s.Seed, "seed", 0, "seed of all random choices (default: chosen and reported)")
	f.BoolVar(&s.Twice, "twice", false, "first run some schedules twice, and end the search if a client behaves "+
		"differently the second time")
	f.BoolVar(&s.Unpruned, "unpruned", false,
		"also run schedules that differ only in the order of independent commands")
	sf.variant.add(cmd)
}

// faultFlags lists the flags that bound the faults in a schedule.
func faultFlags() (names []string) {
	for _, b := range new(interleave.Bounds).Fields()[1:] { // without clients
		names = append(names, b.Flag)
	}
	return names
}

// explore makes the searches of the command line and prints their results.
func (a *app) explore(cmd *cobra.Command, f *exploreFlags, args []string) error {
	pieces := &f.pieces
	if err := pieces.check(cmd, f.all, args); err != nil {
		return err
	}
	if err := a.checkExplore(f); err != nil {
		return err
	}
	var requested searches
	var err error
	how := searchHow{situation: f.situation}
	if pieces.resume == "" {
		requested, err = a.searches(cmd, &f.searchFlags, f.all, args)
	} else if err = checkLimits(cmd); err == nil {
		var s plan.Search
		s, how.from, err = pieces.resumed(f.search)
		requested.all = []plan.Search{s}
	}
	if err != nil {
		return err
	}
	if how.save = pieces.save; how.save != "" && len(requested.all) > 1 {
		return usage("--save is for one search, and %s has one for each regime: choose one with --regime",
			requested.all[0].Variant)
	}
	if pieces.workers == 0 {
		return a.makeSearches(cmd.Context(), requested, how)
	}
	work := &coordinate.Work{}
	return a.runLocally(cmd.Context(), pieces.workers, workqueue.DefaultLease, work,
		func(ctx context.Context, q workqueue.Queue) error {
			return a.searchBy(ctx, q, work, requested, how)
		})
}

// searches is what a command line asks for: one search, a search for each regime of a sequence, or the searches of the
// whole catalogue.
type searches struct {
	all       []plan.Search
	catalogue bool
}

// searchHow says where searches run, where they are saved, and what is printed of their results.
type searchHow struct {
	save      string
	from      *results.Saved                            // search to resume; nil: the search begins anew
	pieces    func(plan.Search, string) *explore.Pieces // nil: this process runs each search as a whole
	situation string                                    // situation of which a schedule is printed; empty: none
	ready     func(dir string) error                    // called with the results folder of a single search; may be nil
	ended     func() bool                               // returns whether all workers are gone; may be nil
}

// searchBy makes searches in pieces, which the workers of the queue q run.
func (a *app) searchBy(ctx context.Context, q workqueue.Queue, work *coordinate.Work, requested searches,
	how searchHow) error {
	var lost atomic.Pointer[error] // why all workers are gone
	how.pieces = coordinate.Pieces(q, version(), work, func(err error) { lost.Store(&err) })
	how.ended = func() bool { return lost.Load() != nil }
	if err := a.makeSearches(ctx, requested, how); err != nil {
		return err
	}
	if err := lost.Load(); err != nil {
		return *err
	}
	return nil
}

// makeSearches makes searches and prints their results.
func (a *app) makeSearches(ctx context.Context, requested searches, how searchHow) error {
	switch {
	case requested.catalogue:
		return a.exploreAll(ctx, requested.all)
	case len(requested.all) > 1:
		return a.exploreRegimes(ctx, requested.all, how)
	}
	return a.exploreOne(ctx, requested.all[0], how)
}

// checkLimits refuses flag values that no search can have.
func checkLimits(cmd *cobra.Command) error {
	if err := noZeros(cmd, "clients", "ttl", "random", "depth"); err != nil {
		return err
	}
	return noNegatives(cmd, append(faultFlags(), "max-schedules", "for", "ttl")...)
}

// searches returns the searches of a command line.
func (a *app) searches(cmd *cobra.Command, f *searchFlags, all bool, args []string) (requested searches, err error) {
	if err := checkLimits(cmd); err != nil {
		return requested, err
	}
	if cmd.Flags().Changed("times") {
		return requested, usage("--times is for --replay: add --replay FILE, or leave --times out")
	}
	s := f.search
	if s.Regime == everyRegimeFlag {
		s.Regime = ""
	}
	setBounds(cmd, &s.Bounds)
	variants, err := a.variants(cmd, &f.variant, args)
	switch {
	case err != nil:
		return requested, err
	case all && len(variants) > 0:
		return requested, usage("--all covers the whole catalogue: leave the variant out")
	case all:
		return searches{s.Catalogue(), true}, nil
	case len(variants) != 1:
		return requested, wantOneVariant("explore", len(variants))
	}
	s.Variant, s.Script, s.Adapter = variants[0].id, variants[0].script, variants[0].adapter
	s.AtMostOnce = s.OwnFilter() && !cmd.Flags().Changed("crashes") && !cmd.Flags().Changed("lost-answers")
	return searches{all: s.EveryRegime()}, nil
}

// checkExplore refuses flags that do not go together.
func (a *app) checkExplore(f *exploreFlags) error {
	s := &f.search
	switch {
	case f.all && (s.Regime != "" && s.Regime != everyRegimeFlag || s.TTL != 0):
		return usage("--all uses every regime, and each variant's own lease: leave --regime and --ttl out")
	case f.all && (s.Random != 0 || s.Clients > interleave.MaxExhaustive):
		return usage("--all runs every schedule, with at most %d clients: name one variant for schedules at random",
			interleave.MaxExhaustive)
	case f.situation != "" && !slices.Contains(harness.AllSituations(), harness.SituationName(f.situation)):
		return noSituation(f.situation, harness.AllSituations())
	case f.situation != "" && (f.all || a.json || a.markdown):
		return usage("--situation prints steps of one search as text: leave --all, -o json and -o markdown out (the " +
			"JSON has the steps for every situation)")
	case f.all && a.markdown:
		return usage("-o markdown is for one search: name a variant instead of --all")
	}
	return nil
}

// exploreOne makes or resumes one search, and prints its result.
func (a *app) exploreOne(ctx context.Context, s plan.Search, how searchHow) error {
	o := a.options()
	o.Save, o.Resume, o.Pieces = how.save, how.from, how.pieces
	stop := a.startBar(s.For, "at most")
	a.err.beginStage(s.For)
	out, err := results.Explore(ctx, s, o)
	stop()
	if err != nil {
		if out.Exploration.Name != "" && how.ready == nil { // it cannot be saved, and a new search would find it again
			err = errors.Join(err, a.showExploration(out.Exploration, how.situation))
		}
		return err
	}
	if how.ready != nil && ctx.Err() == nil && !how.ended() { // otherwise the same command resumes it
		err = how.ready(out.Dir)
	}
	if err := errors.Join(err, a.showExploration(out.Exploration, how.situation)); err != nil {
		return err
	}
	a.printSaved(how.save)
	return a.printBugsAbout(s.Variant)
}

// showExploration prints one search, as text, JSON or Markdown, and sets the exit code by the verdict. If situation is
// not empty, the text has the steps of a schedule that met this situation.
func (a *app) showExploration(e reports.Exploration, situation string) error {
	a.code = verdictCode(e.Verdict())
	var err error
	switch {
	case a.json:
		err = reports.ExplorationJSON(a.out, e)
	case a.markdown:
		err = reports.IssueMarkdown(a.out, e)
	default:
		err = a.printExploration(e, situation)
	}
	return errors.Join(err, a.tellOfRows([]reports.Row{e.Row("")}, func(w io.Writer) error {
		return reports.ExplorationSummary(w, e)
	}))
}

// printExploration prints one search as text.
func (a *app) printExploration(e reports.Exploration, situation string) error {
	if err := reports.ExplorationText(a.out, e, a.layout()); err != nil {
		return err
	}
	a.explainLost(e)
	if err := a.showSituation(e.Result, situation); err != nil {
		return err
	}
	if e.Dir != "" {
		a.println("report: %s", filepath.Join(e.Dir, reports.ReportFile))
	}
	return nil
}

// everyRegimeFlag is the value of --regime that means each regime in turn. It is the default.
const everyRegimeFlag = "all"

// explainLost prints what a lost message is, if the search found one, and how to search without crashes. If the search
// accepted some losses of messages and found no other, explainLost prints how to search for the accepted ones.
func (a *app) explainLost(e reports.Exploration) {
	accepted := e.Labels[plan.AcceptsLabel]
	found := slices.ContainsFunc(e.Result.Counterexamples,
		func(c interleave.Counterexample) bool { return c.Anomaly.Class == harness.LostMessage })
	switch {
	case accepted != "" && !found:
		a.println("accepted: %s; --crashes 1 looks for it", accepted)
	case accepted == "" && found:
		a.println("lost-message: the client that claimed the message crashed before it delivered it, and no other " +
			"client delivers it; --crashes 0 searches without crashes")
	}
}

// showSituation prints the shortest schedule that met the situation with the given name. If the name is empty, it
// prints nothing.
func (a *app) showSituation(r interleave.Result, name string) error {
	if name == "" {
		return nil
	}
	var met []harness.SituationName
	for _, s := range r.Situations {
		if string(s.Name) == name {
			a.println("%s, %d times; the shortest schedule:\n%s", s.Name, s.Count, s.Text())
			return nil
		}
		met = append(met, s.Name)
	}
	return noSituation(name, met)
}

// noSituation returns the error for a --situation that does not exist. The error suggests a similar one, or lists all
// that exist.
func noSituation(name string, existing []harness.SituationName) error {
	names := make([]string, len(existing))
	for i, s := range existing {
		names[i] = string(s)
	}
	if meant := suggest.Question("", name, names); meant != "" {
		return usage("--situation: there is no %q here: %s", name, meant)
	}
	return usage("--situation: there is no %q here: choose one of %s", name, strings.Join(names, "; "))
}

// setBounds translates the values of flags into bounds of a search. The bound of a flag that was not given stays 0, so
// that the variant's default applies. But if any flag about lost answers or lost commands is given, the other flags
// about these default to never.
func setBounds(cmd *cobra.Command, b *interleave.Bounds) {
	given := func(f interleave.Bound) bool { return cmd.Flags().Changed(f.Flag) }
	apart := slices.ContainsFunc(b.Fields(), func(f interleave.Bound) bool { return f.SeparatePart && given(f) })
	for _, f := range b.Fields() {
		if !given(f) {
			*f.N = 0
		}
		if given(f) || apart && f.SeparatePart {
			f.Set(*f.N)
		}
	}
}
