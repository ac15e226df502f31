package plan

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/checkers"
	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/nemesis"
	"github.com/doublegrant/doublegrant/workloads"
)

// checkCompiler returns an error if faults set clocks, but the compiler that this needs is missing. The error wraps
// cluster.ErrNoCompiler, not ErrUsage: the machine is at fault and not the plan, so the exit code is 3.
func (r Resolved) checkCompiler() error {
	if cluster.HasClockLibrary() {
		return nil
	}
	words := append(strings.Fields(os.Getenv("CC")), "cc")
	if _, err := exec.LookPath(words[0]); err != nil && r.anyFaultWith(nemesis.SetsClocks) {
		return fmt.Errorf("%w: faults that step a node's clock need a C compiler, and %q cannot be run: install it "+
			"(Debian: apt-get install gcc libc6-dev) or set CC", cluster.ErrNoCompiler, words[0])
	}
	return nil
}

// Spec returns the harness's spec of the plan for the machine m. Nodes log to the folder logs, and store receives the
// history.
func (r Resolved) Spec(m Machine, logs string, store harness.Store) harness.Spec {
	c, target := r.system(m, logs)
	on := nemesis.Subject{Cluster: target, Fleet: &harness.Fleet{}}
	if r.Generators > 0 {
		on.Cluster = nemesis.WithRemoteClients(target, m.Generators)
	}
	r.variant.LogTo(logs)
	if local, ok := c.(*cluster.Cluster); ok && r.leavesNodesAlone() {
		r.variant.ConnectDirectly(local.DirectAddress)
	}
	loads := r.loads(c, workloads.Share{})
	spec := harness.Spec{
		Name: r.Name(), System: c, Store: store, Labels: r.labels(),
		Workload: loads[0].Workload, Clients: r.Clients, Riders: loads[1:],
		Duration: r.Duration, Rate: max(0, r.Rate), OpenLoop: r.Pacing == OpenPacing, Seed: r.Seed,
		QuietPeriod:  r.lastCalm(),
		FinalTimeout: finalReads + r.TTL,
		Checkers:     r.Checkers(), Watchers: checkers.Watchers(r.Checkers()), StopOnFirst: r.StopOnFirst,
	}
	if r.Thorough {
		spec.Quota = checkers.Quota
	}
	if r.Generators > 0 {
		spec.Generators = m.Generators.Members()
	}
	r.addFaults(&spec, on)
	return spec
}

// Close stops the processes that the plan's variant started.
func (r Resolved) Close() { r.variant.Close() }

// lastCalm returns how long the load goes on after the last fault, to show that the system works again. For locks it is
// longer than a lease: a lock whose owner crashed, or whose release was lost, is taken until its lease ends.
func (r Resolved) lastCalm() time.Duration {
	calm := cmp.Or(r.Calm, defaultCalm)
	if r.variant.Family == workloads.Lock {
		lease := cmp.Or(r.TTL, defaultLease)
		// some variants only support whole seconds
		calm = max(calm, (lease+time.Second-1).Truncate(time.Second)+reacquireTime)
	}
	return calm
}

// reacquireTime is the time to take locks again after their leases ended.
const reacquireTime = time.Second

// finalReads bounds the final reads and probes. A lease or window that the plan names is added to it. Default leases
// and windows are shorter than this bound.
const finalReads = 30 * time.Second

// options returns the plan's options for its variant.
func (r Resolved) options() workloads.Options {
	o := workloads.Options{Keys: r.Keys, TTL: r.TTL, Regime: r.regime, Acks: r.Acks, Hold: r.Hold, Resource: r.Resource,
		Prefix: r.prefix}
	if o.TTL == 0 && r.variant.Family == workloads.Dedup && r.anyFaultWith(nemesis.Crashes) {
		o.TTL = r.Duration * 88 / 100 // the end of the run checks marks left by crashes while the window is open
	}
	o.Rounds.Clients = r.Clients
	if p := r.Rounds; p != nil {
		o.Rounds.Rounds, o.Rounds.Every, o.Rounds.Lock, o.Rounds.Within = p.Count, p.Every, p.Locks, p.Within
	}
	return o
}

// addFaults adds the plan's faults to spec.
func (r Resolved) addFaults(spec *harness.Spec, on nemesis.Subject) {
	for _, name := range r.faults.names {
		var steps []harness.TimedFault
		for _, s := range r.faults.tracks[name] {
			steps = append(steps, harness.TimedFault{Nemesis: s.configured.Make(on), After: s.Start, For: s.For})
		}
		if name == "" {
			spec.Faults = steps
		} else {
			spec.Tracks = append(spec.Tracks, steps)
		}
	}
	if r.anyFaultWith(nemesis.OfClients) {
		spec.Fleet = on.Fleet
	}
}

// anyFaultWith reports whether any of the plan's faults has any of the given consequences.
func (r Resolved) anyFaultWith(what nemesis.Consequences) bool {
	return slices.ContainsFunc(r.faults.all(), func(s FaultPlan) bool { return s.configured.Can(what) })
}

// leavesNodesAlone reports whether all of the plan's faults act on clients only. In that case clients can connect to
// nodes directly, without the fabric that breaks links.
func (r Resolved) leavesNodesAlone() bool {
	return !slices.ContainsFunc(r.faults.all(), func(s FaultPlan) bool { return !s.configured.Can(nemesis.OfClients) })
}

// Preflight returns an error if this machine cannot carry out the run. It also returns a check for each limit of the
// machine that may be too low.
func (r Resolved) Preflight(m Machine) ([]cluster.Check, error) {
	if err := r.checkCompiler(); err != nil {
		return nil, err
	}
	if r.on.external {
		return nil, r.preflightExternal(m)
	}
	return r.on.cluster(r.machine(m)).Preflight()
}

// machine returns the options of a cluster on this machine, for the plan.
func (r Resolved) machine(m Machine) cluster.Options {
	return cluster.Options{
		RedisServer: m.Redis, Platform: m.platform(r.On, r.Image), Clients: r.on.workers,
		OpTimeout: r.answerTimeout(), DownAfter: r.DownAfter, SlowSentinels: r.SlowSentinels,
		OwnSentinel: r.OwnSentinel,
		MinReplicas: r.MinReplicas, MaxLag: r.MaxLag, AOF: cluster.AOF(r.AOF),
		Clocks: r.anyFaultWith(nemesis.SetsClocks), Retries: r.variant.Retries, RemoteClients: r.Generators > 0,
	}
}

// Machine describes where plans run. The zero value is usable.
type Machine struct {
	Redis string // redis-server binary; default: see cluster.FindRedis

	// Docker returns the platform for plans on docker; image "" is the default image. nil: such plans are an error. See
	// harness/cluster/docker.
	Docker func(image string) cluster.Platform

	Generators GeneratorLink // needed by plans with generators

	External OnExternal // used by plans of topology external
}

// platform returns what nodes run on; nil: processes.
func (m Machine) platform(name, image string) cluster.Platform {
	switch {
	case name != cluster.OnDocker:
		return nil
	case m.Docker == nil:
		return cluster.NotLinked(name)
	}
	return m.Docker(image)
}

// answerTimeout returns how long clients wait for an answer, longer than a WAIT may take; 0: the cluster's default.
func (r Resolved) answerTimeout() time.Duration {
	if r.Rounds == nil || r.Rounds.Within < shortWait {
		return 0
	}
	return r.Rounds.Within + shortWait
}

// shortWait is the longest WAIT for which the default timeout is enough.
const shortWait = 300 * time.Millisecond

func (r Resolved) labels() map[string]string {
	l := map[string]string{"variant": r.Variant, "topology": r.Topology, "claim": string(r.variant.Claim)}
	for name, value := range map[string]string{
		"nemesis": strings.Join(r.faultNames(), ", "), "regime": r.regimeLabel(), "with": strings.Join(r.With, ", "),
		"image": r.Image, "conditions": r.Conditions(), "generators": r.generatorsLabel(),
	} {
		if value != "" {
			l[name] = value
		}
	}
	return l
}

// regimeLabel returns the label for the numbers that callers of a sequence propose.
func (r Resolved) regimeLabel() string {
	if r.variant.Family == workloads.Sequence {
		return cmp.Or(r.Plan.Regime, everyRegime)
	}
	return ""
}

// everyRegime is the label of runs and searches without a named regime.
const everyRegime = "every regime"

// Values of Plan.Pacing.
const (
	OpenPacing   = "open"   // operations are due at fixed times
	ClosedPacing = "closed" // clients wait between operations
)

// Checkers returns the checkers of the plan's workloads.
func (r Resolved) Checkers() []harness.Checker { return checkers.For(r.described()...) }

// described returns the plan's workloads for their descriptions only. They cannot open clients.
func (r Resolved) described() (all []harness.Workload) {
	for _, l := range r.loads(nil, workloads.Share{}) {
		all = append(all, l.Workload)
	}
	return all
}

// loads returns the plan's workload and its riders, which connect with c. The argument share is the part that one
// generator drives. The zero Share is the whole load.
func (r Resolved) loads(c workloads.Connector, share workloads.Share) []harness.Rider {
	o := r.options()
	o.Share = share
	all := []harness.Rider{{Workload: r.variant.Workload(c, o), Clients: r.Clients}}
	for _, v := range r.with {
		all = append(all, harness.Rider{Workload: v.Workload(c,
			workloads.Options{Acks: r.Acks, Prefix: r.prefix, Share: share}), Clients: riderClients})
	}
	return all
}
