package checkers

import (
	"cmp"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// This file has what several checkers show as evidence.

// inOrder lists the operations in the order of the history.
func inOrder(all []indexedOp) []harness.Op {
	slices.SortFunc(all, func(a, b indexedOp) int { return cmp.Compare(a.seq, b.seq) })
	ops := make([]harness.Op, len(all))
	for i, x := range all {
		ops[i] = x.op
	}
	return ops
}

// certainSpan lists s, or nothing if s is empty. A span that never ends gets the end 0, by which reports recognise it.
func certainSpan(s harness.Span) []harness.Span {
	switch {
	case s.To == forever:
		s.To, s.Until = 0, harness.NothingEnds
	case s.To <= s.From:
		return nil
	}
	return []harness.Span{s}
}

// pastLease returns the spans of an anomaly in which a late operation met a lock or mark after every lease had ended.
// The first span begins with the Call of the operation that may have taken the lock or set the mark (the parameter
// taker). It ends at leasesOver, the latest end of all leases. The second span goes from there to the Call of the late
// operation, if that comes later.
func pastLease(taker harness.Op, leasesOver time.Duration, late harness.Op) []harness.Span {
	all := []harness.Span{{Client: taker.Client, Kind: harness.PossibleHold, From: taker.Call, To: leasesOver}}
	if late.Call > leasesOver {
		all = append(all, harness.Span{Client: taker.Client, Kind: harness.PastLease, From: leasesOver, To: late.Call})
	}
	return all
}
