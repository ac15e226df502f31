package plan

import (
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/nemesis"
)

// clientFaults act on the clients themselves: each group stands for one process of an application.
func clientFaults() []faultEntry {
	one := FaultPlan{Host: "group"}
	return []faultEntry{
		{
			name: "crash-clients-HOST", doc: "clients die between two commands, and others take their places",
			takes: []string{"host"}, defaults: FaultPlan{Host: "group", For: 2 * time.Second}, strikes: "g", does: crashes,
			make: func(f fault, on target) harness.Nemesis { return nemesis.CrashClients(on.fleet, on.cluster, f.hosts) },
		},
		{
			name: "freeze-clients-HOST", doc: "clients stand still, as in a long garbage collection, and then go on as if nothing had been",
			takes: []string{"host"}, defaults: one, strikes: "g", does: freezes,
			make: func(f fault, on target) harness.Nemesis { return nemesis.FreezeClients(on.fleet, on.cluster, f.hosts) },
		},
		{
			name: "skew-clients-HOST", doc: "clients' clocks are wrong by so much: ahead, or behind where it is negative",
			takes: []string{"host", "by"}, defaults: FaultPlan{Host: "group", By: time.Minute}, strikes: "g", does: skews, prepare: prepareSkew,
			make: func(f fault, on target) harness.Nemesis {
				return nemesis.SkewClients(on.fleet, on.cluster, f.hosts, f.By)
			},
		},
	}
}

// prepareSkew refuses skews beyond belief.
func prepareSkew(f *fault) (string, error) {
	return within("by", f.By, -longestSkew, longestSkew)()
}

const longestSkew = 1000 * time.Hour
