package nemesis

import (
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// nodeFaults lists the faults of processes: Redis nodes and Sentinels.
func nodeFaults() []Entry {
	primary, minute := Parameters{Host: "primary"}, Parameters{Host: "primary", By: time.Minute}
	return []Entry{
		{
			Name: "kill-HOST", Doc: "SIGKILL; it starts again, empty without --aof, when the fault ends",
			Takes: []string{"host"}, Defaults: primary, Strikes: "rs", Needs: NeedsSuccessors, Does: MayLose | Forgets,
			least: leastToBeMissed,
			make:  func(f Configured, on Subject) harness.Nemesis { return Kill(on.Cluster, f.target) },
		},
		{
			Name:  "restart-HOST",
			Doc:   "SIGTERM, as by an upgrade; it starts again, empty without --aof, when the fault ends",
			Takes: []string{"host"}, Defaults: primary, Strikes: "rs", Needs: NeedsSuccessors, Does: MayLose | Forgets,
			least: leastToBeMissed,
			make:  func(f Configured, on Subject) harness.Nemesis { return Restart(on.Cluster, f.target) },
		},
		{
			Name:  "restart-HOST-at-once",
			Doc:   "SIGKILL and a start at once: empty without --aof; Sentinels log +reboot, and none fails over",
			Takes: []string{"host"}, Defaults: primary, Strikes: "rs", Does: Forgets | AtOnce, least: leastUnnoticed,
			make: func(f Configured, on Subject) harness.Nemesis { return RestartAtOnce(on.Cluster, f.target) },
		},
		{
			Name: "pause-HOST", Doc: "SIGSTOP; SIGCONT when the fault ends",
			Takes: []string{"host"}, Defaults: primary, Strikes: "rs", Does: MayLose,
			make: func(f Configured, on Subject) harness.Nemesis { return Pause(on.Cluster, f.target) },
		},
		{
			Name: "sleep-HOST",
			Doc: "DEBUG SLEEP: commands wait, and are executed when it wakes by itself, a moment before the fault " +
				"ends",
			Takes: []string{"host"}, Defaults: primary, Strikes: "r", Does: MayLose,
			prepare: func(f *Configured) (string, error) {
				return checkBounds("for", f.For, 500*time.Millisecond, time.Hour)
			},
			make: func(f Configured, on Subject) harness.Nemesis { return Sleep(on.Cluster, f.target, f.For) },
		},
		{
			Name: "clock-step-forward-HOST", Doc: "a node's clock jumps ahead: leases end early; needs a C compiler",
			Takes: []string{"host", "by"}, Defaults: minute, Strikes: "rs", Does: SetsClocks | Ages,
			prepare: prepareClockStep,
			make:    func(f Configured, on Subject) harness.Nemesis { return ClockStep(on.Cluster, f.target, f.By) },
		},
		{
			Name:  "clock-step-backward-HOST",
			Doc:   "a node's clock jumps back: leases last until it is set right; needs a C compiler",
			Takes: []string{"host", "by"}, Defaults: minute, Strikes: "rs", Does: SetsClocks | Ages,
			prepare: prepareClockStep,
			make:    func(f Configured, on Subject) harness.Nemesis { return ClockStep(on.Cluster, f.target, -f.By) },
		},
	}
}

// leastToBeMissed returns how long a node has to be down for its primary to miss it.
func leastToBeMissed(Configured, Outlook) time.Duration { return 200 * time.Millisecond }

// leastUnnoticed returns how long a restart has to be watched to be sure that Sentinels do not react to it.
func leastUnnoticed(_ Configured, on Outlook) time.Duration {
	if len(on.Sentinels()) == 0 {
		return 0
	}
	return 2 * time.Second
}

// prepareClockStep refuses steps that are too small to be noticed, and steps of more than a day. Whether the clock goes
// ahead or back is in the fault's name.
func prepareClockStep(f *Configured) (string, error) {
	return checkBounds("by", f.By, 3*time.Second, 24*time.Hour)
}

// sentinelFaults lists the faults by which Sentinels fail over for no reason.
func sentinelFaults() []Entry {
	return []Entry{
		{
			Name:  "sentinel-failover",
			Doc:   "SENTINEL FAILOVER: a failover although nothing is wrong, as by an operator",
			Needs: NeedsSentinels, Does: MayLose, least: func(Configured, Outlook) time.Duration {
				return 2 * time.Second
			},
			make: func(_ Configured, on Subject) harness.Nemesis { return SentinelFailover(on.Cluster) },
		},
		{
			Name:  "sentinel-crash-after-election",
			Doc:   "the Sentinel elected to fail over crashes before it does anything",
			Needs: NeedsSentinels, Does: MayLose,
			make: func(_ Configured, on Subject) harness.Nemesis {
				return SimulateFailure(on.Cluster, AfterElection())
			},
		},
		{
			Name:  "sentinel-crash-after-promotion",
			Doc:   "the Sentinel that promoted a replica crashes before it tells any other host",
			Needs: NeedsSentinels, Does: MayLose,
			make: func(_ Configured, on Subject) harness.Nemesis {
				return SimulateFailure(on.Cluster, AfterPromotion())
			},
		},
	}
}

// commandFaults lists the faults that are an operator's commands to Redis nodes, and the lack of memory.
func commandFaults() []Entry {
	primary := Parameters{Host: "primary"}
	return []Entry{
		{
			Name:  "script-flush-HOST",
			Doc:   "SCRIPT FLUSH: EVALSHA answers NOSCRIPT until a client loads the script again",
			Takes: []string{"host"}, Defaults: primary, For: time.Second, Strikes: "r",
			make: func(f Configured, on Subject) harness.Nemesis { return ScriptFlush(on.Cluster, f.target) },
		},
		{
			Name: "client-kill-HOST",
			Doc: "CLIENT KILL of every connection for commands: some commands or answers are lost; subscriptions " +
				"stay",
			Takes: []string{"host"}, Defaults: primary, For: time.Second, Strikes: "r", Acts: OnSomePrimary,
			make: func(f Configured, on Subject) harness.Nemesis { return ClientKill(on.Cluster, f.target) },
		},
		{
			Name:  "client-pause-HOST",
			Doc:   "CLIENT PAUSE ALL: every command waits, Sentinels' too, and is executed later",
			Takes: []string{"host"}, Defaults: primary, Strikes: "r", Does: MayLose,
			make: func(f Configured, on Subject) harness.Nemesis { return ClientPause(on.Cluster, f.target) },
		},
		{
			Name:  "client-pause-writes-HOST",
			Doc:   "CLIENT PAUSE WRITE: writes wait; reads are answered, so no Sentinel minds",
			Takes: []string{"host"}, Defaults: primary, Strikes: "r", Acts: OnSomePrimary,
			make: func(f Configured, on Subject) harness.Nemesis { return ClientPauseWrites(on.Cluster, f.target) },
		},
		{
			Name: "memory-pressure-HOST", Doc: "no memory left: keys with a TTL, such as locks, are evicted at random",
			Takes: []string{"host"}, Defaults: primary, Strikes: "r", Acts: OnPrimariesOnly, Does: Evicts,
			make: func(f Configured, on Subject) harness.Nemesis { return MemoryPressure(on.Cluster, f.target) },
		},
	}
}
