package plan

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness/adapter"
	"github.com/doublegrant/doublegrant/harness/internal/fields"
	"github.com/doublegrant/doublegrant/workloads"
)

// Plan holds everything that is needed to repeat a run. Zero values stand for the defaults named beside the fields. A
// file must not give a zero to a field tagged zero:"default".
type Plan struct {
	Variant  string             `yaml:"variant"`                        // id of the variant, such as "lock/set-nx-px"
	Script   *workloads.Script  `yaml:"script,omitempty"`               // the variant's script, if the catalogue has none
	Adapter  *workloads.Adapter `yaml:"adapter,omitempty" was:"client"` // the adapter that is the variant
	With     []string           `yaml:"with,omitempty"`                 // riders, such as "writes/sadd"
	Resource bool               `yaml:"resource,omitempty"`             // locks guard resources, to which owners write

	On    string `yaml:"on,omitempty"`    // "process" or "docker"; default process
	Image string `yaml:"image,omitempty"` // Redis image for docker; default as in cluster.Options
	// "standalone", "sentinel", "sentinel:N", "masters:N" or "external"; the default depends on variant and faults
	Topology string `yaml:"topology"`
	Prefix   string `yaml:"prefix,omitempty"` // prefix of all keys on an external Redis; default: a unique one

	DownAfter time.Duration `yaml:"downAfter,omitempty" zero:"default"` // down-after of the Sentinels; default 1s
	// SlowSentinels: Sentinels keep Redis's polling periods of 2 to 10 s, instead of 200 ms.
	SlowSentinels bool `yaml:"slowSentinels,omitempty"`
	OwnSentinel   bool `yaml:"ownSentinel,omitempty"` // true: each client group asks only one Sentinel

	MinReplicas int `yaml:"minReplicas,omitempty"` // min-replicas-to-write; default 0
	// min-replicas-max-lag, in whole seconds; default 10s
	MaxLag time.Duration `yaml:"maxLag,omitempty" zero:"default"`
	// appendfsync: "always", "everysec" or "no"; default: no append-only file
	AOF string `yaml:"aof,omitempty"`
	// Acks is the number of replicas that a variant with a WAIT waits for. Default: the variant's own.
	Acks int `yaml:"acks,omitempty" zero:"default"`

	Nemesis []string `yaml:"nemesis,omitempty"`               // faults, one after the other; the short form of Faults
	Repeat  int      `yaml:"repeat,omitempty" zero:"default"` // how often the run goes through Nemesis; default 1
	// How long each fault of Nemesis is in force; default: the fault's own time, usually 5s.
	FaultFor time.Duration `yaml:"faultFor,omitempty" zero:"default"`
	Faults   []FaultPlan   `yaml:"faults,omitempty"` // the timetable, instead of Nemesis
	// Calm is how long the load runs without faults, before each fault and after the last. Default 2s. For locks, the
	// calm after the last fault is at least the lease, rounded up to whole seconds, plus 1s.
	Calm time.Duration `yaml:"calm,omitempty" zero:"default"`

	Clients  int           `yaml:"clients" zero:"default"`  // number of clients, 1 to 1,000,000; default 100
	Duration time.Duration `yaml:"duration" zero:"default"` // minimum duration of the load; default 10s
	// Thorough continues the load until each situation that the load promises has occurred checkers.QuotaCount times.
	// In that case Duration is the limit, 5m by default, and a run that reaches the limit is unknown.
	Thorough bool `yaml:"thorough,omitempty"`
	// Rate is the target number of operations a second. Default: 20000, or 500 on several masters. Negative: no limit.
	Rate float64 `yaml:"rate" zero:"default"`
	// Pacing is "open" or "closed". If open, operations are due at fixed times (harness.Spec.OpenLoop). If closed,
	// clients wait between operations. Default "closed".
	Pacing string `yaml:"pacing,omitempty"`
	// Keys is the number of locks or sequences. Default: one lock for every ten clients, one sequence of each regime.
	Keys int           `yaml:"keys,omitempty" zero:"default"`
	TTL  time.Duration `yaml:"ttl,omitempty" zero:"default"` // lease or window, 10ms or more; default: the family's
	// Regime says which numbers callers of a sequence propose. Default: every regime, or "fixed" for variants that
	// ignore proposals.
	Regime string `yaml:"regime,omitempty"`
	// mean time that a client keeps a lock; default 5ms
	Hold        time.Duration `yaml:"hold,omitempty" zero:"default"`
	Rounds      *Rounds       `yaml:"rounds,omitempty"`      // the load of the variant writes/rounds
	StopOnFirst bool          `yaml:"stopOnFirst,omitempty"` // whether the load ends at the first violation
	Seed        uint64        `yaml:"seed"`                  // seed of all random choices; default: a random one
	// Generators is the number of processes that share the clients, at most 64. Default: clients are in this process.
	Generators int `yaml:"generators,omitempty" zero:"default"`

	Expect Expected `yaml:"expect,omitempty"` // which violations the run should show; default: the documented ones

	place fields.Place
}

// Put stores where the plan was read from.
func (p *Plan) Put(where fields.Place) { p.place = where }

// Place returns where the plan was read from; the zero Place if it was not read from a file.
func (p Plan) Place() fields.Place { return p.place }

// ErrUsage marks errors that the user can fix, such as unknown names and impossible combinations.
var ErrUsage = errors.New("usage")

// Usagef returns an error that wraps ErrUsage.
func Usagef(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrUsage, fmt.Errorf(format, args...))
}

// errorf returns a usage error about a field of the plan.
func (p Plan) errorf(field, format string, args ...any) error {
	return Usagef("%s%w", p.place.At(field), fmt.Errorf(format, args...))
}

const (
	riderClients = 10
	maxClients   = 1_000_000
	maxKeys      = 100_000
	maxRate      = 1e9    // one operation per nanosecond
	MostTimes    = 10_000 // bounds FaultPlan.Times and Plan.Repeat; 10,000 faults take more than a day

	thoroughWithin  = 5 * time.Minute
	defaultCalm     = 2 * time.Second
	defaultTopology = Sentinel // for plans with faults, or with a variant that waits for replicas
	ManyMasters     = Masters + "5"
)

// Workload returns the plan's variant. The error wraps ErrUsage.
func (p Plan) Workload() (workloads.Variant, error) {
	v, err := findVariant(p.Variant, p.Script, p.Adapter)
	if err != nil {
		return v, p.errorf("variant", "%w", err)
	}
	return v, nil
}

// Resolved is a plan with its names looked up.
type Resolved struct {
	Plan
	variant workloads.Variant
	with    []workloads.Variant
	on      blueprint
	faults  *timetable
	regime  workloads.Regime
	prefix  string // prefix of all keys; empty unless the Redis is external
}

// Resolve looks up every name, fills in defaults and refuses what is impossible. The error wraps ErrUsage.
func (p Plan) Resolve() (r Resolved, err error) {
	r.Plan = p
	if r.variant, err = findVariant(p.Variant, p.Script, p.Adapter); err != nil {
		return r, p.errorf("variant", "%w", err)
	}
	if p.Adapter != nil && p.Adapter.Announces {
		return r, p.errorf("adapter", "%s decides itself what it does, so it can be explored but not run under "+
			"load", r.variant.ID)
	}
	r.Variant = r.variant.ID
	if err := r.resolveRiders(); err != nil {
		return r, err
	}
	if err := r.resolveAcks(); err != nil {
		return r, err
	}
	r.defaults()
	if r.on, err = parseTopology(r.Topology); err != nil {
		return r, p.errorf("topology", "%w", err)
	}
	if err := r.checkCombination(); err != nil {
		return r, err
	}
	r.on.downAfter, r.on.workers = r.DownAfter, r.Clients+len(r.with)*riderClients
	steps, err := p.faultPlans()
	if err != nil {
		return r, err
	}
	if r.faults, err = newTimetable(steps, r.on, cmp.Or(p.Calm, defaultCalm), r.Seed); err != nil {
		return r, err
	}
	if err := r.checkThorough(); err != nil {
		return r, err
	}
	return r, r.checkGeneratorFaults()
}

// Missing returns an error that says what to install, if this machine lacks the variant's library.
func (r Resolved) Missing() error { return adapter.Missing(r.variant) }

// IsCustom reports whether the algorithm is the user's own, without documented flaws.
func (p Plan) IsCustom() bool { return p.Script != nil || p.Adapter != nil }

// Check returns an error if the plan is impossible. It starts nothing. The error wraps ErrUsage.
func (p Plan) Check() error {
	_, err := p.Resolve()
	return err
}

// resolveRiders looks up the riders.
func (r *Resolved) resolveRiders() error {
	for _, id := range r.With {
		v, err := workloads.Find(id)
		if err != nil {
			return r.errorf("with", "%w", err)
		}
		if v.Family != workloads.Writes || v.ID == r.Variant || v.ID == RoundsVariant {
			return r.errorf("with",
				"%s cannot be a rider of %s: choose writes/sadd or writes/sadd-wait, beside another variant", id,
				r.Variant)
		}
		if slices.ContainsFunc(r.with, func(w workloads.Variant) bool { return w.ID == id }) {
			return r.errorf("with", "%s is named twice under with: leave one of them out", id)
		}
		r.with = append(r.with, v)
	}
	return nil
}

// resolveAcks applies the plan's number of acknowledgements to the variants that wait for replicas.
func (r *Resolved) resolveAcks() error {
	if r.Acks == 0 {
		return nil
	}
	var waits, ok bool
	r.variant, waits = r.variant.Waiting(r.Acks)
	for i := range r.with {
		r.with[i], ok = r.with[i].Waiting(r.Acks)
		waits = waits || ok
	}
	if !waits {
		return r.errorf("acks", "%d acknowledgements, but %s does not wait for any: acks are for variants with "+
			"WAIT, such as %s",
			r.Acks, r.Variant, variantWithWait())
	}
	return nil
}

// variants lists the plan's own variant and its riders.
func (r Resolved) variants() []workloads.Variant {
	return append([]workloads.Variant{r.variant}, r.with...)
}

// faultPlans returns the plan's timetable, from Faults or Nemesis.
func (p Plan) faultPlans() ([]FaultPlan, error) {
	switch {
	case len(p.Nemesis) == 0 && (p.Repeat != 0 || p.FaultFor != 0):
		return nil, p.errorf("repeat",
			"repeat and fault-for need a --nemesis: name one, or give each entry of faults its own times and for")
	case slices.ContainsFunc(p.Nemesis, func(name string) bool { return strings.TrimSpace(name) == "" }):
		return nil, p.errorf("nemesis", "one of the fault names is empty: leave it out")
	case len(p.Nemesis) > 0 && p.FaultFor != 0 && !slices.ContainsFunc(p.Nemesis, isNoPackage):
		return nil, p.errorf("faultFor", "fault-for is for single faults, and packages set their own times: leave "+
			"it out")
	case len(p.Nemesis) > 0 && len(p.Faults) > 0:
		return nil, p.errorf("nemesis", "nemesis is the short form of faults: leave one of them out")
	case len(p.Faults) > 0:
		return p.Faults, nil
	}
	var steps []FaultPlan
	for range max(1, p.Repeat) {
		for _, name := range p.Nemesis {
			where := p.place.Line("nemesis")
			s := FaultPlan{Fault: name, For: p.FaultFor, place: where}
			if !isNoPackage(name) {
				s.For = 0 // a package has times of its own
			}
			steps = append(steps, s)
		}
	}
	return steps, nil
}

func isNoPackage(name string) bool {
	_, ok := findPackage(name)
	return !ok
}

func (r *Resolved) defaults() {
	if r.variant.Masters > 0 {
		r.Topology = cmp.Or(r.Topology, ManyMasters)
		r.Rate = cmp.Or(r.Rate, 500) // each operation asks every master, so 100 clients cannot sustain more
	}
	waits := slices.ContainsFunc(r.variants(), func(v workloads.Variant) bool { return v.Acks > 0 })
	if len(r.Nemesis)+len(r.Faults) > 0 || waits {
		r.Topology = cmp.Or(r.Topology, defaultTopology)
	}
	if len(r.Nemesis) > 0 {
		r.Repeat = cmp.Or(r.Repeat, 1)
	}
	r.Topology = cmp.Or(r.Topology, Standalone)
	r.Clients = cmp.Or(r.Clients, 100)
	if r.Thorough {
		r.Duration = cmp.Or(r.Duration, thoroughWithin)
	}
	r.Duration = cmp.Or(r.Duration, 10*time.Second)
	r.Rate = cmp.Or(r.Rate, 20000)
	r.Seed = cmp.Or(r.Seed, rand.Uint64N(1<<53)) // small enough to be exact in any JSON reader
	if r.variant.OneKey {
		r.Keys = cmp.Or(r.Keys, 1)
	}
	switch r.variant.Family {
	case workloads.Lock:
		r.Keys = cmp.Or(r.Keys, max(1, r.Clients/10))
	case workloads.Sequence:
		r.Keys = cmp.Or(r.Keys, 1)
		// riders would lose their data if the store were emptied
		if r.variant.OwnNumbers || r.variant.OneKey && len(r.With) > 0 {
			r.Plan.Regime = cmp.Or(r.Plan.Regime, string(workloads.Fixed))
		}
	}
}
