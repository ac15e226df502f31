package plan

import (
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/nemesis"
)

// nodeFaults act on processes: Redis nodes, and Sentinels.
func nodeFaults() []faultEntry {
	primary, minute := FaultPlan{Host: "primary"}, FaultPlan{Host: "primary", By: time.Minute}
	return []faultEntry{
		{
			name: "kill-HOST", doc: "SIGKILL; it starts again, empty without --aof, when the fault ends",
			takes: []string{"host"}, defaults: primary, strikes: "rs", needs: successors, does: mayLose | forgets, least: missed,
			make: func(f fault, on target) harness.Nemesis { return nemesis.Kill(on.cluster, f.hosts) },
		},
		{
			name: "restart-HOST", doc: "SIGTERM, as by an upgrade; it starts again, empty without --aof, when the fault ends",
			takes: []string{"host"}, defaults: primary, strikes: "rs", needs: successors, does: mayLose | forgets, least: missed,
			make: func(f fault, on target) harness.Nemesis { return nemesis.Restart(on.cluster, f.hosts) },
		},
		{
			name: "restart-HOST-at-once", doc: "SIGKILL and a start at once: empty without --aof; Sentinels log +reboot, and none fails over",
			takes: []string{"host"}, defaults: primary, strikes: "rs", does: forgets | atOnce, least: unnoticed,
			make: func(f fault, on target) harness.Nemesis { return nemesis.RestartAtOnce(on.cluster, f.hosts) },
		},
		{
			name: "pause-HOST", doc: "SIGSTOP; SIGCONT when the fault ends",
			takes: []string{"host"}, defaults: primary, strikes: "rs", does: mayLose,
			make: func(f fault, on target) harness.Nemesis { return nemesis.Pause(on.cluster, f.hosts) },
		},
		{
			name: "sleep-HOST", doc: "DEBUG SLEEP: commands wait, and are executed when it wakes by itself, a moment before the fault ends",
			takes: []string{"host"}, defaults: primary, strikes: "r", does: mayLose,
			prepare: func(f *fault) (string, error) { return within("for", f.For, 500*time.Millisecond, time.Hour)() },
			make:    func(f fault, on target) harness.Nemesis { return nemesis.Sleep(on.cluster, f.hosts, f.For) },
		},
		{
			name: "clock-step-forward-HOST", doc: "a node's clock jumps ahead: leases end early; needs a C compiler",
			takes: []string{"host", "by"}, defaults: minute, strikes: "rs", does: clocks | ages, prepare: prepareStep,
			make: func(f fault, on target) harness.Nemesis { return nemesis.ClockStep(on.cluster, f.hosts, f.By) },
		},
		{
			name: "clock-step-backward-HOST", doc: "a node's clock jumps back: leases last until it is set right; needs a C compiler",
			takes: []string{"host", "by"}, defaults: minute, strikes: "rs", does: clocks | ages, prepare: prepareStep,
			make: func(f fault, on target) harness.Nemesis { return nemesis.ClockStep(on.cluster, f.hosts, -f.By) },
		},
	}
}

// missed is how long a node has to be down for its primary to miss it.
func missed(fault, blueprint) time.Duration { return 200 * time.Millisecond }

// unnoticed is how long a restart has to be watched for it to be sure that Sentinels take no notice.
func unnoticed(_ fault, on blueprint) time.Duration {
	if on.guards == 0 {
		return 0
	}
	return 2 * time.Second
}

// prepareStep refuses steps that go unnoticed. The name says which way they go.
func prepareStep(f *fault) (string, error) { return within("by", f.By, 3*time.Second, 24*time.Hour)() }

// sentinelFaults are failovers that nothing calls for.
func sentinelFaults() []faultEntry {
	return []faultEntry{
		{
			name: "sentinel-failover", doc: "SENTINEL FAILOVER: a failover although nothing is wrong, as by an operator",
			needs: sentinels, does: mayLose, least: func(fault, blueprint) time.Duration { return 2 * time.Second },
			make: func(_ fault, on target) harness.Nemesis { return nemesis.SentinelFailover(on.cluster) },
		},
		{
			name: "sentinel-crash-after-election", doc: "the Sentinel elected to fail over crashes before it does anything",
			needs: sentinels, does: mayLose,
			make: func(_ fault, on target) harness.Nemesis {
				return nemesis.SimulateFailure(on.cluster, nemesis.AfterElection())
			},
		},
		{
			name: "sentinel-crash-after-promotion", doc: "the Sentinel that promoted a replica crashes before it tells anybody",
			needs: sentinels, does: mayLose,
			make: func(_ fault, on target) harness.Nemesis {
				return nemesis.SimulateFailure(on.cluster, nemesis.AfterPromotion())
			},
		},
	}
}

// commandFaults are commands of an operator to Redis nodes, and want of memory.
func commandFaults() []faultEntry {
	primary, moment := FaultPlan{Host: "primary"}, FaultPlan{Host: "primary", For: time.Second}
	return []faultEntry{
		{
			name: "script-flush-HOST", doc: "SCRIPT FLUSH: EVALSHA answers NOSCRIPT until somebody loads the script again",
			takes: []string{"host"}, defaults: moment, strikes: "r",
			make: func(f fault, on target) harness.Nemesis { return nemesis.ScriptFlush(on.cluster, f.hosts) },
		},
		{
			name: "client-kill-HOST", doc: "CLIENT KILL of every connection for commands: some or their answers are lost; subscriptions stay",
			takes: []string{"host"}, defaults: moment, strikes: "r", acts: somePrimary,
			make: func(f fault, on target) harness.Nemesis { return nemesis.ClientKill(on.cluster, f.hosts) },
		},
		{
			name: "client-pause-HOST", doc: "CLIENT PAUSE ALL: every command waits, Sentinels' too, and is executed later",
			takes: []string{"host"}, defaults: primary, strikes: "r", does: mayLose,
			make: func(f fault, on target) harness.Nemesis { return nemesis.ClientPause(on.cluster, f.hosts) },
		},
		{
			name: "client-pause-writes-HOST", doc: "CLIENT PAUSE WRITE: writes wait; reads are answered, so no Sentinel minds",
			takes: []string{"host"}, defaults: primary, strikes: "r", acts: somePrimary,
			make: func(f fault, on target) harness.Nemesis { return nemesis.ClientPauseWrites(on.cluster, f.hosts) },
		},
		{
			name: "memory-pressure-HOST", doc: "no memory left: keys with a TTL, such as locks, are evicted at random",
			takes: []string{"host"}, defaults: primary, strikes: "r", acts: onlyPrimaries, does: evicts,
			make: func(f fault, on target) harness.Nemesis { return nemesis.MemoryPressure(on.cluster, f.hosts) },
		},
	}
}
