package plan

import (
	"math"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/checkers"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/nemesis"
	"github.com/doublegrant/doublegrant/workloads"
)

// checkCombination refuses combinations of fields that are impossible.
func (r *Resolved) checkCombination() error {
	for _, check := range []func() error{
		r.checkLoad, r.checkFamily, r.checkExternal, r.checkMinReplicas, r.checkPlace, r.checkGenerators,
		r.checkExpected,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// checkThorough refuses a thorough load whose window is as long as the load itself.
func (r Resolved) checkThorough() error {
	if r.Thorough && r.variant.Family == workloads.Dedup && r.TTL == 0 && r.anyFaultWith(nemesis.Crashes) {
		return r.errorf("thorough", "thorough: with crashing clients a window lasts as long as the load, whose "+
			"length is open: give a ttl")
	}
	return nil
}

// MaxDuration bounds every duration in a plan, at about four days.
const MaxDuration = 100 * time.Hour

func (r *Resolved) checkLoad() error {
	for name, d := range map[string]time.Duration{"duration": r.Duration, "ttl": r.TTL, "faultFor": r.FaultFor,
		"calm": r.Calm} {
		if d > MaxDuration {
			return r.errorf(name, "%s is %v: ask for at most %v", name, d, MaxDuration)
		}
		if d < 0 {
			return r.errorf(name, "%s is %v: a time cannot be negative: ask for more than 0, or leave it out", name, d)
		}
	}
	switch {
	case r.Clients < 1 || r.Clients > maxClients:
		return r.errorf("clients", "%d clients: ask for 1 to %d", r.Clients, maxClients)
	case r.Keys < 0:
		return r.errorf("keys", "%d keys: the number cannot be negative: ask for 1 or more, or leave it out", r.Keys)
	case r.Keys > maxKeys:
		return r.errorf("keys", "%d keys: ask for at most %d, since each is tried after the load", r.Keys, maxKeys)
	case r.Repeat < 0:
		return r.errorf("repeat", "repeat %d: it cannot be negative: ask for 1 to %d", r.Repeat, MostTimes)
	case r.Repeat > MostTimes:
		return r.errorf("repeat", "repeat %d: ask for at most %d", r.Repeat, MostTimes)
	case math.IsNaN(r.Rate) || math.IsInf(r.Rate, 0) || r.Rate > maxRate:
		return r.errorf("rate", "a rate of %v is impossible: ask for at most %.0f operations a second", r.Rate, maxRate)
	case r.Pacing != "" && r.Pacing != OpenPacing && r.Pacing != ClosedPacing:
		return r.errorf("pacing", "pacing %q: want open or closed", r.Pacing)
	case r.Pacing == OpenPacing && r.Rate < 0:
		return r.errorf("pacing", "pacing open needs a rate: say how many operations a second are due")
	case r.Pacing == OpenPacing && r.variant.ID == RoundsVariant:
		return r.errorf("pacing", "%s sets its own pace: leave rate and pacing out", RoundsVariant)
	case r.Thorough && r.variant.Family == workloads.Writes:
		return r.errorf("thorough", "thorough: no situations are counted for %s: leave thorough out",
			r.Variant)
	case r.StopOnFirst && len(checkers.Watchers(r.Checkers())) == 0:
		return r.errorf("stopOnFirst", "stop-on-first: violations of %s show only after the load: leave it out",
			r.Variant)
	}
	return nil
}

func (r *Resolved) checkFamily() (err error) {
	family := r.variant.Family
	switch {
	case r.Keys > 0 && family != workloads.Lock && family != workloads.Sequence:
		return r.errorf("keys", "keys are for locks and sequences, and %s is neither: leave keys out", r.Variant)
	case r.variant.OneKey && r.Keys > 1:
		return r.errorf("keys", "%s cannot tell %d keys apart: put {key} into its keys, or ask for one key",
			r.Variant, r.Keys)
	case r.TTL > 0 && family != workloads.Lock && family != workloads.Dedup:
		return r.errorf("ttl", "a ttl is for locks and dedup, and %s is neither: leave ttl out", r.Variant)
	case r.TTL > 0 && r.TTL < 10*time.Millisecond:
		return r.errorf("ttl", "a ttl of %v is too short: ask for 10ms or more", r.TTL)
	case r.Hold != 0 && family != workloads.Lock:
		return r.errorf("hold", "a hold is for locks, and %s is not one: leave hold out", r.Variant)
	case r.Hold < 0:
		return r.errorf("hold", "a hold of %v: ask for more than 0", r.Hold)
	case r.Rounds != nil && r.variant.ID != RoundsVariant:
		return r.errorf("rounds", "rounds are for %s, not for %s: leave rounds out", RoundsVariant, r.Variant)
	case r.Resource && family != workloads.Lock:
		return r.errorf("resource", "a resource is for locks, and %s is not one: leave resource out", r.Variant)
	case r.Plan.Regime != "" && family != workloads.Sequence:
		return r.errorf("regime", "a regime is for sequences, and %s is not one: leave regime out", r.Variant)
	case r.Plan.Regime != "":
		if r.regime, err = workloads.ParseRegime(r.Plan.Regime); err != nil {
			return r.errorf("regime", "%w", err)
		}
	}
	return nil
}

var aofPolicies = []cluster.AOF{cluster.AOFAlways, cluster.AOFEverySec, cluster.AOFNoSync}

func (r *Resolved) checkMinReplicas() error {
	replicas := r.on.replicas()
	for _, v := range r.variants() {
		if v.Acks > replicas && replicas > 0 {
			return r.errorf("acks", "%s waits for %d replicas, and %s has %d: ask for acks 1 to %[4]d", v.ID, v.Acks,
				r.Topology, replicas)
		}
		if v.Acks > replicas {
			return r.errorf("topology", "%s waits for %d replicas, and %s has %d: use --topology sentinel, which has 2",
				v.ID, v.Acks, r.Topology, replicas)
		}
	}
	switch {
	case r.Acks < 0:
		return r.errorf("acks", "%d acknowledgements: ask for 1 or more", r.Acks)
	case r.MinReplicas != 0 && replicas == 0:
		return r.errorf("minReplicas", "min-replicas needs replicas, and %s has none: use --topology sentinel",
			r.Topology)
	case r.MinReplicas < 0 || r.MinReplicas > replicas:
		return r.errorf("minReplicas", "min-replicas %d with %d replicas: ask for 1 to %[2]d", r.MinReplicas,
			replicas)
	case r.MaxLag != 0 && r.MinReplicas == 0:
		return r.errorf("maxLag", "max-lag needs min-replicas: give both")
	case r.MaxLag != 0 && (r.MaxLag < time.Second || r.MaxLag%time.Second != 0):
		return r.errorf("maxLag", "a max-lag of %v: Redis takes whole seconds: ask for 1s or more", r.MaxLag)
	case r.AOF != "" && !slices.Contains(aofPolicies, cluster.AOF(r.AOF)):
		return r.errorf("aof", "unknown aof %q: choose always, everysec or no", r.AOF)
	}
	return nil
}

// variantWithWait returns the id of a variant with a WAIT, for messages.
func variantWithWait() string {
	all := workloads.Catalogue()
	return all[slices.IndexFunc(all, func(v workloads.Variant) bool { return v.Acks > 0 })].ID
}

func (r *Resolved) checkPlace() error {
	for _, v := range r.variants() {
		switch {
		case v.Masters > r.on.primaries:
			return r.errorf("topology", "%s needs %d masters or more: use --topology %s", v.ID, v.Masters, ManyMasters)
		case v.Masters == 0 && r.on.primaries > 1:
			return r.errorf("topology", "%s works on one primary, and %s has several: choose lock/redlock, or one "+
				"primary", v.ID,
				r.Topology)
		}
	}
	switch {
	case r.on.sentinels == 0 && (r.DownAfter != 0 || r.SlowSentinels || r.OwnSentinel):
		return r.errorf("topology", "downAfter, slowSentinels and ownSentinel are for Sentinels, and %s has none: "+
			"use topology %s", r.Topology, Sentinel)
	case r.DownAfter != 0 && r.DownAfter < time.Second:
		return r.errorf("downAfter", "a downAfter of %v is too close to the Sentinels' ping period: ask for 1s or more",
			r.DownAfter)
	case r.On != "" && r.On != string(cluster.OnProcess) && r.On != string(cluster.OnDocker):
		return r.errorf("on", "unknown platform %q: choose process or docker", r.On)
	case r.Image != "" && r.On != string(cluster.OnDocker):
		return r.errorf("image", "an image is for containers: use --on docker")
	}
	return nil
}
