package explore

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/explore/internal/keyspace"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// This file tells, in the steps of a counterexample, where a key's lease is not as long as the one that an operation
// asked for.

// givenLeases are the leases that the commands of a schedule give keys, while its steps are written down.
type givenLeases struct {
	ends map[string]time.Duration // of all keys that end, after the last step
	by   map[int][]givenLease     // by client, of its operation under way
	said map[string]bool          // what was told before
}

// givenLease is what one command has made of a key.
type givenLease struct {
	key  string
	long time.Duration
}

// leaseSlack is from how much on a difference from the lease that was asked for is told: Redis counts in milliseconds,
// and rounds.
const leaseSlack = 2 * keyspace.Grain

// noteLeases looks at the ends that a step has given keys, and tells of an operation that has ended with it how they
// differ from what it asked for.
func (ex *live) noteLeases(c interleave.Choice, ended []harness.Op) error {
	if ex.trace == nil {
		return nil
	}
	client, acts := c.Client()
	if !acts { // a late command arrives, or time passes
		client = harness.HarnessClient
	}
	given, err := ex.leasesGiven()
	if err != nil {
		return err
	}
	l := &ex.leases
	l.by[client] = append(slices.DeleteFunc(l.by[client], func(old givenLease) bool {
		return slices.ContainsFunc(given, func(g givenLease) bool { return g.key == old.key })
	}), given...)
	for _, op := range ended {
		if key, text := l.differing(client, op); text != "" {
			ex.trace.Current().Lease = ex.trace.Keys(key) + " " + text
		}
		delete(l.by, client)
	}
	return nil
}

// leasesGiven lists the keys that have got another end since the last look, in the order of their names.
func (ex *live) leasesGiven() (given []givenLease, err error) {
	all, err := ex.keyEnds()
	if err != nil {
		return nil, err
	}
	l, before := &ex.leases, ex.leases.ends
	if l.by == nil {
		l.by, l.said = map[int][]givenLease{}, map[string]bool{}
	}
	l.ends = make(map[string]time.Duration, len(all))
	for _, end := range all {
		l.ends[end.Key] = end.At
		if at, known := before[end.Key]; !known || at != end.At {
			given = append(given, givenLease{end.Key, end.At - ex.now.Truncate(keyspace.Grain)})
		}
	}
	slices.SortFunc(given, func(a, b givenLease) int { return cmp.Compare(a.key, b.key) })
	return given, nil
}

// differing says how the leases that a client's operation gave keys differ from the one that it asked for. It is empty
// if one of them is as long: others, such as that of a counter, have lengths of their own. What was said before of an
// operation of that kind is not said again.
func (l *givenLeases) differing(client int, op harness.Op) (key, text string) {
	given := l.by[client]
	if len(given) == 0 || op.TTL <= 0 || op.Outcome != harness.OK || !begins(op) {
		return "", ""
	}
	off := func(g givenLease) time.Duration { return (g.long - op.TTL).Abs() }
	nearest := slices.MinFunc(given, func(a, b givenLease) int { return cmp.Compare(off(a), off(b)) })
	text = fmt.Sprintf("lasts %v, %v were asked for", nearest.long, op.TTL)
	if off(nearest) < leaseSlack || l.said[string(op.Kind)+text] {
		return "", ""
	}
	l.said[string(op.Kind)+text] = true
	return nearest.key, text
}
