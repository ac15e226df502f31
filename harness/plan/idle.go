package plan

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/nemesis"
)

// This file refuses faults that would touch no traffic, as far as that is known before the start. The rest shows during
// the run: a fault counts what it touches, and one that touched nothing is not proved (see nemesis).

// hasClientsOn reports whether clients connect from the host. A run with few clients has client groups without clients.
// For hosts other than client groups it returns true.
func (b blueprint) hasClientsOn(host string) bool {
	return b.workers == 0 || slices.Index(b.ClientGroups(), host) < b.workers
}

// carriesTraffic reports whether the system under test itself connects over the link while the elected node is the
// primary. Clients connect to primaries and Sentinels, replicas to their primary, and Sentinels to every node. If moved
// is true, clients and replicas may take another node for the primary.
func (b blueprint) carriesTraffic(l harness.Link, moved bool) bool {
	toPrimary := b.primaries > 1 || moved || l.To == b.RedisNodes()[b.elected]
	switch l.From[:1] + l.To[:1] {
	case "gr":
		return toPrimary && b.hasClientsOn(l.From)
	case "rr":
		return toPrimary && b.primaries == 1
	case "gs":
		return b.hasClientsOn(l.From)
	case "ss", "sr":
		return true
	}
	return false
}

// elections returns a copy of the topology for each node that can be the elected primary. The first node always can.
// Other nodes can if there are Sentinels and if, as the argument moves says, faults may move the primary.
func (b blueprint) elections(moves bool) (all []blueprint) {
	for i := range b.redis {
		if b.elected = i; i == 0 || moves && b.sentinels > 0 {
			all = append(all, b)
		}
	}
	return all
}

// draws is the number of seeds that are tried for a random choice.
const draws = 64

// everyDraw draws the target's hosts with many seeds, and reports whether the given function accepts the hosts of every
// draw.
func (b blueprint) everyDraw(t nemesis.Target, ok func(hosts []string) bool) bool {
	for seed := range uint64(draws) {
		hosts, err := t.Pick(context.Background(), b, rand.New(rand.NewPCG(seed, 0)))
		if err != nil || !ok(hosts) {
			return false
		}
	}
	return true
}

// checkTouches refuses faults that would touch no traffic. Which nodes may be the primary during a fault depends on the
// earlier faults of its track, and on the faults of other tracks.
func (t *timetable) checkTouches() error {
	for _, name := range t.names {
		for i, s := range t.tracks[name] {
			before, beside := t.movesPrimary(name, i)
			if err := s.touchesSomebody(t.on.elections(before || beside), beside); err != nil {
				return err
			}
		}
	}
	return nil
}

// movesPrimary reports whether faults may make another node the primary. The first result is about the faults that
// precede the i-th fault of the track, the second about the faults of other tracks.
func (t *timetable) movesPrimary(track string, i int) (before, beside bool) {
	moves := func(s FaultPlan) bool { return s.configured.Can(nemesis.MayLose | nemesis.Loses) }
	before = slices.ContainsFunc(t.tracks[track][:i], moves)
	for _, other := range t.names {
		beside = beside || other != track && slices.ContainsFunc(t.tracks[other], moves)
	}
	return before, beside
}

// ofMasters lists the shapes of partitions for topologies with several masters. They cut some nodes off from clients.
// With one primary, these nodes may all be replicas, to which no client connects.
var ofMasters = []string{"minority", "clients-minority"}

func (f FaultPlan) touchesSomebody(elections []blueprint, moved bool) error {
	if f.From != "" {
		return f.checkTouchesTraffic(elections, moved)
	}
	if on := elections[0]; on.replicas() > 0 && slices.Contains(ofMasters, f.Shape) {
		return f.errorf("fault", "%s may strike only replicas, while clients talk to the primary: use --topology "+
			"%s, or partition-clients-primary",
			f.configured.Name, ManyMasters)
	}
	for _, on := range elections {
		if on.replicas() == 0 || f.configured.Entry.Acts == nemesis.OnAnyNode ||
			f.actsOnPrimaries(on) >= f.configured.Entry.Acts {
			return nil
		}
	}
	if f.configured.Entry.Acts == nemesis.OnPrimariesOnly {
		return f.errorf("fault",
			"%s may strike a replica, which evicts nothing by itself: name primary as its host",
			f.configured.Name)
	}
	return f.errorf("fault",
		"%s may strike only replicas, while clients talk to the primary: name primary or nodes as its host",
		f.configured.Name)
}

// actsOnPrimaries says which hosts the fault can draw: OnPrimariesOnly if it always draws the primary alone,
// OnSomePrimary if it always draws the primary, perhaps with others, and OnAnyNode otherwise.
func (f FaultPlan) actsOnPrimaries(on blueprint) nemesis.Acting {
	isPrimary := func(h string) bool { return h == on.RedisNodes()[on.elected] }
	switch {
	case on.everyDraw(f.configured.Target(),
		func(hosts []string) bool { return len(hosts) == 1 && isPrimary(hosts[0]) }):
		return nemesis.OnPrimariesOnly
	case on.everyDraw(f.configured.Target(),
		func(hosts []string) bool { return slices.ContainsFunc(hosts, isPrimary) }):
		return nemesis.OnSomePrimary
	}
	return nemesis.OnAnyNode
}

// checkTouchesTraffic refuses a fault on links that never carry the system's traffic.
func (f FaultPlan) checkTouchesTraffic(elections []blueprint, moved bool) error {
	for _, on := range elections {
		for seed := range uint64(draws) {
			links, err := f.linksOn(on, seed)
			if err != nil {
				return f.errorf("fault", "%w", err)
			}
			if len(links) == 0 || slices.ContainsFunc(links,
				func(l harness.Link) bool { return on.carriesTraffic(l, moved) }) {
				return nil // without links, both ends are the same host; other draws may differ
			}
		}
	}
	return f.errorf("fault", "%s from %s to %s would have no effect: %s", f.configured.Name, f.From, f.To,
		trafficText(elections[0], f.configured.OneWay))
}

// trafficText describes which links carry traffic.
func trafficText(on blueprint, oneWay bool) string {
	switch {
	case on.primaries > 1:
		return "there are only connections from clients to nodes"
	case on.sentinels == 0:
		return "there are only connections from clients to the primary"
	case oneWay:
		return "clients connect to the primary and to Sentinels, replicas to their primary, Sentinels to all hosts " +
			"except clients"
	}
	return "clients talk to the primary and to Sentinels, replicas to their primary, Sentinels to all hosts"
}

// linksOn returns the links that the fault strikes when the seed draws its hosts.
func (f FaultPlan) linksOn(on blueprint, seed uint64) ([]harness.Link, error) {
	rng := rand.New(rand.NewPCG(seed, 0))
	ends, others := f.configured.Ends()
	from, err := ends.Pick(context.Background(), on, rng)
	if err != nil {
		return nil, err
	}
	to, err := others.Pick(context.Background(), on, rng)
	if err != nil {
		return nil, err
	}
	links := harness.Between(from, to)
	if f.configured.OneWay {
		links = harness.Links(from, to)
	}
	return links, nil
}
