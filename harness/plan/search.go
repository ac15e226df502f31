package plan

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/checkers"
	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/adapter"
	"github.com/doublegrant/doublegrant/harness/explore"
	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/doublegrant/doublegrant/harness/internal/fields"
	"github.com/doublegrant/doublegrant/harness/suggest"
	"github.com/doublegrant/doublegrant/workloads"
)

// Search holds everything that is needed to repeat a search. Zero values stand for the defaults of explore.Spec. In a
// suite's file, a search has only the fields with a yaml name. The other fields are taken from the run that it belongs
// to.
type Search struct {
	Variant string             `json:"variant" yaml:"-"`
	Script  *workloads.Script  `json:"script,omitempty" yaml:"-"` // the variant's script, if the catalogue has none
	Adapter *workloads.Adapter `json:"client,omitempty" yaml:"-"` // the adapter that is the variant
	// regime of the numbers proposed to a sequence; default "fixed"; see EveryRegime
	Regime string        `json:"regime,omitempty" yaml:"-"`
	TTL    time.Duration `json:"ttl,omitempty" yaml:"-"` // lease or window; default: the variant's

	interleave.Bounds `yaml:",inline"` // what may happen in one schedule

	Skew time.Duration `json:"skew,omitempty" yaml:"skew,omitempty"`

	// AtMostOnce accepts that a user's filter without Confirm loses the message of a worker that crashed or got no
	// answer. Searches of the catalogue report that loss, as documented.
	AtMostOnce bool `json:"atMostOnce,omitempty" yaml:"-"`

	MaxSchedules int `json:"maxSchedules,omitempty" yaml:"maxSchedules,omitempty" zero:"default"`
	// time limit; default in a suite: 2m
	For   time.Duration `json:"for,omitempty" yaml:"for,omitempty" zero:"default"`
	First bool          `json:"first,omitempty" yaml:"-"`

	// Random is the number of random schedules: see explore.Random. A search with more than interleave.MaxExhaustive
	// clients always draws schedules at random. If Random is 0 in that case, For ends the search.
	Random int `json:"random,omitempty" yaml:"random,omitempty" zero:"default"`
	// how random schedules are drawn: one of explore.Strategies
	Strategy string `json:"strategy,omitempty" yaml:"strategy,omitempty"`
	// depth of the bugs that random schedules look for: see explore.Random
	Depth int    `json:"depth,omitempty" yaml:"depth,omitempty" zero:"default"`
	Seed  uint64 `json:"seed,omitempty" yaml:"seed,omitempty"` // seed of the random schedules

	// whether the first explore.DefaultRunTwice schedules are run twice
	Twice    bool `json:"twice,omitempty" yaml:"twice,omitempty"`
	Unpruned bool `json:"unpruned,omitempty" yaml:"-"` // sets explore.Spec.WithoutReduction
}

// MarshalYAML writes the fields as a suite's file has them.
func (s Search) MarshalYAML() (any, error) {
	type plain Search // without this method
	return fields.Node(plain(s))
}

// Resolve looks up the variant and builds the explorer's spec. redis is the redis-server binary. The error wraps
// ErrUsage.
func (s Search) Resolve(redis string) (v workloads.Variant, spec explore.Spec, err error) {
	if v, err = findVariant(s.Variant, s.Script, s.Adapter); err != nil {
		return v, spec, Usagef("%w", err)
	}
	options := workloads.Options{TTL: s.lease(v), AtMostOnce: s.atMostOnce()}
	if s.Regime != "" {
		if options.Regime, err = workloads.ParseRegime(s.Regime); err != nil {
			return v, spec, Usagef("%w", err)
		}
	}
	switch {
	case s.Regime != "" && v.Family != workloads.Sequence:
		return v, spec, Usagef("a regime is for sequences, and %s is not one: leave regime out", v.ID)
	case s.TTL != 0 && v.Family == workloads.Sequence:
		return v, spec, Usagef("a ttl is for locks and dedup, and %s is neither: leave ttl out", v.ID)
	case s.TTL != 0 && s.TTL < explore.ShortestLease:
		return v, spec, Usagef("a ttl of %v: Redis counts in milliseconds: ask for %v or more", s.TTL,
			explore.ShortestLease)
	}
	program, ok := v.Program(options)
	switch {
	case s.Clients != 0 && (s.Clients < 2 || s.Clients > interleave.MaxClients):
		return v, spec, Usagef("this cannot be explored: %d clients: ask for 2 to %d", s.Clients, interleave.MaxClients)
	case s.Failovers < 0 || s.Failovers > 1:
		return v, spec, Usagef("this cannot be explored: %d failovers: there is only one replica to promote: ask "+
			"for 0 or 1", s.Failovers)
	case v.Masters > 0:
		return v, spec, Usagef("%s cannot be explored: it needs %d masters, and the explorer has one", v.ID, v.Masters)
	case !ok:
		return v, spec, Usagef("%s cannot be explored: it measures what a fault loses under load: use doublegrant "+
			"run", v.ID)
	}
	if err := s.checkRandom(); err != nil {
		return v, spec, err
	}
	return v, explore.Spec{
		Program: program, Checkers: checkers.ForSearch(program.Kinds...), Bounds: s.Bounds, Random: s.random(),
		RunTwice: s.twice(),
		Skew:     s.Skew, MaxSchedules: s.MaxSchedules, For: s.For, First: s.First, WithoutReduction: s.Unpruned,
		Redis:   redis,
		Workers: s.workers(),
	}, nil
}

// atRandom reports whether the search draws schedules at random.
func (s Search) atRandom() bool { return s.Random != 0 || s.Clients > interleave.MaxExhaustive }

// random returns how schedules are drawn; nil if all schedules are run.
func (s Search) random() *explore.Random {
	if !s.atRandom() {
		return nil
	}
	return &explore.Random{Schedules: s.Random, Strategy: s.Strategy, Depth: s.Depth, Seed: s.Seed}
}

func (s Search) twice() int {
	if s.Twice {
		return explore.DefaultRunTwice
	}
	return 0
}

// checkRandom refuses impossible fields about random schedules.
func (s Search) checkRandom() error {
	switch {
	case s.Random < 0:
		return Usagef("%d schedules at random: ask for 1 or more", s.Random)
	case !s.atRandom() && s.Strategy != "":
		return Usagef("a strategy is for schedules at random: give their number (--random), or ask for more than %d "+
			"clients", interleave.MaxExhaustive)
	case s.Strategy != "" && !slices.Contains(explore.Strategies(), s.Strategy):
		return Usagef("unknown strategy %q: %s", s.Strategy, suggest.DidYouMean(s.Strategy, explore.Strategies()))
	case s.Depth != 0 && !explore.PromisesDepth(s.Strategy):
		return Usagef("a depth: %s guarantees nothing about the depth of a bug: leave it out", s.Strategy)
	case !s.atRandom() && (s.Depth != 0 || s.Seed != 0):
		return Usagef("a depth and a seed are for schedules at random: give their number (--random), or ask for "+
			"more than %d clients", interleave.MaxExhaustive)
	case s.Depth < 0 || s.Depth > explore.MaxDepth:
		return Usagef("bugs of depth %d: ask for 1 to %d", s.Depth, explore.MaxDepth)
	case s.atRandom() && (s.Unpruned || s.MaxSchedules != 0):
		return Usagef("schedules at random: give their number with --random, and leave --max-schedules and " +
			"--unpruned out")
	case s.atRandom() && s.Random == 0 && s.For == 0:
		return Usagef("%d clients have too many schedules to run all: give a number at random (--random), or a time "+
			"(--for)", s.Clients)
	}
	return nil
}

// WithSeedOf returns the search with the seed that the explorer drew.
func (s Search) WithSeedOf(res interleave.Result) Search {
	if res.Random != nil {
		s.Seed = res.Random.Seed
	}
	return s
}

// Catalogue returns a search for every variant that can be explored, and one for each regime of sequences that heed
// proposals. It leaves out libraries of other languages that this machine lacks: Missing lists them.
func (s Search) Catalogue() (all []Search) {
	for _, v := range workloads.Catalogue() {
		s.Variant, s.Regime = v.ID, ""
		if _, explorable := adapter.Runnable(v).Program(workloads.Options{}); !explorable || adapter.Missing(v) != nil {
			continue
		}
		of := s
		of.Clients = cmp.Or(s.Clients, v.Explored)
		if v.ExploredBriefly && s.EveryPart() {
			of.Expiries, of.LostAnswers = cmp.Or(s.Expiries, -1), -1
			if v.ExploredUncrashed {
				of.Crashes = cmp.Or(s.Crashes, -1)
			}
		}
		all = append(all, of.EveryRegime()...)
	}
	return all
}

// Missing lists the catalogue's libraries that this machine lacks, each with what to install.
func Missing() (all []error) {
	for _, v := range workloads.Catalogue() {
		if err := adapter.Missing(v); err != nil {
			all = append(all, err)
		}
	}
	return all
}

// EveryRegime returns the search once for each regime, if callers of a sequence propose numbers and no regime is named.
// Otherwise it returns the search alone.
func (s Search) EveryRegime() (all []Search) {
	v, err := findVariant(s.Variant, s.Script, s.Adapter)
	if err != nil || s.Regime != "" || v.Family != workloads.Sequence || v.OwnNumbers {
		return []Search{s}
	}
	for _, r := range workloads.Regimes() {
		s.Regime = string(r)
		all = append(all, s)
	}
	return all
}

// findVariant returns a variant of the catalogue, or makes one from a script or an adapter.
func findVariant(id string, script *workloads.Script, program *workloads.Adapter) (workloads.Variant, error) {
	switch { // stored plans have both, with an id that begins with script/ or client/
	case script != nil && program != nil:
		return workloads.Variant{}, errors.New("both a script and an adapter are given: leave one of them out")
	case script != nil && id != "" && !strings.HasPrefix(id, workloads.ScriptPrefix):
		return workloads.Variant{}, fmt.Errorf("both the variant %q and a script are given: leave one of them out", id)
	case program != nil && id != "" && !strings.HasPrefix(id, workloads.AdapterPrefix):
		return workloads.Variant{}, fmt.Errorf("both the variant %q and an adapter are given: leave one of them out", id)
	case script != nil:
		return workloads.ScriptVariant(*script)
	case program != nil:
		return adapter.Variant(*program)
	}
	v, err := workloads.Find(id)
	return adapter.Runnable(v), err
}

// IsCustom reports whether the algorithm is the user's own, without documented flaws.
func (s Search) IsCustom() bool { return s.Script != nil || s.Adapter != nil }

// AcceptsLabel is the label for losses that a search accepts.
const AcceptsLabel = "accepts"

// OwnFilter reports whether the variant is a user's own message filter.
func (s Search) OwnFilter() bool {
	v, err := findVariant(s.Variant, s.Script, s.Adapter)
	return err == nil && s.IsCustom() && v.Family == workloads.Dedup
}

// atMostOnce reports whether the field AtMostOnce is set and applies. It applies to users' algorithms only.
func (s Search) atMostOnce() bool { return s.IsCustom() && s.AtMostOnce }

// AcceptsLoss reports whether the search accepts that a crash or a lost answer costs a message. spec is the one that
// Resolve returned.
func (s Search) AcceptsLoss(spec explore.Spec) bool {
	kinds := spec.Program.Kinds
	return s.atMostOnce() && slices.Contains(kinds, harness.Claim) && !slices.Contains(kinds, harness.Confirm)
}

// Check returns an error if the search is impossible. It starts nothing. The error wraps ErrUsage.
func (s Search) Check() error {
	_, _, err := s.Resolve("")
	return err
}

// enoughClients is the number of clients with which searches find every known flaw.
const enoughClients = 3

// Labels returns the conditions of the search of a variant, for reports.
func (s Search) Labels(v workloads.Variant, spec explore.Spec) map[string]string {
	l := map[string]string{"claim": string(v.Claim)}
	if v.Family == workloads.Sequence {
		l["regime"] = cmp.Or(s.Regime, string(workloads.Fixed))
	} else {
		l["lease"] = spec.Program.Lease.String()
	}
	if s.AcceptsLoss(spec) {
		l[AcceptsLabel] = "a message lost because a client crashed or lost an answer"
	}
	if s.Skew != 0 {
		l["clock skew"] = s.Skew.String()
	}
	return l
}

// Conditions describes unusual conditions of the search, such as "growing" or "1 failover". It is empty if there are
// none.
func (s Search) Conditions() string {
	var parts []string
	for _, p := range []struct {
		text string
		set  bool
	}{
		{s.Regime, s.Regime != ""},
		{fmt.Sprintf("%d clients", s.Clients), s.Clients != 0 && s.Clients != enoughClients},
		{"1 failover", s.Failovers > 0},
		{"script flushes", s.Flushes > 0},
		{"at random", s.atRandom()},
		{fmt.Sprintf("clock ahead %v", s.Skew), s.Skew != 0},
	} {
		if p.set {
			parts = append(parts, p.text)
		}
	}
	return strings.Join(parts, ", ")
}

// workers returns how many goroutines run schedules; 0: the default. A search that ends at its first counterexample has
// one goroutine, so that a repeated search ends at the same schedule.
func (s Search) workers() int {
	if s.First {
		return 1
	}
	return 0
}

// Name returns a short name for the search, fit for a file name.
func (s Search) Name(v workloads.Variant) string {
	return strings.TrimSuffix(FileName(v.ID)+"-"+s.Regime, "-")
}

// Command returns the command line that repeats the search.
func (s Search) Command() string { return s.CommandWith("") }

// ReplayCommand returns the command line that replays a recipe of the search. The caller appends the recipe. The
// command is empty for a script without a file, since a recipe does not include the script's text.
func (s Search) ReplayCommand() string {
	if s.Script != nil && s.Script.File == "" {
		return ""
	}
	w := newCommandLine("explore")
	if s.Script != nil || s.Adapter != nil {
		w.variant(s.Variant, s.Script, s.Adapter)
	}
	w.add("--replay")
	return w.String()
}

// DefaultFor is the time limit of a search for which neither a flag nor a suite gives one. A Search whose For is 0 has
// no limit.
const DefaultFor = 2 * time.Minute

// CommandWith returns Command's line with the redis-server that the user named, if any.
func (s Search) CommandWith(redis string) string {
	w := newCommandLine("explore")
	w.variant(s.Variant, s.Script, s.Adapter)
	w.flag("regime", s.Regime, s.Regime != "")
	w.flag("ttl", s.TTL, s.TTL != 0)
	if s.AtMostOnce && s.Crashes == 1 {
		s.Crashes = 0 // asking for crashes includes lost messages
	}
	for _, b := range s.Fields() {
		w.flag(b.Flag, max(0, *b.N), *b.N != 0)
	}
	w.flag("skew", s.Skew, s.Skew != 0)
	w.flag("max-schedules", s.MaxSchedules, s.MaxSchedules != 0)
	w.flag("for", s.For, s.For != DefaultFor)
	w.flag("first", s.First, s.First)
	w.flag("random", s.Random, s.Random != 0)
	w.flag("strategy", s.Strategy, s.Strategy != "")
	w.flag("depth", s.Depth, s.Depth != 0)
	w.flag("seed", s.Seed, s.Seed != 0)
	w.flag("twice", s.Twice, s.Twice)
	w.flag("unpruned", s.Unpruned, s.Unpruned)
	w.flag("redis-server", redis, redis != "")
	return w.String()
}
