package plan

import (
	"strconv"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster/clients"
	"github.com/doublegrant/doublegrant/harness/cluster/external"
	"github.com/doublegrant/doublegrant/nemesis"
	"github.com/doublegrant/doublegrant/workloads"
)

// This file has the rules for plans whose clients run in other processes, the generators.

// GeneratorLink connects a run with the generators that run its clients.
type GeneratorLink interface {
	harness.LinkControl
	Members() []harness.Generator
}

// MostGenerators bounds Plan.Generators.
const MostGenerators = 64

// checkGenerators refuses what needs all clients in one process.
func (r *Resolved) checkGenerators() error {
	switch {
	case r.Generators == 0:
		return nil
	case r.Generators < 0 || r.Generators > MostGenerators:
		return r.errorf("generators", "%d generators: ask for 1 to %d", r.Generators, MostGenerators)
	case r.Generators > r.Clients:
		return r.errorf("generators", "%d generators for %d clients: ask for at least as many clients as "+
			"generators", r.Generators,
			r.Clients)
	case r.Resource:
		return r.errorf("generators", "a resource exists in one process only: leave resource or generators out")
	case r.variant.ID == RoundsVariant:
		return r.errorf("generators", "%s runs its rounds in one process: leave generators out", RoundsVariant)
	case r.variant.OneKey && r.Plan.Regime == "" && r.variant.Family == workloads.Sequence:
		return r.errorf("regime", "%s has a single sequence, which all regimes share in turn within one process: "+
			"choose one with --regime", r.Variant)
	}
	return nil
}

// checkGeneratorFaults refuses faults of clients if generators run the clients.
func (r Resolved) checkGeneratorFaults() error {
	if r.Generators > 0 && r.anyFaultWith(nemesis.OfClients) {
		return r.errorf("generators", "a fault of clients cannot reach clients in generators: leave out the faults "+
			"of clients, or generators")
	}
	return nil
}

// generatorsLabel returns the number of generators as a label; empty: clients are in this process.
func (r Resolved) generatorsLabel() string {
	if r.Generators == 0 {
		return ""
	}
	return strconv.Itoa(r.Generators)
}

// ownClients returns the number of clients in this process.
func (r Resolved) ownClients() int {
	if r.Generators > 0 {
		return r.on.group
	}
	return r.on.workers
}

// OpenClients opens n clients for one of the plan's generators. groupIP and lookIP return the clients' source
// addresses, as in clients.Options. The function fail is called with an error that has to end the load.
func (r Resolved) OpenClients(d clients.Deployment, n int, groupIP, lookIP func(int) string,
	serves func(kind string, group int, node string), fail func(error)) (*clients.Set, error) {
	if r.on.external {
		return external.OpenClients(d, external.Options{
			Prefix: r.prefix, Groups: r.on.group, Clients: n, OpTimeout: r.answerTimeout(),
			Retries: r.variant.Retries, OnNotSent: fail,
		}, serves)
	}
	if len(d.Sentinels) == 0 {
		serves = nil
	}
	return clients.Open(d, clients.Options{
		Groups: r.on.group, Clients: n, OpTimeout: r.answerTimeout(), Retries: r.variant.Retries,
		OwnSentinel: r.OwnSentinel,
		GroupIP:     groupIP, LookIP: lookIP, OnServes: serves,
	})
}

// ForGenerators returns the plan to send to generators, which includes the run's prefix.
func (r Resolved) ForGenerators() Plan {
	r.Prefix = r.prefix
	return r.Plan
}

// Share returns the load of one generator. Its clients connect with c.
func (r Resolved) Share(c workloads.Connector, share workloads.Share) harness.ShareSpec {
	share.Rate, share.Clients = max(0, r.Rate), r.Clients
	loads := r.loads(c, share)
	return harness.ShareSpec{
		Workload: loads[0].Workload, Clients: r.Clients, Riders: loads[1:], Rate: max(0, r.Rate),
		OpenLoop: r.Pacing == OpenPacing, Seed: r.Seed, Groups: r.on.group,
	}
}
