package granttest

import (
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/nemesis"
)

// Fault is something that goes wrong during a load, and heals. The functions below make them; the zero value fails the test, and so
// does a fault that lasts for less than 0.
type Fault struct {
	lasts    time.Duration
	make     func(*cluster.Cluster, *harness.Fleet) harness.Nemesis
	sentinel string // the fault's name if it needs Sentinels, otherwise empty
	crashes  bool   // it ends clients one by one
}

// KillPrimary ends the primary, which comes back after d with what its disk has. With Sentinels another node is promoted.
func KillPrimary(d time.Duration) Fault {
	return Fault{lasts: d, make: func(c *cluster.Cluster, _ *harness.Fleet) harness.Nemesis { return nemesis.KillPrimary(c) }}
}

// PausePrimary stops the primary's process for d. Commands that waited are executed when it goes on.
func PausePrimary(d time.Duration) Fault {
	return Fault{lasts: d, make: func(c *cluster.Cluster, _ *harness.Fleet) harness.Nemesis { return nemesis.PausePrimary(c) }}
}

// SplitBrain cuts the primary, one Sentinel and two fifths of the clients off from the rest for d. It needs the topology
// [Sentinel], and d to be 5s or more: the others have to notice.
func SplitBrain(d time.Duration) Fault {
	return Fault{lasts: d, make: func(c *cluster.Cluster, _ *harness.Fleet) harness.Nemesis { return nemesis.PartitionPrimary(c) }, sentinel: "SplitBrain"}
}

// FlushScripts empties the script cache of every node.
func FlushScripts() Fault {
	return Fault{lasts: time.Second, make: func(c *cluster.Cluster, _ *harness.Fleet) harness.Nemesis {
		return nemesis.ScriptFlush(c, nemesis.Nodes())
	}}
}

// CrashClients ends a fifth of the clients within two seconds, each in the middle of something. Others take their places.
func CrashClients() Fault {
	return Fault{lasts: 2 * time.Second, crashes: true, make: func(c *cluster.Cluster, f *harness.Fleet) harness.Nemesis {
		return nemesis.CrashClients(f, c, nemesis.Group())
	}}
}

// FreezeClients lets a fifth of the clients stand still for d, as in a long pause of a garbage collection.
func FreezeClients(d time.Duration) Fault {
	return Fault{lasts: d, make: func(c *cluster.Cluster, f *harness.Fleet) harness.Nemesis {
		return nemesis.FreezeClients(f, c, nemesis.Group())
	}}
}

// Nemesis returns a fault that lasts for d and that inject makes: any other of package nemesis, or one of your own.
func Nemesis(d time.Duration, inject func(*cluster.Cluster, *harness.Fleet) harness.Nemesis) Fault {
	return Fault{lasts: d, make: inject}
}
