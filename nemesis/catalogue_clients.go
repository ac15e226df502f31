package nemesis

import (
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// clientFaults lists the faults of the clients themselves. Each client group stands for one process of an application.
func clientFaults() []Entry {
	one := Parameters{Host: "group"}
	return []Entry{
		{
			Name: "crash-clients-HOST", Doc: "clients die between two commands, and others take their places",
			Takes: []string{"host"}, Defaults: one, For: 2 * time.Second, Strikes: "g", Does: Crashes,
			make: func(f Configured, on Subject) harness.Nemesis {
				return CrashClients(on.Fleet, on.Cluster, f.target)
			},
		},
		{
			Name:  "freeze-clients-HOST",
			Doc:   "clients stand still, as in a long garbage collection, and then continue as if nothing had happened",
			Takes: []string{"host"}, Defaults: one, Strikes: "g", Does: Freezes,
			make: func(f Configured, on Subject) harness.Nemesis {
				return FreezeClients(on.Fleet, on.Cluster, f.target)
			},
		},
		{
			Name:  "skew-clients-HOST",
			Doc:   "clients' clocks are wrong by this much: ahead, or behind if it is negative",
			Takes: []string{"host", "by"}, Defaults: Parameters{Host: "group", By: time.Minute}, Strikes: "g",
			Does: Skews, prepare: prepareSkew,
			make: func(f Configured, on Subject) harness.Nemesis {
				return SkewClients(on.Fleet, on.Cluster, f.target, f.By)
			},
		},
	}
}

// prepareSkew refuses skews of more than longestSkew in either direction.
func prepareSkew(f *Configured) (string, error) {
	return checkBounds("by", f.By, -longestSkew, longestSkew)
}

const longestSkew = 1000 * time.Hour
