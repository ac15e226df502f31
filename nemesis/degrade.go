package nemesis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/await"
)

// Degrade puts the link fault on every link between a host of the first choice and a host of the second, whichever of
// the two opens the connections: Degrade(c, Clients(), Primary(), harness.Latency(80*time.Millisecond, 0)). Its name is
// the fault's kind, or "cut" for a fault that lets no answer through.
//
// Proof that the fault bites is taken on a new connection to each node that the links lead to: an echo that takes as
// long as it should, a connection that ends when it should, or a probe without an answer. No failover has to follow, so
// nothing else can prove it.
//
// Only links that worked before are measured. A link that another fault has broken is degraded like the others, without
// a measurement. If all links are broken, Inject waits, and returns an error when ctx ends. If both choices are the
// same host at the moment, nothing is done and the fault is not proved. It is not proved either if the system itself
// sends nothing while the fault is in force.
func Degrade(c Linked, from, to Target, f harness.LinkFault) harness.Nemesis {
	name := string(f.Kind)
	if cutsLink(f) {
		name = "cut"
	}
	return fault{name, f.Effects(), degradation{c, from, to, f}.inject}
}

type degradation struct {
	c        Linked
	from, to Target
	fault    harness.LinkFault
}

func (d degradation) inject(ctx context.Context, rng *rand.Rand) (harness.Injection, error) {
	if err := d.fault.Validate(); err != nil {
		return harness.Injection{}, err
	}
	between, err := d.chooseWorking(ctx, rng)
	if errors.Is(err, errNoLink) {
		return idleInjection(between.hosts, err), nil
	}
	if err != nil {
		return harness.Injection{}, err
	}
	counting := newMeter(d.c, d.fault, between.links)
	heal, err := d.c.Impair(between.links, d.fault)
	inj := harness.Injection{
		Targets: between.hosts, Touched: counting.touched, Heal: func(context.Context) error { return heal() },
	}
	if err != nil {
		return inj, err
	}
	inj.Bite, err = d.proveAll(ctx, between.look)
	return inj, err
}

// affectedLinks holds the hosts and links on which a degradation acts.
type affectedLinks struct {
	hosts []string
	links []harness.Link
	look  []harness.Link // the links to measure, one to each node
}

// chooseWorking chooses the hosts, their links, and the links to measure. Only links that work are measured.
// chooseWorking waits until at least one link works, or until ctx ends.
func (d degradation) chooseWorking(ctx context.Context, rng *rand.Rand) (s affectedLinks, err error) {
	seed := rng.Uint64() // for the same choice each time round
	err = poll(ctx, func() (again bool, err error) {
		s, err = d.choose(ctx, rand.New(rand.NewPCG(seed, 0)))
		if err != nil {
			return false, err
		}
		s.look, err = d.filterAnswering(ctx, s.look)
		return err != nil, err
	})
	return s, err
}

// filterAnswering returns the links that answer. If none does, it returns the first link's error.
func (d degradation) filterAnswering(ctx context.Context, links []harness.Link) (answering []harness.Link, err error) {
	errs := await.All(len(links), func(i int) error { return d.answers(ctx, links[i]) })
	for i, l := range links {
		if errs[i] == nil {
			answering = append(answering, l)
		}
	}
	if len(answering) > 0 {
		return answering, nil
	}
	return nil, fmt.Errorf("%s does not reach %s before %v: another fault is in force there: %w", links[0].From,
		links[0].To, d.fault, errs[0])
}

// answers returns nil if the link answers a probe before the fault acts. If the fault cuts links or ends connections,
// the answer has to come in the time of a usual probe. Any other fault may act on a link that is slow already, so
// answers waits longer.
func (d degradation) answers(ctx context.Context, l harness.Link) error {
	if d.fault.Effects().Any(harness.CutsLinks | harness.EndsConnections) {
		return d.c.Probe(ctx, l.From, l.To)
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	return d.c.Echo(ctx, l.From, l.To, 1)
}

func (d degradation) choose(ctx context.Context, rng *rand.Rand) (affectedLinks, error) {
	a, err := d.from.Pick(ctx, d.c, rng)
	if err != nil {
		return affectedLinks{}, err
	}
	b, err := d.to.Pick(ctx, d.c, rng)
	if err != nil {
		return affectedLinks{}, err
	}
	links := slices.Compact(slices.SortedFunc(slices.Values(harness.Between(a, b)), byName)) // a host may be in both
	look := oneToEach(d.c, links)
	if len(look) == 0 {
		if len(links) == 0 && d.from.name != d.to.name { // who is primary changes
			return affectedLinks{hosts: union(a, b)}, fmt.Errorf("no links of %s with %s: %w", d.from, d.to, errNoLink)
		}
		return affectedLinks{}, fmt.Errorf("no links of %s with %s: they are the same host, or clients all of them",
			d.from, d.to)
	}
	return affectedLinks{union(a, b), links, look}, nil
}

// proveAll measures all links at the same time.
func (d degradation) proveAll(ctx context.Context, look []harness.Link) (string, error) {
	seen := make([]string, len(look))
	errs := await.All(len(look), func(i int) (err error) {
		seen[i], err = proofOf(d.fault).bites(ctx, d.c, look[i])
		return err
	})
	if err := cmp.Or(errs...); err != nil {
		return "", fmt.Errorf("%v does not bite: %w", d.fault, err)
	}
	if len(seen) > 1 {
		return fmt.Sprintf("%v: %s, and likewise %d more", d.fault, seen[0], len(seen)-1), nil
	}
	return fmt.Sprintf("%v: %s", d.fault, seen[0]), nil
}

func byName(a, b harness.Link) int { return cmp.Compare(a.String(), b.String()) }

// oneToEach returns one link to each node that the links lead to. It leaves out links to clients.
func oneToEach(c Topology, links []harness.Link) []harness.Link {
	reached := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(links), func(l harness.Link) bool {
		again := reached[l.To] || slices.Contains(c.ClientGroups(), l.To)
		reached[l.To] = true
		return again
	})
}

// union returns a, followed by the hosts of b that are not in a.
func union(a, b []string) []string {
	return append(slices.Clone(a),
		slices.DeleteFunc(slices.Clone(b), func(h string) bool { return slices.Contains(a, h) })...)
}
