// Package nemesis breaks systems, one fault a file.
//
// A fault takes three steps, in this order:
//
//  1. It bites: Inject causes the fault, and returns once a probe has shown that it acts.
//  2. It proves: Prove waits for the consequence, such as another primary.
//  3. It heals: Heal undoes the fault.
//
// harness.Run calls them by its timetable, with time limits, records them, and waits after the heal until the system is
// whole. A fault acts through a small interface that names just what it needs; harness/cluster implements them all.
package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness/await"
)

// primary tells which node is primary.
type primary interface {
	// Primary returns the node that a majority of the Sentinels name as primary.
	Primary(ctx context.Context) (string, error)
	// AwaitPromotion waits until a node other than the old primary says that it is primary, and returns its name.
	AwaitPromotion(ctx context.Context, old string) (string, error)
	// Patience returns the time after which Sentinels have certainly replaced a primary that is gone. They may do so
	// earlier.
	Patience() time.Duration
}

// awaitPromoted waits until a node other than the parameter old is primary and a majority of the Sentinels name this
// node. If the old primary comes back before that, it may become primary again.
func awaitPromoted(ctx context.Context, c primary, old string) (string, error) {
	name, err := c.AwaitPromotion(ctx, old)
	if err != nil {
		return "", fmt.Errorf("no failover: %w", err)
	}
	err = pollUntil(ctx, func() error {
		p, err := c.Primary(ctx)
		if err == nil && p == old {
			err = fmt.Errorf("%s was promoted, and most Sentinels still name %s", name, old)
		}
		return err
	})
	return name + " was promoted", err
}

// nodes is what every fault of nodes needs of a cluster.
type nodes interface {
	Topology
	primary
	// Do sends a command to the node, past all links, and returns the reply.
	Do(ctx context.Context, node string, command ...any) (any, error)
}

// targets holds the nodes that a fault strikes.
type targets struct {
	nodes []string
	// old is the primary if the fault strikes it and Sentinels can promote another node; otherwise "".
	old string
}

func (chosen targets) String() string { return strings.Join(chosen.nodes, ", ") }

// chooseTargets chooses the nodes of a fault. While a failover is under way, or a chosen node does not answer because
// of another fault, it waits, at most until ctx ends.
func chooseTargets(ctx context.Context, c nodes, t Target, rng *rand.Rand) (chosen targets, err error) {
	seed := rng.Uint64() // for the same choice each time round
	err = poll(ctx, func() (again bool, err error) {
		among := &primaryAsked{Topology: c}
		chosen.nodes, err = t.Pick(ctx, among, rand.New(rand.NewPCG(seed, 0)))
		if err != nil {
			return among.inVain && len(c.Sentinels()) > 0, err
		}
		for _, host := range chosen.nodes {
			if !slices.Contains(c.RedisNodes(), host) && !slices.Contains(c.Sentinels(), host) {
				return false, fmt.Errorf("%s is a client group, and this is a fault of nodes", host)
			}
			if _, err := c.Do(ctx, host, "PING"); err != nil {
				return true, fmt.Errorf("%s is broken already: %w", host, err)
			}
		}
		chosen.old = replaceablePrimary(ctx, c, chosen.nodes)
		return false, nil
	})
	return chosen, err
}

// primaryAsked is a topology that sets inVain to true once Primary has returned an error.
type primaryAsked struct {
	Topology
	inVain bool
}

func (a *primaryAsked) Primary(ctx context.Context) (string, error) {
	p, err := a.Topology.Primary(ctx)
	a.inVain = a.inVain || err != nil
	return p, err
}

// replaceablePrimary returns the primary if it is one of the given hosts and Sentinels can promote a node that is not
// one of them. Otherwise it returns "".
func replaceablePrimary(ctx context.Context, c nodes, hosts []string) string {
	p, err := c.Primary(ctx)
	outside := func(node string) bool { return !slices.Contains(hosts, node) }
	if err != nil || len(c.Sentinels()) == 0 || outside(p) || !slices.ContainsFunc(c.RedisNodes(), outside) {
		return ""
	}
	return p
}

// failover returns the proof that Sentinels have replaced the primary. It returns nil if the primary is not among the
// targets, or if Sentinels cannot replace it. A fault that ends within Sentinels' patience may cause no failover, and
// counts as proved all the same.
func (chosen targets) failover(c primary) func(context.Context) (string, error) {
	if chosen.old == "" {
		return nil
	}
	return func(ctx context.Context) (string, error) {
		ends, ever := ctx.Deadline()
		lasts := time.Until(ends).Round(time.Millisecond)
		seen, err := awaitPromoted(ctx, c, chosen.old)
		if err != nil && ever && lasts < c.Patience() && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return fmt.Sprintf("no replica was promoted within %v, and Sentinels may take %v", lasts, c.Patience()), nil
		}
		return seen, err
	}
}

// chooseSentinel chooses one of the Sentinels, and returns the primary that it is to replace.
func chooseSentinel(ctx context.Context, c nodes, rng *rand.Rand) (sentinel, old string, err error) {
	if len(c.Sentinels()) == 0 {
		return "", "", errors.New("this fault needs Sentinels, and there are none in this topology")
	}
	chosen, err := chooseTargets(ctx, c, Sentinel(), rng)
	if err != nil {
		return "", "", err
	}
	old, err = c.Primary(ctx)
	return chosen.nodes[0], old, err
}

// each calls f for one node after the other, and stops at the first error.
func (chosen targets) each(f func(node string) error) error {
	for _, node := range chosen.nodes {
		if err := f(node); err != nil {
			return err
		}
	}
	return nil
}

// eachAtOnce calls f for every node at the same time, and goes on when one call fails. It is for heals, where a slow
// node must not delay the others. It is also for faults that last for a set time, which must act on all nodes together.
func (chosen targets) eachAtOnce(f func(node string) error) error {
	return errors.Join(await.All(len(chosen.nodes), func(i int) error { return f(chosen.nodes[i]) })...)
}

// nothingToHeal is the heal of a fault that is over at once.
func nothingToHeal(context.Context) error { return nil }

// pollEvery is the time between two checks of a condition.
const pollEvery = 20 * time.Millisecond

// poll calls the given function until it returns false, or until ctx ends. It returns the last error of the function.
func poll(ctx context.Context, look func() (again bool, err error)) error {
	return await.Poll(ctx, pollEvery, look)
}

// awaitReachable waits until the node answers the first client group, which the bite is probed from. If the node did
// not answer before the fault, a missing answer during the fault would prove nothing.
func awaitReachable(ctx context.Context, c probed, node string) error {
	from := c.ClientGroups()[0]
	return pollUntil(ctx, func() error {
		if err := c.Probe(ctx, from, node); err != nil {
			return fmt.Errorf("%s does not reach %s before the fault (is another in force?): %w", from, node, err)
		}
		return nil
	})
}

// checkSilent checks that the node does not answer the first client group. The parameter reason is the clause of the
// error that says why the node should be silent.
func checkSilent(ctx context.Context, c probed, node, reason string) error {
	if c.Probe(ctx, c.ClientGroups()[0], node) == nil {
		return fmt.Errorf("%s answers although %s", node, reason)
	}
	return nil
}

// probed is a system whose client groups can ask its hosts for answers.
type probed interface {
	Topology
	// Probe asks a host for an answer, over the link to it from another host, and waits a fraction of a second.
	Probe(ctx context.Context, from, to string) error
}

// answerWithin bounds the wait for an answer over a link that another fault, or a busy machine, makes slow.
const answerWithin = 10 * time.Second

// awaitAnswer waits for an answer over a link that a fault should leave alone. It probes again and again, since one
// missing answer proves little.
func awaitAnswer(ctx context.Context, c probed, from, to string) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	return pollUntil(ctx, func() error { return c.Probe(ctx, from, to) })
}

// pollUntil calls the given function again and again until it returns nil.
func pollUntil(ctx context.Context, cond func() error) error {
	return poll(ctx, func() (bool, error) { err := cond(); return err != nil, err })
}

// infoField returns the value of a field of a node's INFO.
func infoField(ctx context.Context, c nodes, node, section, field string) (string, error) {
	info, err := c.Do(ctx, node, "INFO", section)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(fmt.Sprint(info)) {
		if value, ok := strings.CutPrefix(line, field+":"); ok {
			return strings.TrimSpace(value), nil
		}
	}
	return "", fmt.Errorf("%s says no %s in INFO %s", node, field, section)
}
