package explore

import (
	"fmt"
	"slices"

	"github.com/doublegrant/doublegrant/harness"
)

// This file checks that a search met the situations in which most locks and filters go wrong.

// promised lists the situations that a search with expiries has to meet if the program has operations of a kind. Some
// are required only after another situation: a lock that renews itself, for example, has no late releases.
var promised = []struct {
	kind      harness.Kind
	situation harness.SituationName
	after     harness.SituationName // required only if this situation was met; empty: always
}{
	{harness.Acquire, harness.TakenAfterLease, ""},
	{harness.Release, harness.LateReleaseMeets, harness.ReleaseAfterLease},
	{harness.Extend, harness.LateExtendMeets, harness.ExtendAfterLease},
	{harness.Claim, harness.AskedAgainAfter, ""},
}

// unmet names a required situation that no schedule met, and says what to do. It is empty if all were met, or if no
// checker looks for situations.
func (s *search) unmet() string {
	p := s.spec.Program
	if p.Timeless || s.spec.budgets()[0].Expiries == 0 {
		return ""
	}
	if s.spec.goroutines() >= s.spec.Clients { // they share a process, which may exclude its own clients
		return ""
	}
	for _, one := range promised {
		met := s.seen.Encounters[one.situation]
		if !slices.Contains(p.Kinds, one.kind) || met == nil || met.Count > 0 {
			continue
		}
		if before := s.seen.Encounters[one.after]; one.after != "" && (before == nil || before.Count == 0) {
			continue
		}
		return fmt.Sprintf("no schedule met %q, so the search does not cover it: time passed to the end of each "+
			"lease of %v, and when a client read a clock, to %v beyond a second lease. If the program's marks end "+
			"later, ask for that lease (--ttl, or TTL of granttest), or let time pass more often (--expiries 2)",
			one.situation, p.Lease, margin)
	}
	return ""
}
