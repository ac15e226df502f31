package cluster

import (
	"fmt"
	"strings"
	"time"
)

// masterName is the name under which Sentinels know the primary.
const masterName = "doublegrant"

// Timing of Sentinels. It was measured with a ping-period above 200 ms and below down-after: 18 of 18 kills gave
// exactly one failover. The time from SIGKILL to the first write of a client was 2.0 to 3.1 s, and 1.59 s in one case.
const (
	defaultDownAfter     = 1000 * time.Millisecond
	leastFailoverTimeout = 3 * time.Second // the failover-timeout, unless DownAfter is longer
)

// sentinelTuning makes Sentinels poll more often than their fixed periods of 1 to 10 seconds. The tuning does not
// survive a restart of the Sentinel, so it is set after every start.
var sentinelTuning = []any{
	"SENTINEL", "DEBUG",
	"info-period", 200, "publish-period", 200, "min-link-reconnect-period", 100, "ping-period", 250,
	"tilt-period", 2000, // after being stopped for 2 seconds a Sentinel does nothing for that long, instead of 30 s
}

// redisConfig returns the configuration of the Redis node n. primary is the node that n replicates, or nil.
func redisConfig(n, primary *node, o Options) string {
	var b strings.Builder
	n.writeAddressSettings(&b)
	fmt.Fprintf(&b, `replica-announce-ip %s
replica-announce-port %d
save ""
maxclients %d
tcp-backlog %d
repl-diskless-sync yes
repl-diskless-sync-delay 0
repl-diskless-load on-empty-db
repl-ping-replica-period 1
repl-timeout %d
repl-backlog-size 16mb
enable-debug-command yes
`, n.announcedIP, n.port, redisClients(int64(o.Clients)), redisBacklog, int(o.replicationTimeout().Seconds()))
	o.writeMinReplicas(&b)
	if len(n.socket()) <= maxSocketPath {
		fmt.Fprintf(&b, "unixsocket %s\n", n.socket())
	}
	if n.quickSync {
		// At the default of hz 10 a replica takes 100 ms to get in sync. After a diskless sync it may get nothing for
		// up to a second, until it sends its next acknowledgement.
		b.WriteString("hz 500\ndynamic-hz no\nrepl-diskless-sync no\n")
	}
	if o.Clocks {
		// jemalloc's background thread waits for a time of day. With the clock set back it would be busy until that
		// time comes.
		b.WriteString("jemalloc-bg-thread no\n")
	}
	if primary != nil {
		fmt.Fprintf(&b, "replicaof %s %d\n", primary.announcedIP, primary.port)
	}
	return b.String()
}

// replicationTimeout returns how long a primary and its replica may hear nothing from each other before they give up
// their connection. The result is longer than min-replicas-max-lag, so that a primary notices the lag of its replicas
// before it drops them.
func (o Options) replicationTimeout() time.Duration {
	if o.MinReplicas > 0 {
		return max(usualReplicationTimeout, o.MaxLag+5*time.Second)
	}
	return usualReplicationTimeout
}

const usualReplicationTimeout = 3 * time.Second

// writeMinReplicas writes the settings that protect acknowledged writes.
func (o Options) writeMinReplicas(b *strings.Builder) {
	if o.AOF == NoAOF {
		b.WriteString("appendonly no\n")
	} else {
		fmt.Fprintf(b, "appendonly yes\nappendfsync %s\n", o.AOF)
	}
	if o.MinReplicas > 0 {
		fmt.Fprintf(b, "min-replicas-to-write %d\nmin-replicas-max-lag %d\n", o.MinReplicas, int(o.MaxLag.Seconds()))
	}
}

// sentinelConfig returns the configuration of a Sentinel that watches the primary at its announced address.
func sentinelConfig(n, primary *node, o Options) string {
	var b strings.Builder
	n.writeAddressSettings(&b)
	quorum := o.Sentinels/2 + 1
	fmt.Fprintf(&b, `sentinel announce-ip %s
sentinel announce-port %d
sentinel monitor %s %s %d %d
sentinel down-after-milliseconds %s %d
sentinel failover-timeout %s %d
sentinel parallel-syncs %s %d
`, n.announcedIP, n.port, masterName, primary.announcedIP, primary.port, quorum,
		masterName, o.DownAfter.Milliseconds(),
		masterName, max(leastFailoverTimeout, o.DownAfter).Milliseconds(), masterName, o.Replicas)
	return b.String()
}

// writeAddressSettings writes the settings that every node needs: its address, for listening and for dialing, and its
// folder.
func (n *node) writeAddressSettings(b *strings.Builder) {
	fmt.Fprintf(b, `bind %s
port %d
bind-source-addr %s
protected-mode no
daemonize no
dir %s
`, n.realIP, n.port, n.realIP, n.dir)
}
