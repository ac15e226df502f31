package plan

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/nemesis"
)

// networkFaults act on the links between hosts.
func networkFaults() []faultEntry {
	split, cut := FaultPlan{Sides: "split-brain", How: "hold"}, FaultPlan{From: "clients", To: "primary", How: "hold"}
	return []faultEntry{
		{
			name: "partition-SIDES", doc: "the network falls apart; see SIDES for who loses whom, HOW for what becomes of bytes",
			takes: []string{"sides", "how"}, defaults: split, prepare: prepareSides, least: leastApart,
			make: func(f fault, on target) harness.Nemesis { return nemesis.Partition(on.cluster, f.sides, f.way) },
		},
		{
			name: "partition-primary", doc: "partition-split-brain, under its old name",
			defaults: split, prepare: prepareSides, least: leastApart,
			make: func(_ fault, on target) harness.Nemesis { return nemesis.PartitionPrimary(on.cluster) },
		},
		{
			name: "one-way", doc: "the connections that from opens to to are cut, those the other way are not",
			takes: []string{"from", "to", "how"}, defaults: cut, prepare: prepareOneWay,
			make: func(f fault, on target) harness.Nemesis {
				return nemesis.Partition(on.cluster, nemesis.OneWay(f.from, f.to), f.way)
			},
		},
		{
			name: "cut", doc: "all connections between from and to are cut, whoever opens them",
			takes: []string{"from", "to", "how"}, defaults: cut, prepare: prepareCut, make: degrade,
		},
	}
}

// linkFaults make links bad without cutting them.
func linkFaults() []faultEntry {
	between := func(parameters ...string) []string { return append([]string{"from", "to"}, parameters...) }
	link := func(f FaultPlan) FaultPlan {
		f.From, f.To = "clients", "primary"
		return f
	}
	return []faultEntry{
		{
			name: "latency", doc: "bytes are late, each way, by latency and up to jitter more or less",
			takes: between("latency", "jitter"), make: degrade, prepare: prepareLatency,
			defaults: link(FaultPlan{Latency: 100 * time.Millisecond, Jitter: 20 * time.Millisecond}),
		},
		{
			name: "bandwidth", doc: "so many bytes a second pass in each connection, each way",
			takes: between("bandwidth"), defaults: link(FaultPlan{Bandwidth: 20_000}), make: degrade, prepare: prepareBandwidth,
		},
		{
			name: "slicer", doc: "bytes come in pieces of size with a pause of delay",
			takes: between("size", "delay"), make: degrade, prepare: prepareSlicer,
			defaults: link(FaultPlan{Size: 8, Delay: time.Millisecond}),
		},
		{
			name: "limit-data", doc: "connections end after so many bytes, in the middle of a command or answer",
			takes: between("bytes"), defaults: link(FaultPlan{Bytes: 5000}), make: degrade, prepare: prepareLimit,
		},
		{
			name: "slow-close", doc: "who closes a connection is heard only after delay",
			takes: between("delay"), defaults: link(FaultPlan{Delay: 500 * time.Millisecond}), make: degrade, prepare: prepareClose,
		},
	}
}

func degrade(f fault, on target) harness.Nemesis {
	return nemesis.Degrade(on.cluster, f.from, f.to, f.way)
}

// cutting are the ways to cut a link, by their names in a plan.
func cutting() []nemesis.Way {
	return []nemesis.Way{nemesis.Hold(), nemesis.Drop(), nemesis.DropReplies(), nemesis.Refuse()}
}

func (f *fault) parseHow() (field string, err error) {
	var known []string
	for _, w := range cutting() {
		if w.Kind() == f.How {
			f.way = w
			return "", nil
		}
		known = append(known, w.Kind())
	}
	return "how", fmt.Errorf("unknown how %q: choose %s", f.How, strings.Join(known, ", "))
}

func prepareSides(f *fault) (field string, err error) {
	if f.sides, err = nemesis.ParseSides(f.Sides); err != nil {
		return "sides", err
	}
	switch f.Sides {
	case "split-brain", "split-brain-replica":
		f.does |= mayLose | loses
	case "primary-sentinels", "isolate-primary", "bridge":
		f.does |= mayLose
	}
	return f.parseHow()
}

// leastApart is how long sides have to be apart for what they promise: somebody takes over, or somebody is missed.
func leastApart(f fault, on blueprint) time.Duration {
	switch f.Sides {
	case "split-brain", "split-brain-replica", "primary-sentinels", "isolate-primary", "bridge":
		return on.failover()
	case "primary-sentinel":
		return on.failover() - time.Second
	case "primary-replica", "primary-replicas":
		return 4 * time.Second // a primary says something each second, and is missed after two
	}
	return 0
}

func (f *fault) parseLink() (field string, err error) {
	if f.from, err = nemesis.ParseHosts(f.From); err != nil {
		return "from", err
	}
	if f.to, err = nemesis.ParseHosts(f.To); err != nil {
		return "to", err
	}
	if !ofClientsOnly(f.From) && !ofClientsOnly(f.To) {
		f.does |= mayLose // somebody may take over
	}
	return "", nil
}

func ofClientsOnly(hosts string) bool {
	return hosts == "clients" || strings.HasPrefix(hosts, "g")
}

func prepareCut(f *fault) (string, error) { return firstWrong(f.parseLink, f.parseHow) }

func prepareOneWay(f *fault) (string, error) {
	f.oneWay = true
	return prepareCut(f)
}

func prepareLatency(f *fault) (string, error) {
	f.way = nemesis.Latency(f.Latency, f.Jitter)
	return firstWrong(f.parseLink,
		within("latency", f.Latency, time.Millisecond, time.Minute), within("jitter", f.Jitter, 0, f.Latency))
}

func prepareBandwidth(f *fault) (string, error) {
	f.way = nemesis.Bandwidth(int64(f.Bandwidth))
	return firstWrong(f.parseLink, within("bandwidth", f.Bandwidth, 1000, 50_000_000))
}

func prepareSlicer(f *fault) (string, error) {
	f.way = nemesis.Slice(f.Size, f.Delay)
	return firstWrong(f.parseLink,
		within("size", f.Size, 1, 8192), within("delay", f.Delay, time.Microsecond, time.Second))
}

func prepareLimit(f *fault) (string, error) {
	f.way = nemesis.LimitData(int64(f.Bytes))
	return firstWrong(f.parseLink, within("bytes", f.Bytes, 1, 16<<20))
}

func prepareClose(f *fault) (string, error) {
	f.way = nemesis.SlowClose(f.Delay)
	return firstWrong(f.parseLink, within("delay", f.Delay, 10*time.Millisecond, time.Minute))
}

// firstWrong returns the first field that one of checks finds wrong.
func firstWrong(checks ...func() (string, error)) (field string, err error) {
	for _, check := range checks {
		if field, err = check(); err != nil {
			return field, err
		}
	}
	return "", nil
}

// possibleLinks refuses links and sides that the topology has not.
func (f fault) possibleLinks(on blueprint) error {
	if f.Sides != "" {
		if err := f.sides.Check(on); err != nil {
			return err
		}
		if _, err := on.Primary(context.Background()); err != nil && !slices.Contains(ofMasters, f.Sides) {
			return err
		}
	}
	if f.From == "" {
		return nil
	}
	for _, end := range []nemesis.Hosts{f.from, f.to} {
		if _, err := on.pick(end); err != nil {
			return err
		}
	}
	return f.linked(on)
}

// linked refuses ends that no link can lie between, whoever is primary and however chance draws.
func (f fault) linked(on blueprint) error {
	toClients := false
	for _, on := range on.elections(true) {
		for seed := range uint64(draws) {
			links, err := f.linksOn(on, seed)
			if err != nil {
				return err
			}
			for _, l := range links {
				if !slices.Contains(on.ClientGroups(), l.To) {
					return nil
				}
				toClients = true
			}
		}
	}
	if toClients {
		return fmt.Errorf("clients accept no connections, so none leads from %s to %s: name nodes or Sentinels in to", f.From, f.To)
	}
	return fmt.Errorf("no link lies between %s and %s, which are one host: name two", f.From, f.To)
}
