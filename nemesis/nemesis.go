// Package nemesis breaks systems, one fault a file.
//
// A fault acts through a small interface that names just what it needs; harness/cluster implements them all. Inject
// returns once a probe has shown that the fault bites; Prove waits for its consequence; Heal undoes it. Timetables,
// records, time limits and the wait for a whole system after the heal belong to harness.Run.
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

// primary tells who is primary.
type primary interface {
	// Primary names the node that most Sentinels name as primary.
	Primary(ctx context.Context) (string, error)
	// AwaitPromotion returns the name of a node other than old once that node says that it is primary.
	AwaitPromotion(ctx context.Context, old string) (string, error)
	// Patience returns the time after which Sentinels have certainly replaced a primary that is gone. Before it they may have.
	Patience() time.Duration
}

// awaitPromoted waits until another node than old is primary and most Sentinels know of it. An old primary that comes back
// earlier may be primary again.
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

// nodes is the part of a cluster that every fault of a node needs.
type nodes interface {
	Topology
	primary
	// Do sends a command to the node, past all links, and returns the reply.
	Do(ctx context.Context, node string, command ...any) (any, error)
}

// targets holds the targets of a fault.
type targets struct {
	hosts []string
	// old is the primary if it is one of hosts, and others are there that Sentinels can promote in its place.
	old string
}

func (a targets) String() string { return strings.Join(a.hosts, ", ") }

// chooseTargets chooses the nodes of a fault. It waits, until ctx ends, while a failover is under way and while a chosen node
// does not answer because of another fault.
func chooseTargets(ctx context.Context, c nodes, t Target, rng *rand.Rand) (a targets, err error) {
	seed := rng.Uint64() // for the same choice each time round
	err = poll(ctx, func() (again bool, err error) {
		among := &primaryAsked{Topology: c}
		a.hosts, err = t.Pick(ctx, among, rand.New(rand.NewPCG(seed, 0)))
		if err != nil {
			return among.inVain && len(c.Sentinels()) > 0, err
		}
		for _, host := range a.hosts {
			if !slices.Contains(c.RedisNodes(), host) && !slices.Contains(c.Sentinels(), host) {
				return false, fmt.Errorf("%s is a client group, and this is a fault of nodes", host)
			}
			if _, err := c.Do(ctx, host, "PING"); err != nil {
				return true, fmt.Errorf("%s is broken already: %w", host, err)
			}
		}
		a.old = replaceablePrimary(ctx, c, a.hosts)
		return false, nil
	})
	return a, err
}

// primaryAsked is a topology that notes whether somebody asked for the primary in vain.
type primaryAsked struct {
	Topology
	inVain bool
}

func (a *primaryAsked) Primary(ctx context.Context) (string, error) {
	p, err := a.Topology.Primary(ctx)
	a.inVain = a.inVain || err != nil
	return p, err
}

// chooseRedisTargets does what chooseTargets does, and refuses Sentinels: it is for faults that only Redis nodes can have.
func chooseRedisTargets(ctx context.Context, c nodes, t Target, rng *rand.Rand) (targets, error) {
	a, err := chooseTargets(ctx, c, t, rng)
	if err != nil {
		return a, err
	}
	for _, host := range a.hosts {
		if !slices.Contains(c.RedisNodes(), host) {
			return targets{}, fmt.Errorf("%s is a Sentinel, and this is a fault of Redis nodes", host)
		}
	}
	return a, nil
}

// replaceablePrimary returns the primary if it is one of hosts and Sentinels can promote a node that is not; else "".
func replaceablePrimary(ctx context.Context, c nodes, hosts []string) string {
	p, err := c.Primary(ctx)
	if err != nil || len(c.Sentinels()) == 0 || !slices.Contains(hosts, p) {
		return ""
	}
	for _, n := range c.RedisNodes() {
		if !slices.Contains(hosts, n) {
			return p
		}
	}
	return ""
}

// failover returns the proof of a fault that makes Sentinels replace the primary; nil where they cannot or need not. A fault
// that ends within their patience may cause no failover: then its bite is proof enough.
func (a targets) failover(c primary) func(context.Context) (string, error) {
	if a.old == "" {
		return nil
	}
	return func(ctx context.Context) (string, error) {
		ends, ever := ctx.Deadline()
		lasts := time.Until(ends).Round(time.Millisecond)
		seen, err := awaitPromoted(ctx, c, a.old)
		if err != nil && ever && lasts < c.Patience() && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return fmt.Sprintf("nobody was promoted within %v, and Sentinels may take %v", lasts, c.Patience()), nil
		}
		return seen, err
	}
}

// chooseSentinel chooses one of the Sentinels.
func chooseSentinel(ctx context.Context, c nodes, rng *rand.Rand) (string, error) {
	if len(c.Sentinels()) == 0 {
		return "", errors.New("this fault needs Sentinels, and there are none in this topology")
	}
	a, err := chooseTargets(ctx, c, Sentinel(), rng)
	if err != nil {
		return "", err
	}
	return a.hosts[0], nil
}

// each does f to one host after the other, stopping at the first error.
func (a targets) each(f func(host string) error) error {
	for _, host := range a.hosts {
		if err := f(host); err != nil {
			return err
		}
	}
	return nil
}

// eachAtOnce does f to every host at the same time, and goes on when one fails: a slow host takes no time from the others. It is for
// heals, and for faults that last for a time of their own.
func (a targets) eachAtOnce(f func(host string) error) error {
	return errors.Join(await.All(len(a.hosts), func(i int) error { return f(a.hosts[i]) })...)
}

// nothingToHeal does nothing: it is the heal of a fault that is over in a moment.
func nothingToHeal(context.Context) error { return nil }

// pollEvery is the pause between two looks at a condition.
const pollEvery = 20 * time.Millisecond

// poll calls look until it says that it need not look again, or ctx ends. The error is the last look's.
func poll(ctx context.Context, look func() (again bool, err error)) error {
	return await.Poll(ctx, pollEvery, look)
}

// awaitReachable waits until the node answers the first client group, from which the bite will be probed. Otherwise a missing answer
// would prove nothing.
func awaitReachable(ctx context.Context, c interface {
	Topology
	asker
}, node string) error {
	from := c.ClientGroups()[0]
	return pollUntil(ctx, func() error {
		if err := c.Probe(ctx, from, node); err != nil {
			return fmt.Errorf("%s does not reach %s before the fault (is another in force?): %w", from, node, err)
		}
		return nil
	})
}

// asker asks over a link.
type asker interface {
	// Probe asks to for an answer over the network, from the host from, and waits a fraction of a second for it.
	Probe(ctx context.Context, from, to string) error
}

// answerWithin bounds the wait for an answer over a link that another fault or a busy machine makes slow.
const answerWithin = 10 * time.Second

// awaitAnswer waits for an answer over a link that a fault should leave alone. One probe without an answer says little.
func awaitAnswer(ctx context.Context, c asker, from, to string) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	return pollUntil(ctx, func() error { return c.Probe(ctx, from, to) })
}

// pollUntil polls cond until it returns nil.
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
