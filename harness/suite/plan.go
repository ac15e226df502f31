package suite

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/doublegrant/doublegrant/workloads"
)

// Plan is everything needed to run a run again. Zero values mean the defaults named beside them.
type Plan struct {
	Variant  string            `yaml:"variant"`            // such as "lock/set-nx-px"
	Script   *workloads.Script `yaml:"script,omitempty"`   // the variant's text, where it is not in the catalogue
	Topology string            `yaml:"topology"`           // "standalone" or "sentinel"; default: sentinel if there is a nemesis
	Nemesis  []string          `yaml:"nemesis,omitempty"`  // faults, one after the other
	Repeat   int               `yaml:"repeat,omitempty"`   // how often to go through Nemesis; default 1
	With     []string          `yaml:"with,omitempty"`     // variants that ride along, such as "writes/sadd"
	Clients  int               `yaml:"clients"`            // default 100
	Duration time.Duration     `yaml:"duration"`           // least duration of the load; default 10s
	Rate     float64           `yaml:"rate"`               // operations a second aimed at; default 20000; negative: no limit
	Keys     int               `yaml:"keys,omitempty"`     // locks or sequences; default: one lock for every ten clients, one sequence
	TTL      time.Duration     `yaml:"ttl,omitempty"`      // lease or window; default: the family's
	Regime   string            `yaml:"regime,omitempty"`   // proposals to sequences; default "fixed"
	FaultFor time.Duration     `yaml:"faultFor,omitempty"` // how long each fault stays in force; default 5s
	Seed     uint64            `yaml:"seed"`               // default: chosen
}

// ErrUsage marks a plan that cannot be run as it stands: unknown names, impossible combinations.
var ErrUsage = errors.New("usage")

func usage(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrUsage, fmt.Errorf(format, args...))
}

const (
	standalone = "standalone"
	sentinel   = "sentinel"

	riderClients = 10
	maxClients   = 1_000_000
)

// resolved is a plan with its names looked up.
type resolved struct {
	Plan
	variant workloads.Variant
	with    []workloads.Variant
	nemeses []nemesisEntry
	regime  workloads.Regime
}

// resolve looks every name up, fills in defaults and refuses what cannot be.
func (p Plan) resolve() (r resolved, err error) {
	r.Plan = p
	if r.variant, err = findVariant(p.Variant, p.Script); err != nil {
		return r, usage("%w", err)
	}
	r.Variant = r.variant.ID
	for _, id := range p.With {
		v, err := workloads.Find(id)
		if err != nil {
			return r, usage("%w", err)
		}
		if v.Family != workloads.Writes || v.ID == p.Variant {
			return r, usage("%s cannot ride along with %s: only writes/sadd can, with another variant", id, p.Variant)
		}
		if slices.ContainsFunc(r.with, func(w workloads.Variant) bool { return w.ID == id }) {
			return r, usage("%s rides along twice: once is enough", id)
		}
		r.with = append(r.with, v)
	}
	for _, name := range p.Nemesis {
		n, err := findNemesis(name)
		if err != nil {
			return r, err
		}
		r.nemeses = append(r.nemeses, n)
	}
	if len(p.Nemesis) == 0 && (p.Repeat != 0 || p.FaultFor != 0) {
		return r, usage("repeat and fault-for are about faults: name a --nemesis")
	}
	r.defaults()
	return r, r.possible()
}

func (r *resolved) defaults() {
	if len(r.Nemesis) > 0 {
		r.Topology = cmp.Or(r.Topology, sentinel)
		r.Repeat = cmp.Or(r.Repeat, 1)
		r.FaultFor = cmp.Or(r.FaultFor, 5*time.Second)
	}
	if r.variant.Acks > 0 {
		r.Topology = cmp.Or(r.Topology, sentinel)
	}
	r.Topology = cmp.Or(r.Topology, standalone)
	r.Clients = cmp.Or(r.Clients, 100)
	r.Duration = cmp.Or(r.Duration, 10*time.Second)
	r.Rate = cmp.Or(r.Rate, 20000)
	r.Seed = cmp.Or(r.Seed, rand.Uint64N(1<<53)) // exact in any JSON reader
	if r.variant.OneKey {
		r.Keys = cmp.Or(r.Keys, 1)
	}
	switch r.variant.Family {
	case workloads.Lock:
		r.Keys = cmp.Or(r.Keys, max(1, r.Clients/10))
	case workloads.Sequence:
		r.Keys = cmp.Or(r.Keys, 1)
		r.Plan.Regime = cmp.Or(r.Plan.Regime, string(workloads.Fixed))
	}
}

// possible refuses combinations that make no sense.
func (r *resolved) possible() (err error) {
	family := r.variant.Family
	switch {
	case r.Topology != standalone && r.Topology != sentinel:
		return usage("unknown topology %q: choose standalone or sentinel", r.Topology)
	case r.variant.Acks > 0 && r.Topology == standalone:
		return usage("%s waits for replicas, and standalone has none: use --topology sentinel", r.Variant)
	case r.Clients < 1 || r.Clients > maxClients:
		return usage("%d clients: ask for 1 to %d", r.Clients, maxClients)
	case r.Duration < 0 || r.FaultFor < 0 || r.TTL < 0 || r.Keys < 0 || r.Repeat < 0:
		return usage("durations, ttl, keys and repeat cannot be negative")
	case math.IsNaN(r.Rate) || math.IsInf(r.Rate, 0):
		return usage("a rate of %v cannot be kept: give operations a second", r.Rate)
	case r.Keys > 0 && family != workloads.Lock && family != workloads.Sequence:
		return usage("keys are for locks and sequences: %s has none to choose", r.Variant)
	case r.variant.OneKey && r.Keys > 1:
		return usage("%s is not told which of %d keys is meant: put {key} into its keys, or ask for one", r.Variant, r.Keys)
	case r.TTL > 0 && family != workloads.Lock && family != workloads.Dedup:
		return usage("a ttl is for locks and dedup: %s has none", r.Variant)
	case r.TTL > 0 && r.TTL < 10*time.Millisecond:
		return usage("a ttl of %v is too short to race for: use 10ms or more", r.TTL)
	case r.Plan.Regime != "" && family != workloads.Sequence:
		return usage("a regime is for sequences: %s proposes nothing", r.Variant)
	}
	if r.Plan.Regime != "" {
		if r.regime, err = workloads.ParseRegime(r.Plan.Regime); err != nil {
			return usage("%w", err)
		}
	}
	for _, n := range r.nemeses {
		if n.needsSentinel && r.Topology != sentinel {
			return usage("%s needs --topology sentinel: on %s nobody takes over", n.name, r.Topology)
		}
	}
	return nil
}

// Name is a short name for the run, fit for a file name.
func (p Plan) Name() string {
	parts := []string{fileName(p.Variant)}
	if p.Regime != "" {
		parts = append(parts, p.Regime)
	}
	return strings.Join(slices.Concat(parts, p.Nemesis), "-")
}

// Command is the command line that runs the plan again.
func (p Plan) Command() string {
	w := commandLine("run")
	w.variant(p.Variant, p.Script)
	w.flag("topology", p.Topology, p.Topology != "")
	w.flag("nemesis", strings.Join(p.Nemesis, ","), len(p.Nemesis) > 0)
	w.flag("repeat", p.Repeat, p.Repeat > 1)
	w.flag("fault-for", p.FaultFor, len(p.Nemesis) > 0)
	w.flag("with", strings.Join(p.With, ","), len(p.With) > 0)
	w.flag("clients", p.Clients, p.Clients != 0)
	w.flag("duration", p.Duration, p.Duration != 0)
	w.flag("rate", p.Rate, p.Rate != 0)
	w.flag("key-count", p.Keys, p.Keys != 0)
	w.flag("ttl", p.TTL, p.TTL != 0)
	w.flag("regime", p.Regime, p.Regime != "")
	w.flag("seed", p.Seed, p.Seed != 0)
	return w.String()
}

const planFile = "plan.yaml"

func (p Plan) write(dir string) error {
	b, err := yaml.Marshal(p)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, planFile), b, 0o644)
}

// readPlan reads the plan of a results folder.
func readPlan(dir string) (p Plan, err error) {
	f, err := os.Open(filepath.Join(dir, planFile))
	if err != nil {
		return p, usage("%s is no results folder: %w", dir, err)
	}
	defer f.Close()
	dec := yaml.NewDecoder(f)
	dec.KnownFields(true)
	if err := dec.Decode(&p); err != nil {
		return p, usage("%s: %w", f.Name(), err)
	}
	return p, nil
}
