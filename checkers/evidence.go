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

// certainSpan returns s with its end as reports want it. It returns nothing for an empty span.
func certainSpan(s harness.Span) []harness.Span {
	switch {
	case s.To == forever:
		s.To, s.Until = 0, harness.NothingEnds
	case s.To <= s.From:
		return nil
	}
	return []harness.Span{s}
}

// pastLease returns the spans of an anomaly in which late met a lock or mark that only by can have left behind,
// although every lease had ended by over: one from the Call of by to over, and one from there to the Call of late, if
// that is later.
func pastLease(by harness.Op, over time.Duration, late harness.Op) []harness.Span {
	all := []harness.Span{{Client: by.Client, Kind: harness.PossibleHold, From: by.Call, To: over}}
	if late.Call > over {
		all = append(all, harness.Span{Client: by.Client, Kind: harness.PastLease, From: over, To: late.Call})
	}
	return all
}
