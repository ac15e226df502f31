package granttest

import (
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/nemesis"
)

// Fault is something that goes wrong during a load, and heals. The functions below make faults. The zero value fails
// the test, and so does a fault that lasts for less than 0.
type Fault = nemesis.Configured

// KillPrimary ends the primary, which comes back after d with what its disk has. With Sentinels another node is promoted.
func KillPrimary(d time.Duration) Fault {
	return nemesis.Custom(nemesis.Entry{For: d}, func(on nemesis.Subject) harness.Nemesis {
		return nemesis.KillPrimary(on.Cluster)
	})
}

// PausePrimary stops the primary's process for d. Commands that waited are executed when it goes on.
func PausePrimary(d time.Duration) Fault {
	return nemesis.Custom(nemesis.Entry{For: d}, func(on nemesis.Subject) harness.Nemesis {
		return nemesis.PausePrimary(on.Cluster)
	})
}

// SplitBrain cuts the primary, one Sentinel and two fifths of the clients off from the rest for d. It needs the topology
// [Sentinel], and d to be 5s or more: the others have to notice.
func SplitBrain(d time.Duration) Fault {
	needs := nemesis.Entry{Name: "SplitBrain", For: d, Needs: nemesis.NeedsSentinels}
	return nemesis.Custom(needs, func(on nemesis.Subject) harness.Nemesis {
		return nemesis.PartitionPrimary(on.Cluster)
	})
}

// FlushScripts empties the script cache of every node.
func FlushScripts() Fault {
	return nemesis.Custom(nemesis.Entry{For: time.Second}, func(on nemesis.Subject) harness.Nemesis {
		return nemesis.ScriptFlush(on.Cluster, nemesis.Nodes())
	})
}

// CrashClients ends a fifth of the clients within two seconds, each in the middle of something. Others take their places.
func CrashClients() Fault {
	crashes := nemesis.Entry{For: 2 * time.Second, Does: nemesis.Crashes}
	return nemesis.Custom(crashes, func(on nemesis.Subject) harness.Nemesis {
		return nemesis.CrashClients(on.Fleet, on.Cluster, nemesis.Group())
	})
}

// FreezeClients lets a fifth of the clients stand still for d, as in a long pause of a garbage collection.
func FreezeClients(d time.Duration) Fault {
	return nemesis.Custom(nemesis.Entry{For: d, Does: nemesis.Freezes}, func(on nemesis.Subject) harness.Nemesis {
		return nemesis.FreezeClients(on.Fleet, on.Cluster, nemesis.Group())
	})
}

// Nemesis returns a fault that lasts for d and that inject makes: any other of package nemesis, or one of your own.
func Nemesis(d time.Duration, inject func(*cluster.Cluster, *harness.Fleet) harness.Nemesis) Fault {
	if inject == nil {
		return Fault{}
	}
	return nemesis.Custom(nemesis.Entry{For: d}, func(on nemesis.Subject) harness.Nemesis {
		return inject(on.Cluster.(*cluster.Cluster), on.Fleet) // loadSpec passes no other
	})
}
