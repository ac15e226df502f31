package suite

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/workloads"
)

// Expectation is what the documentation of a plan's variants promises of its run.
type Expectation struct {
	Must []harness.Class `json:"must,omitempty"` // at least one of these is found; empty: nothing has to be
	May  []harness.Class `json:"may,omitempty"`  // these can be found as well
}

// expect derives the expectation from the flaws that the plan's variants declare and the conditions that the plan brings
// about: for certain (clients race, numbers of a regime are proposed, a split brain loses writes) or perhaps (a killed
// primary may have acknowledged what no replica had).
func (r resolved) expect() (e Expectation) {
	for _, v := range append([]workloads.Variant{r.variant}, r.with...) {
		for _, f := range v.Flaws {
			certain, possible := r.meets(f.When)
			certain = certain && !(f.When == workloads.Failover && v.Acks > 0) // its acknowledgements save most of it
			switch {
			case certain:
				e.Must = add(e.Must, f.Class)
			case possible:
				e.May = add(e.May, f.Class)
			}
		}
	}
	return e
}

// meets reports whether the plan brings about the condition, for certain or possibly.
func (r resolved) meets(c workloads.Condition) (certain, possible bool) {
	switch c {
	case workloads.Race, workloads.LateRelease:
		return true, true
	case workloads.LeaseEndsInRelease, workloads.LeaseEndsInClaim:
		return false, true
	case workloads.FractionOfSecond:
		return r.TTL > 0 && r.TTL < time.Second, r.TTL%time.Second != 0
	case workloads.Crash: // to a lock, an answer that never comes is a crash
		return false, len(r.nemeses) > 0
	case workloads.Failover:
		for _, n := range r.nemeses {
			certain = certain || n.losesWrites
		}
		return certain, len(r.nemeses) > 0
	case workloads.In(r.regime):
		return true, true
	default: // no plan bends clocks yet
		return false, false
	}
}

func add(to []harness.Class, c harness.Class) []harness.Class {
	if slices.Contains(to, c) {
		return to
	}
	return append(to, c)
}

// Met reports whether the judged run is as expected. An Unknown verdict never is.
func (e Expectation) Met(j harness.Judged) bool {
	found := len(e.Must) == 0
	for class := range j.Totals {
		switch {
		case slices.Contains(e.Must, class):
			found = true
		case !slices.Contains(e.May, class):
			return false
		}
	}
	return found && j.Verdict != harness.Unknown
}

// String says it in words: "valid", "invalid: double-grant", "valid, or invalid: lost-write".
func (e Expectation) String() string {
	switch {
	case len(e.Must) > 0:
		return "invalid: " + list(e.Must, " or ")
	case len(e.May) > 0:
		return "valid, or invalid: " + list(e.May, " or ")
	default:
		return "valid"
	}
}

func list(classes []harness.Class, between string) string {
	var words []string
	for _, c := range classes {
		words = append(words, fmt.Sprint(c))
	}
	return strings.Join(words, between)
}
