package plan

import (
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/nemesis"
)

// faultPackage is a named timetable. Its tracks begin together.
type faultPackage struct {
	name, doc string
	entries   []FaultPlan
}

func packages() []faultPackage {
	type with = nemesis.Parameters
	const s, ms = time.Second, time.Millisecond
	return []faultPackage{
		{"split-brain", "the primary is cut off three times: with clients and a Sentinel, with a replica as well, " +
			"and alone", []FaultPlan{
			{Fault: "partition-split-brain", For: 5 * s},
			{Fault: "partition-split-brain-replica", For: 5 * s},
			{Fault: "partition-isolate-primary", Parameters: with{How: "drop"}, For: 5 * s},
		}},
		{"failover-storm", "one failover after another: kills, a restart too short to be noticed, an operator, a " +
			"Sentinel that crashes",
			[]FaultPlan{
				{Fault: "kill-primary", For: 4 * s},
				{Fault: "sentinel-failover", For: 2 * s},
				{Fault: "restart-primary-at-once", For: 2 * s},
				{Fault: "pause-primary", For: 4 * s},
				{Fault: "sentinel-crash-after-promotion", For: 4 * s},
				{Fault: "kill-primary", For: 4 * s},
			}},
		{"flaky-network", "slow, uneven links all the time, with resets, slices, lost answers and torn connections " +
			"on top",
			[]FaultPlan{
				{Track: "clients", Fault: "latency",
					Parameters: with{From: "clients", To: "nodes", Latency: 10 * ms, Jitter: 5 * ms}, For: 16 * s},
				{Track: "nodes", Fault: "latency", Parameters: with{From: "nodes", To: "nodes", Latency: 10 * ms,
					Jitter: 5 * ms}, For: 16 * s},
				{Track: "sentinels", Fault: "latency",
					Parameters: with{From: "sentinels", To: "nodes", Latency: 10 * ms, Jitter: 5 * ms}, For: 16 * s},
				{Start: 1 * s, Fault: "cut", Parameters: with{From: "clients", To: "primary", How: "refuse"},
					For: 500 * ms, Times: 3, Every: 1 * s},
				{Start: 1 * s, Fault: "slicer", Parameters: with{From: "clients", To: "primary", Size: 16,
					Delay: 500 * time.Microsecond}, For: 2 * s},
				{Start: 1 * s, Fault: "partition-clients-primary", Parameters: with{How: "drop-replies"}, For: 1 * s},
				{Start: 1 * s, Fault: "limit-data", Parameters: with{From: "clients", To: "primary", Bytes: 5000},
					For: 2 * s},
			}},
		{"slow-clients", "a frozen client process, thin links, connections that close late, and a primary that " +
			"pauses its clients", []FaultPlan{
			{Fault: "freeze-clients", For: 4 * s},
			{Fault: "bandwidth", Parameters: with{From: "clients", To: "primary", Bandwidth: 10_000}, For: 4 * s},
			{Fault: "slow-close", Parameters: with{From: "clients", To: "primary", Delay: 500 * ms}, For: 2 * s},
			{Fault: "client-pause-primary", For: 500 * ms},
			{Fault: "client-pause-writes-primary", For: 3 * s},
		}},
		{"clock", "the primary's clock jumps ahead and back; one client process's clock is a minute fast, then a " +
			"minute slow", []FaultPlan{
			{Fault: "clock-step-forward", Parameters: with{By: time.Minute}, For: 4 * s},
			{Fault: "clock-step-backward", Parameters: with{By: time.Minute}, For: 4 * s},
			{Fault: "skew-clients", Parameters: with{By: time.Minute}, For: 3 * s},
			{Fault: "skew-clients", Parameters: with{By: -time.Minute}, For: 3 * s},
		}},
	}
}

func findPackage(name string) (faultPackage, bool) {
	all := packages()
	i := slices.IndexFunc(all, func(p faultPackage) bool { return p.name == name })
	if i < 0 {
		return faultPackage{}, false
	}
	return all[i], true
}

func (p faultPackage) sideBySide() bool {
	return slices.ContainsFunc(p.entries, func(s FaultPlan) bool { return s.Track != "" })
}
