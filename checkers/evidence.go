package checkers

import (
	"cmp"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// This file has what several checkers show as evidence.

// inOrder lists the operations in the order of the history.
func inOrder(sights []indexedOp) []harness.Op {
	slices.SortFunc(sights, func(a, b indexedOp) int { return cmp.Compare(a.seq, b.seq) })
	ops := make([]harness.Op, len(sights))
	for i, s := range sights {
		ops[i] = s.op
	}
	return ops
}

// certainSpan returns s alone, or nothing if s is empty. If s never ends, its end is written as reports expect it.
func certainSpan(s harness.Span) []harness.Span {
	switch {
	case s.To == forever:
		s.To, s.Until = 0, harness.NothingEnds
	case s.To <= s.From:
		return nil
	}
	return []harness.Span{s}
}

// pastLease returns the spans of an anomaly in which an operation met a lock or mark that outlived its lease. late is
// that operation. Only taker can have left the lock or mark behind, and every lease had ended by leasesOver. The first
// span goes from the Call of taker to leasesOver. The second one goes on to the Call of late, and is left out if that
// is not later.
func pastLease(taker harness.Op, leasesOver time.Duration, late harness.Op) []harness.Span {
	all := []harness.Span{{Client: taker.Client, Kind: harness.PossibleHold, From: taker.Call, To: leasesOver}}
	if late.Call > leasesOver {
		all = append(all, harness.Span{Client: taker.Client, Kind: harness.PastLease, From: leasesOver, To: late.Call})
	}
	return all
}
