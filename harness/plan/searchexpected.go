package plan

import (
	"cmp"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/doublegrant/doublegrant/workloads"
)

// SearchExpectation says which classes a search should find according to the variant's documentation. The zero value
// expects no class.
type SearchExpectation struct {
	Must []harness.Class // classes that are found if all schedules are run
	May  []harness.Class // classes that may be found as well
	part bool            // whether the search has too few clients to find all of Must
}

// Expectation returns the classes whose conditions the search meets, for certain or perhaps.
func (s Search) Expectation(v workloads.Variant) SearchExpectation {
	var must, may []harness.Class
	for _, f := range v.Flaws {
		switch {
		case f.Class == harness.LostMessage && s.atMostOnce():
		case f.When == workloads.LargerProposal: // depends on the proposals of the few callers
			may = addClass(may, f.Class)
		case f.When == workloads.LeaseEndsInRelease && v.Lease > 0 && s.lease(v) < time.Second:
			// Rounded down to whole seconds the lease is 0, and ends within the acquire.
			may = addClass(may, f.Class)
		case s.meetsCondition(f.When, v):
			must = addClass(must, f.Class)
			// A double grant that follows a stolen release is reported as the release.
			if f.When == workloads.Unanswered && f.Class == harness.DoubleGrant {
				may = addClass(may, harness.StolenRelease)
			}
		}
	}
	slices.Sort(must)
	return SearchExpectation{must, may, cmp.Or(s.Clients, enoughClients) < enoughClients}
}

// A user's own algorithm is explored by default with a fraction of a second in its lease or window. That shows whether
// it rounds down to seconds.
const (
	ownLease  = workloads.ExploredLease + 500*time.Millisecond
	ownWindow = 2*workloads.ExploredLease + 500*time.Millisecond
)

// lease returns the lease or window that clients request; 0: the default of searches. An adapter that announces its
// operations chooses its lease itself.
func (s Search) lease(v workloads.Variant) time.Duration {
	switch ttl := cmp.Or(s.TTL, v.Lease); {
	case ttl != 0 || !s.IsCustom() || s.Adapter != nil && s.Adapter.Announces:
		return ttl
	case v.Family == workloads.Lock:
		return ownLease
	case v.Family == workloads.Dedup:
		return ownWindow
	}
	return 0
}

func (s Search) meetsCondition(c workloads.Condition, v workloads.Variant) bool {
	most := s.OrDefaults()
	switch c {
	case workloads.Race, workloads.NamesBegin:
		return true
	case workloads.LateRelease, workloads.LateExtend, workloads.LeaseEndsInRelease, workloads.LeaseEndsInClaim,
		workloads.SignalEnds:
		return most.Expiries > 0
	case workloads.FractionOfSecond:
		ttl := cmp.Or(s.lease(v), workloads.ExploredLease)
		return ttl < time.Second || most.Expiries > 0 && ttl%time.Second != 0
	case workloads.ClockSkew, workloads.FastLoser:
		return s.Skew > cmp.Or(s.lease(v), workloads.ExploredLease)
	case workloads.Crash:
		return most.Crashes > 0
	case workloads.AnswerLost:
		return s.LostAnswers > 0 || s.EveryPart()
	case workloads.Unanswered:
		return s.LostAnswers > 0 || s.LostCommands > 0 || s.Late > 0 || s.EveryPart()
	case workloads.LateCommand:
		return s.Late > 0 || s.EveryPart()
	case workloads.Failover:
		return s.Failovers > 0
	}
	return c == workloads.In(workloads.Regime(cmp.Or(s.Regime, string(workloads.Fixed))))
}

// Met reports whether the search found the documented classes and no others. A search with too few clients may have
// found some of the classes, or none. A search that ended early must have found at least one of them.
func (e SearchExpectation) Met(res interleave.Result) bool {
	var found []harness.Class
	for _, c := range res.Counterexamples {
		found = addClass(found, c.Anomaly.Class)
	}
	for _, c := range found {
		if !slices.Contains(e.Must, c) && !slices.Contains(e.May, c) {
			return false
		}
	}
	if !res.Exhausted || e.part {
		return len(found) > 0 || res.Exhausted
	}
	return !slices.ContainsFunc(e.Must, func(c harness.Class) bool { return !isShown(c, found) })
}

// isShown reports whether a class was found. A double grant counts as found if a stolen release was, since a double
// grant that follows from a stolen release is reported as that release.
func isShown(c harness.Class, found []harness.Class) bool {
	return slices.Contains(found, c) || c == harness.DoubleGrant && slices.Contains(found, harness.StolenRelease)
}

// String names the classes that must be found.
func (e SearchExpectation) String() string {
	if len(e.Must) == 0 {
		return "valid"
	}
	return "invalid: " + joinClasses(e.Must, " and ")
}
