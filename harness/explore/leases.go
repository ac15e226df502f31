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

// This file notes in a counterexample when a key's lease differs from the one that its operation asked for.

// givenLeases holds the leases that commands give to keys, in a schedule whose steps are written down.
type givenLeases struct {
	ends     map[string]time.Duration // ends of all keys that expire, after the last step
	byClient map[int][]givenLease     // leases given by each client's current operation
	reported map[string]bool          // differences that were reported before
}

// givenLease is a lease that a command gave to a key.
type givenLease struct {
	key    string
	length time.Duration
}

// leaseSlack is the smallest difference that is reported, since Redis counts in milliseconds and rounds.
const leaseSlack = 2 * keyspace.Grain

// noteLeases compares the leases that the step has given with those that ended operations asked for, and writes
// differences into the trace.
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
	l.byClient[client] = append(slices.DeleteFunc(l.byClient[client], func(old givenLease) bool {
		return slices.ContainsFunc(given, func(g givenLease) bool { return g.key == old.key })
	}), given...)
	for _, op := range ended {
		if key, text := l.mismatch(client, op); text != "" {
			ex.trace.Current().Lease = ex.trace.Keys(key) + " " + text
		}
		delete(l.byClient, client)
	}
	return nil
}

// leasesGiven lists the keys whose end has changed since the last call, sorted by name.
func (ex *live) leasesGiven() (given []givenLease, err error) {
	all, err := ex.keyEnds()
	if err != nil {
		return nil, err
	}
	l, before := &ex.leases, ex.leases.ends
	if l.byClient == nil {
		l.byClient, l.reported = map[int][]givenLease{}, map[string]bool{}
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

// mismatch compares the lease that a client's operation asked for with the leases that keys got from it. Only the key
// with the closest lease counts: other keys, such as a counter, may have other leases. mismatch returns this key and
// describes the difference. Both are empty if there is none, or if it was reported before for this kind of operation.
func (l *givenLeases) mismatch(client int, op harness.Op) (key, text string) {
	given := l.byClient[client]
	if len(given) == 0 || op.TTL <= 0 || op.Outcome != harness.OK || !begins(op) {
		return "", ""
	}
	off := func(g givenLease) time.Duration { return (g.length - op.TTL).Abs() }
	nearest := slices.MinFunc(given, func(a, b givenLease) int { return cmp.Compare(off(a), off(b)) })
	text = fmt.Sprintf("lasts %v, %v were asked for", nearest.length, op.TTL)
	if off(nearest) < leaseSlack || l.reported[string(op.Kind)+text] {
		return "", ""
	}
	l.reported[string(op.Kind)+text] = true
	return nearest.key, text
}
