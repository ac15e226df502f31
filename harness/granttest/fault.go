package granttest

import (
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/nemesis"
)

// Fault is something that goes wrong during a load, and heals. The functions below make faults. The zero value fails
// the test, and so does a negative duration.
type Fault = nemesis.Configured

// KillPrimary kills the primary, which restarts after d with the data on its disk. With Sentinels another node is
// promoted.
func KillPrimary(d time.Duration) Fault {
	return nemesis.Custom(nemesis.Entry{For: d}, func(on nemesis.Subject) harness.Nemesis {
		return nemesis.KillPrimary(on.Cluster)
	})
}

// PausePrimary suspends the primary's process for d. The primary executes waiting commands when it resumes.
func PausePrimary(d time.Duration) Fault {
	return nemesis.Custom(nemesis.Entry{For: d}, func(on nemesis.Subject) harness.Nemesis {
		return nemesis.PausePrimary(on.Cluster)
	})
}

// SplitBrain cuts the primary, one Sentinel and two fifths of the clients off from the rest for d. It needs the
// topology [Sentinel], and a d of at least 5s, so that the other Sentinels notice.
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

// CrashClients crashes a fifth of the clients within two seconds, in the middle of operations. New clients replace
// them.
func CrashClients() Fault {
	crashes := nemesis.Entry{For: 2 * time.Second, Does: nemesis.Crashes}
	return nemesis.Custom(crashes, func(on nemesis.Subject) harness.Nemesis {
		return nemesis.CrashClients(on.Fleet, on.Cluster, nemesis.Group())
	})
}

// FreezeClients suspends a fifth of the clients for d, like a long pause for garbage collection.
func FreezeClients(d time.Duration) Fault {
	return nemesis.Custom(nemesis.Entry{For: d, Does: nemesis.Freezes}, func(on nemesis.Subject) harness.Nemesis {
		return nemesis.FreezeClients(on.Fleet, on.Cluster, nemesis.Group())
	})
}

// Nemesis returns a fault of any other kind, from package nemesis or your own. The function inject makes it, and it
// lasts for d.
func Nemesis(d time.Duration, inject func(*cluster.Cluster, *harness.Fleet) harness.Nemesis) Fault {
	if inject == nil {
		return Fault{}
	}
	return nemesis.Custom(nemesis.Entry{For: d}, func(on nemesis.Subject) harness.Nemesis {
		return inject(on.Cluster.(*cluster.Cluster), on.Fleet) // loadSpec passes no other type
	})
}
