package explore

import (
	"fmt"
	"slices"

	"github.com/doublegrant/doublegrant/harness"
)

// This file tells when a search never met what it promises: the situations in which most locks and filters go wrong.

// promised lists the situations that a search with expiries promises of programs with an operation of that kind. A lock
// that renews itself has no late releases: one is promised only where another situation was met, in which it would
// happen.
var promised = []struct {
	kind      harness.Kind
	situation harness.SituationName
	after     harness.SituationName // empty: it is promised in any case
}{
	{harness.Acquire, harness.TakenAfterLease, ""},
	{harness.Release, harness.LateReleaseMeets, harness.ReleaseAfterLease},
	{harness.Extend, harness.LateExtendMeets, harness.ExtendAfterLease},
	{harness.Claim, harness.AskedAgainAfter, ""},
}

// unmet says which promised situation no schedule met, and what to do. It is empty if all were, or if no checker looks
// for situations.
func (s *search) unmet() string {
	p := s.spec.Program
	if p.Timeless || s.spec.budgets()[0].Expiries == 0 {
		return ""
	}
	if s.spec.goroutines() >= s.spec.Clients { // of one process, which may keep its own clients apart
		return ""
	}
	for _, one := range promised {
		met := s.seen.Encounters.By[one.situation]
		if !slices.Contains(p.Kinds, one.kind) || met == nil || met.Count > 0 {
			continue
		}
		if before := s.seen.Encounters.By[one.after]; one.after != "" && (before == nil || before.Count == 0) {
			continue
		}
		return fmt.Sprintf("no schedule met %q, so nothing was shown of that: time passed to the end of each lease "+
			"of %v, and where somebody looked at a clock to %v "+
			"beyond another lease. If what it keeps ends later, ask for that lease (--ttl, or TTL of granttest), or "+
			"let time pass more often (--expiries 2)",
			one.situation, p.Lease, margin)
	}
	return ""
}
