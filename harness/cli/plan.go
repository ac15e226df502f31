package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/doublegrant/doublegrant/harness/plan"
)

// planFlags hold the flags that the commands run and compare share.
type planFlags struct {
	plan     plan.Plan
	files    []string // plan files; if there are any, the field plan is not used
	variant  variantFlags
	external externalFlags
}

func (pf *planFlags) add(cmd *cobra.Command) {
	f, p := cmd.Flags(), &pf.plan
	f.StringArrayVar(&pf.files, "plan", nil,
		"plan file to use instead of these flags, such as the plan.yaml of a results folder")
	f.StringVar(&p.Topology, "topology", "",
		"standalone; sentinel: primary, two replicas, three Sentinels; masters:5: five independent "+
			"primaries;\nexternal: a Redis that is already running, see below (default: standalone, with --nemesis "+
			"sentinel)")
	f.StringSliceVar(&p.Nemesis, "nemesis", nil,
		"faults or packages of faults, injected one after the other: see doublegrant list")
	f.IntVar(&p.Repeat, "repeat", 0, "how often to repeat the list of faults (default 1)")
	f.DurationVar(&p.FaultFor, "fault-for", 0, "how long each fault lasts (default: depends on the fault, mostly 5s)")
	f.DurationVar(&p.Calm, "calm", 0, "load without faults before each fault, and after the last one, then at least "+
		"until every lease has ended (default 2s)")
	f.StringSliceVar(&p.With, "with", nil, "riders, variants that run beside the first: writes/sadd measures lost "+
		"writes")
	f.IntVar(&p.Clients, "clients", 0, "concurrent clients (default 100)")
	f.DurationVar(&p.Duration, "duration", 0, "minimum duration of the load; faults extend it (default 10s)")
	f.BoolVar(&p.Thorough, "thorough", false,
		"continue until each situation, such as a release after the lease, has occurred 100 times; unknown if one "+
			"has not\nwithin --duration (default 5m)")
	f.Float64Var(&p.Rate, "rate", 0,
		"operations a second to aim at, as rate in a plan; negative: as fast as clients can (default 20000, on "+
			"several masters 500)")
	f.StringVar(&p.Pacing, "pacing", "",
		"closed: clients think between operations, and a slow one delays the next; open: operations are due at fixed "+
			"times, from which their latency counts (default closed)")
	f.BoolVar(&p.StopOnFirst, "stop-on-first", false, "end the load at the first violation")
	f.IntVar(&p.Keys, "key-count", 0, "number of locks or sequences (default: a lock for every ten clients, one "+
		"sequence)")
	f.DurationVar(&p.TTL, "ttl", 0, "lease of a lock (default: 1337, 350 and 77ms in turn) or window of a message "+
		"filter (default 1.3s)")
	f.DurationVar(&p.Hold, "hold", 0, "mean time for which a client keeps a lock (default 5ms)")
	f.BoolVar(&p.Resource, "resource", false,
		"let owners of a lock write to a resource that it guards, and check whether a stale owner's write gets through")
	f.Uint64Var(&p.Seed, "seed", 0, "seed of all random choices (default: chosen and reported)")
	f.StringVar(&p.Prefix, "prefix", "",
		"prefix of all keys on an external Redis (default: doublegrant: and a number unique to the run)")
	pf.addCluster(cmd)
	pf.external.add(cmd)
	pf.variant.add(cmd)
}

// addCluster adds the flags about the cluster, except its topology.
func (pf *planFlags) addCluster(cmd *cobra.Command) {
	f, p := cmd.Flags(), &pf.plan
	f.StringVar(&p.On, "on", "", "how Redis nodes run: process or docker (default process)")
	f.StringVar(&p.Image, "redis-image", "",
		"Redis image for --on docker (default: $DOUBLEGRANT_REDIS_IMAGE, then redis:7)")
	f.IntVar(&p.MinReplicas, "min-replicas", 0,
		"min-replicas-to-write: a primary with fewer replicas refuses writes (default 0)")
	f.DurationVar(&p.MaxLag, "max-lag", 0, "min-replicas-max-lag, in whole seconds (default 10s)")
	f.StringVar(&p.AOF, "aof", "",
		"keep an append-only file, with appendfsync always, everysec or no (default: no file, so a killed node "+
			"comes back empty)")
	f.IntVar(&p.Acks, "acks", 0, "number of replicas that a variant with WAIT waits for (default: the variant's)")
}

// planFileFlags lists the flags that a plan file replaces, so that they cannot be given with --plan.
var planFileFlags = []string{
	"generators", "topology", "nemesis", "repeat", "fault-for", "calm", "with", "clients", "duration", "thorough",
	"rate", "pacing", "stop-on-first", "key-count", "ttl", "hold", "resource",
	"on", "redis-image", "min-replicas", "max-lag", "aof", "acks", "regime", "prefix",
}

// nonZeroFlags lists the flags that may not be 0. In a plan 0 means the default, and the default of these flags is
// another number.
var nonZeroFlags = []string{
	"repeat", "fault-for", "calm", "clients", "duration", "rate", "key-count", "ttl", "hold", "acks", "max-lag",
}

// noZeros refuses flags with the value 0, which would silently mean their defaults.
func noZeros(cmd *cobra.Command, names ...string) error {
	for _, name := range names {
		f := cmd.Flags().Lookup(name)
		if value := f.Value.String(); f.Changed && (value == "0" || value == "0s" || value == "-0") {
			return usage("--%s %s: ask for more than 0, or leave it out", name, value)
		}
	}
	return nil
}

// noNegatives refuses flags with a negative value.
func noNegatives(cmd *cobra.Command, names ...string) error {
	for _, name := range names {
		if f := cmd.Flags().Lookup(name); f.Changed && strings.HasPrefix(f.Value.String(), "-") {
			return usage("--%s %s: ask for 0 or more", name, f.Value)
		}
	}
	return nil
}

// plans returns the plans of the files, or else the plan of the flags.
func (pf *planFlags) plans(cmd *cobra.Command) ([]plan.Plan, error) {
	if err := noZeros(cmd, nonZeroFlags...); err != nil {
		return nil, err
	}
	if cmd.Flags().Changed("nemesis") && len(pf.plan.Nemesis) == 0 {
		return nil, usage("--nemesis: one of the names is empty: leave it out")
	}
	if len(pf.files) == 0 {
		return []plan.Plan{pf.plan}, nil
	}
	if i := slices.IndexFunc(planFileFlags, cmd.Flags().Changed); i >= 0 {
		return nil, usage("--%s cannot be given with --plan, since the file decides it: give only --seed, "+
			"--results, --redis-server and -o",
			planFileFlags[i])
	}
	var out []plan.Plan
	for _, path := range pf.files {
		p, err := plan.ReadPlan(path)
		if err != nil {
			return nil, err
		}
		if pf.plan.Seed != 0 {
			p.Seed = pf.plan.Seed
		}
		out = append(out, p)
	}
	return out, nil
}
