package plan

import (
	"cmp"
	"context"
	"strings"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster/external"
	"github.com/doublegrant/doublegrant/nemesis"
	"github.com/doublegrant/doublegrant/workloads"
)

// This file has the rules for a Redis that somebody else runs.

// OnExternal says where plans of topology external run. With the zero value none can run.
type OnExternal struct {
	Target    *external.Target // the external Redis; nil: none was given
	Confirmed string           // hosts that the user agreed to put under load (--i-may-load); must equal Target.Hosts()
	Note      func(string)     // receives remarks for the user after the run; nil: remarks are dropped
	OnNotSent func(error)      // see external.Options
}

// clientsFromPrimary is the shape of a partition that cuts the links between clients and the primary, and no others.
const clientsFromPrimary = "clients-primary"

// externalFaults names the faults that can strike an external Redis.
const externalFaults = "partition-clients-primary, one-way, cut, latency, bandwidth, slicer, limit-data and " +
	"slow-close from clients to primary, " +
	"crash-clients, freeze-clients and skew-clients"

// ExternalURL is the environment variable for the URL of an external Redis.
const ExternalURL = "DOUBLEGRANT_REDIS_URL"

// mostPrefix bounds Plan.Prefix, in bytes.
const mostPrefix = 100

// checkExternal refuses what is impossible on an external Redis, before anything starts.
func (r *Resolved) checkExternal() error {
	if !r.on.external {
		if r.Prefix != "" {
			return r.errorf("prefix", "a prefix is for --topology %s: leave it out, since on other topologies Redis "+
				"has no other keys", External)
		}
		return nil
	}
	nodeFields := map[string]bool{ // fields about nodes that doublegrant starts
		"on": r.On != "", "image": r.Image != "", "minReplicas": r.MinReplicas != 0, "maxLag": r.MaxLag != 0,
		"aof": r.AOF != "", "acks": r.Acks != 0,
		"downAfter": r.DownAfter != 0, "slowSentinels": r.SlowSentinels, "ownSentinel": r.OwnSentinel,
	}
	for _, field := range []string{"on", "image", "minReplicas", "maxLag", "aof", "acks", "downAfter", "slowSentinels",
		"ownSentinel"} {
		if nodeFields[field] {
			return r.errorf(field, "%s is for nodes that doublegrant starts, and on --topology %s it starts none: "+
				"leave it out", field, External)
		}
	}
	for _, v := range r.variants() {
		if why := unconfinedReason(v); why != "" {
			return r.errorf("topology", "%s cannot run on --topology %s: %s", v.ID, External, why)
		}
	}
	forbidden := func(c rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:._-/", c)
	}
	if len(r.Prefix) > mostPrefix || strings.ContainsFunc(r.Prefix, forbidden) || r.Prefix != "" && len(r.Prefix) < 3 {
		return r.errorf("prefix", "a prefix consists of 3 to %d letters, digits and : . _ - /", mostPrefix)
	}
	r.prefix = cmp.Or(r.Prefix, external.NewPrefix())
	return nil
}

// CheckPlace refuses a user's adapter on an external Redis. The error wraps ErrUsage.
func (p Plan) CheckPlace() error {
	if p.Topology == External && p.Adapter != nil {
		return p.errorf("adapter", "%s cannot run on --topology %s: %s", p.Adapter, External, unguardedAdapter)
	}
	return nil
}

const unguardedAdapter = "an adapter makes its own connections, so its keys cannot be checked before they are sent"

// unconfinedReason returns why a variant cannot be confined to keys under a prefix; empty: the variant can be confined.
func unconfinedReason(v workloads.Variant) string {
	switch {
	case v.IsAdapter():
		return unguardedAdapter
	case v.OneKey:
		return "it uses a fixed key, which is outside the run's prefix: put {key} into its keys"
	case v.OwnKeys:
		return "it uses keys or channels whose names do not begin with {key}"
	case v.Acks > 0:
		return "it waits for replicas, and an external Redis may have none"
	case v.Masters > 0:
		return "it needs several masters, and an external Redis is one"
	}
	return ""
}

// linksOnly is an external system as faults see it. Faults strike only its links and clients: checkTopology has refused
// all other faults.
type linksOnly struct {
	*external.System
	unsupported
}

// unsupported has the methods of nemesis.Cluster that external.System lacks. A call of any of them panics.
type (
	unsupported        struct{ unsupportedMethods } // two levels deep, so that the methods of System win
	unsupportedMethods struct{ nemesis.Cluster }
)

// externalSystem returns the system of a plan on an external Redis.
func (r Resolved) externalSystem(m Machine) *external.System {
	return external.New(*m.External.Target, external.Options{
		Prefix: r.prefix, Groups: r.on.group, Clients: r.ownClients(), OpTimeout: r.answerTimeout(),
		Retries: r.variant.Retries,
		Note:    m.External.Note, OnNotSent: m.External.OnNotSent,
	})
}

// system returns the plan's system, and the same system as faults see it.
func (r Resolved) system(m Machine, logs string) (s system, c nemesis.Cluster) {
	if r.on.external {
		e := r.externalSystem(m)
		return e, linksOnly{System: e}
	}
	machine := r.machine(m)
	machine.LogDir = logs
	local := r.on.cluster(machine)
	return local, local
}

// system is a harness.System to which clients connect.
type system interface {
	harness.System
	workloads.QuorumConnector
}

// preflightExternal returns an error unless the user has confirmed the hosts and Redis accepts writes. It connects only
// after the confirmation.
func (r Resolved) preflightExternal(m Machine) error {
	switch on := m.External; {
	case on.Target == nil:
		return Usagef("--topology %s needs the URL of Redis: set %s, or give --redis-url-file or --redis", External,
			ExternalURL)
	case on.Confirmed != on.Target.Hosts():
		return Usagef("not started: the load would hit %s: if that is allowed, give --i-may-load %[1]s",
			on.Target.Hosts())
	}
	return r.externalSystem(m).Preflight(context.Background())
}
