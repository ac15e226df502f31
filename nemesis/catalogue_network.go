package nemesis

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// networkFaults lists the faults that cut links between hosts.
func networkFaults() []Entry {
	split, cut := Parameters{Shape: "split-brain", How: "hold"}, Parameters{From: "clients", To: "primary", How: "hold"}
	return []Entry{
		{
			Name:  "partition-SIDES",
			Doc:   "a network partition; SIDES says which hosts lose each other, HOW what happens to bytes",
			Takes: []string{"sides", "how"}, Defaults: split, prepare: prepareShape, least: leastApart,
			make: func(f Configured, on Subject) harness.Nemesis { return Partition(on.Cluster, f.shape, f.link) },
		},
		{
			Name: "partition-primary", Doc: "partition-split-brain, under its old name",
			Defaults: split, prepare: prepareShape, least: leastApart,
			make: func(_ Configured, on Subject) harness.Nemesis { return PartitionPrimary(on.Cluster) },
		},
		{
			Name: "one-way", Doc: "connections that from opens to to are cut, and those that to opens are not",
			Takes: []string{"from", "to", "how"}, Defaults: cut, prepare: prepareOneWay,
			make: func(f Configured, on Subject) harness.Nemesis {
				return Partition(on.Cluster, OneWay(f.from, f.to), f.link)
			},
		},
		{
			Name: "cut", Doc: "all connections between from and to are cut",
			Takes: []string{"from", "to", "how"}, Defaults: cut, prepare: prepareCut, make: makeDegrade,
		},
	}
}

// linkFaults lists the faults that make links bad without cutting them.
func linkFaults() []Entry {
	between := func(parameters ...string) []string { return append([]string{"from", "to"}, parameters...) }
	defaults := func(p Parameters) Parameters {
		p.From, p.To = "clients", "primary"
		return p
	}
	return []Entry{
		{
			Name: "latency", Doc: "bytes are late, each way, by latency and up to jitter more or less",
			Takes: between("latency", "jitter"), make: makeDegrade, prepare: prepareLink,
			Defaults: defaults(Parameters{Latency: 100 * time.Millisecond, Jitter: 20 * time.Millisecond}),
			link:     func(p Parameters) harness.LinkFault { return harness.Latency(p.Latency, p.Jitter) },
		},
		{
			Name: "bandwidth", Doc: "each connection passes at most this many bytes a second, each way",
			Takes: between("bandwidth"), Defaults: defaults(Parameters{Bandwidth: 20_000}), make: makeDegrade,
			prepare: prepareLink,
			link:    func(p Parameters) harness.LinkFault { return harness.Bandwidth(int64(p.Bandwidth)) },
		},
		{
			Name: "slicer", Doc: "bytes come in pieces of size with a pause of delay",
			Takes: between("size", "delay"), make: makeDegrade, prepare: prepareLink,
			Defaults: defaults(Parameters{Size: 8, Delay: time.Millisecond}),
			link:     func(p Parameters) harness.LinkFault { return harness.Slice(p.Size, p.Delay) },
		},
		{
			Name: "limit-data", Doc: "connections end after this many bytes, in the middle of a command or answer",
			Takes: between("bytes"), Defaults: defaults(Parameters{Bytes: 5000}), make: makeDegrade,
			prepare: prepareLink,
			link:    func(p Parameters) harness.LinkFault { return harness.LimitData(int64(p.Bytes)) },
		},
		{
			Name: "slow-close", Doc: "the end of a connection arrives only after delay",
			Takes: between("delay"), Defaults: defaults(Parameters{Delay: 500 * time.Millisecond}), make: makeDegrade,
			prepare: prepareLink,
			link:    func(p Parameters) harness.LinkFault { return harness.SlowClose(p.Delay) },
		},
	}
}

func makeDegrade(f Configured, on Subject) harness.Nemesis {
	return Degrade(on.Cluster, f.from, f.to, f.link)
}

func (f *Configured) parseHow() (field string, err error) {
	var known []string
	for _, cut := range Cuts() {
		if string(cut.Kind) == f.How {
			f.link = cut
			return "", nil
		}
		known = append(known, string(cut.Kind))
	}
	return "how", fmt.Errorf("unknown way to cut %q: choose one of %s", f.How, strings.Join(known, ", "))
}

func prepareShape(f *Configured) (field string, err error) {
	if f.shape, err = ParseShape(f.Shape); err != nil {
		return "sides", err
	}
	switch f.Shape {
	case "split-brain", "split-brain-replica":
		f.Does |= MayLose | Loses
	case "primary-sentinels", "isolate-primary", "bridge":
		f.Does |= MayLose
	}
	return f.parseHow()
}

// leastApart returns how long a partition has to last so that its proof can follow. For some shapes the proof is a
// replica that takes over, for others a Sentinel or a replica that misses the primary. 0: any time will do.
func leastApart(f Configured, on Outlook) time.Duration {
	switch f.Shape {
	case "split-brain", "split-brain-replica", "primary-sentinels", "isolate-primary", "bridge":
		return on.Failover()
	case "primary-sentinel":
		return on.Failover() - time.Second
	case "primary-replica", "primary-replicas":
		return 4 * time.Second // a primary says something each second, and is missed after two
	}
	return 0
}

func (f *Configured) parseEnds() (field string, err error) {
	if f.from, err = ParseTarget(f.From); err != nil {
		return "from", err
	}
	if f.to, err = ParseTarget(f.To); err != nil {
		return "to", err
	}
	if !ofClientsOnly(f.From) && !ofClientsOnly(f.To) {
		f.Does |= MayLose // another node may take over
	}
	return "", nil
}

func ofClientsOnly(hosts string) bool {
	return hosts == "clients" || strings.HasPrefix(hosts, "g")
}

func prepareCut(f *Configured) (parameter string, err error) {
	if parameter, err = f.parseEnds(); err != nil {
		return parameter, err
	}
	return f.parseHow()
}

func prepareOneWay(f *Configured) (string, error) {
	f.OneWay = true
	return prepareCut(f)
}

// prepareLink makes the entry's link fault from the parameters, and looks up the hosts at both ends of the links.
func prepareLink(f *Configured) (parameter string, err error) {
	if parameter, err = f.parseEnds(); err != nil {
		return parameter, err
	}
	f.link = f.Entry.link(f.Parameters)
	err = f.link.Validate()
	if bounds, ok := errors.AsType[*harness.BoundsError](err); ok {
		parameter = bounds.Parameter
	}
	return parameter, err
}
