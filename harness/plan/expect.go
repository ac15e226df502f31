package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/checkers"
	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/units"
	"github.com/doublegrant/doublegrant/nemesis"
	"github.com/doublegrant/doublegrant/workloads"
)

// Expectation says what a run is expected to find: what its plan says, or else what is documented of the plan's variants. The
// zero value expects no violation.
type Expectation struct {
	Must [][]harness.Class `json:"must,omitempty"` // one list for each variant with certain flaws: at least one class of each list is found
	May  []harness.Class   `json:"may,omitempty"`  // classes that may be found as well

	// Late lists classes that may be found as well if an operation was not answered in time. To a variant, an answer that never
	// comes is a crash, and a busy machine can cause one without a fault.
	Late []harness.Class `json:"late,omitempty"`

	// Updates says that lost writes are expected only of updates to what locks guard. Others are a surprise, although May has
	// their class.
	Updates bool `json:"updates,omitempty"`
}

// Expectation returns what the plan itself says. If it says nothing, the expectation comes from the flaws of the plan's variants,
// and from the conditions under which they show. The plan brings some conditions about for certain: clients race, numbers of a
// regime are proposed, a split brain loses writes. Others it brings about perhaps: a killed primary may have acknowledged what no
// replica had.
func (r Resolved) Expectation() (e Expectation) {
	if !r.Expect.IsZero() {
		return r.Expect.Expectation()
	}
	for _, v := range r.variants() {
		var must []harness.Class
		for _, c := range flawConditions(v) {
			certain, possible := r.meetsCondition(c)
			for _, class := range v.Under(c) {
				switch {
				case certain && certainlyFound(v, c, class):
					must = addClass(must, class)
				case possible:
					e.May = addClass(e.May, class)
				case c == workloads.Crash, c == workloads.Unanswered:
					e.Late = addClass(e.Late, class)
				}
			}
		}
		if len(must) > 0 {
			e.Must = append(e.Must, must)
		}
	}
	if r.Resource && !r.variant.Fenced() { // owners may outlive their leases, above all when they are frozen
		e.Updates = !e.allows(harness.LostWrite)
		e.May = addClass(addClass(e.May, harness.StaleHolder), harness.LostWrite)
	}
	return e
}

// allows reports whether the class is expected, in any run.
func (e Expectation) allows(c harness.Class) bool {
	return slices.Contains(slices.Concat(append(e.Must, e.May)...), c)
}

// allowsIn reports whether the class is expected in this judged run.
func (e Expectation) allowsIn(j harness.Judged, c harness.Class) bool {
	if e.allows(c) {
		return true
	}
	if !slices.Contains(e.Late, c) {
		return false
	}
	unanswered, err := j.Figure(checkers.FigureUnanswered)
	return err == nil && unanswered > 0 // if they were not counted, the class is not expected
}

// flawConditions lists the conditions of the variant's flaws, in their order, and then those under which any node forgets data.
func flawConditions(v workloads.Variant) (all []workloads.Condition) {
	for _, f := range v.Flaws {
		all = append(all, f.When)
	}
	return append(all, workloads.NodeRestart, workloads.NodeClock, workloads.MemoryEvicts)
}

// certainlyFound reports whether a condition that is met for certain also shows the class for certain. A failover does not if
// replicas acknowledge the variant's writes. A node that comes back empty has lost every number and every write, but it is chance
// whether a lock was in use just then, or whether a message comes again.
func certainlyFound(v workloads.Variant, c workloads.Condition, class harness.Class) bool {
	switch c {
	case workloads.Failover:
		return v.Acks == 0
	case workloads.NodeRestart:
		return class == harness.LostWrite || v.Family == workloads.Sequence
	}
	return true
}

// meetsCondition reports whether the plan brings the condition about: for certain, and possibly.
func (r Resolved) meetsCondition(c workloads.Condition) (certain, possible bool) {
	switch c {
	case workloads.Race, workloads.LateRelease:
		return true, true
	case workloads.LateExtend, workloads.LeaseEndsInRelease, workloads.LeaseEndsInClaim:
		return false, true
	case workloads.FractionOfSecond:
		return r.TTL < time.Second, r.TTL%time.Second != 0 || r.TTL == 0 // one of the default leases is such
	case workloads.Crash: // see Expectation.Late for runs without faults
		return false, len(r.faults.all()) > 0
	case workloads.Failover:
		return r.anyFaultWith(nemesis.Loses) && r.MinReplicas == 0, r.anyFaultWith(nemesis.MayLose | nemesis.Loses)
	case workloads.NodeRestart:
		return r.restartsEmpty()
	case workloads.NodeClock:
		return false, r.anyFaultWith(nemesis.Ages)
	case workloads.MemoryEvicts:
		return false, r.anyFaultWith(nemesis.Evicts)
	case workloads.ClockSkew, workloads.FastLoser:
		return false, r.anyFaultWith(nemesis.Skews)
	case workloads.NamesBegin:
		return false, true
	case workloads.AnswerLost, workloads.Unanswered, workloads.LateCommand: // a client takes an answer that comes too late for lost
		return false, len(r.faults.all()) > 0
	}
	proposed := r.variant.Family == workloads.Sequence && slices.ContainsFunc(r.regimes(), func(of workloads.Regime) bool { return c == workloads.In(of) })
	return proposed, proposed
}

// regimes lists the regimes of which callers of a sequence propose numbers.
func (r Resolved) regimes() []workloads.Regime {
	if r.regime != "" {
		return []workloads.Regime{r.regime}
	}
	return workloads.Regimes()
}

// restartsEmpty reports whether a node comes back without its data before a lease is over. That is certain of a primary that is
// back before another node takes its place. With appendfsync everysec it is possible: a command can be acknowledged before it has
// left the process.
func (r Resolved) restartsEmpty() (certain, possible bool) {
	if r.AOF != "" && cluster.AOF(r.AOF) != cluster.AOFEverySec {
		return false, false
	}
	lease := cmp.Or(r.TTL, defaultLease)
	for _, f := range r.faults.all() {
		certain = certain || f.configured.Can(nemesis.AtOnce) && f.Host == "primary" && r.AOF == ""
		possible = possible || f.configured.Can(nemesis.AtOnce) || f.configured.Can(nemesis.Forgets) && f.For < lease
	}
	return certain, possible
}

// defaultLease is the longest lease that workloads ask for by default.
const defaultLease = 1337 * time.Millisecond

func addClass(to []harness.Class, c harness.Class) []harness.Class {
	if slices.Contains(to, c) {
		return to
	}
	return append(to, c)
}

// Met reports whether the judged run is as expected. A run with the verdict Unknown never is.
func (e Expectation) Met(j harness.Judged) bool {
	for class := range j.Totals {
		if !e.allowsIn(j, class) {
			return false
		}
	}
	for _, must := range e.Must {
		if !slices.ContainsFunc(must, func(c harness.Class) bool { return j.Totals[c] > 0 }) {
			return false
		}
	}
	return j.Verdict != harness.Unknown && (!e.Updates || lostBesideUpdates(j) == "")
}

// Surprise says what is not as expected of a judged run: the classes that should not have been found, each with its first
// violation, and those that should have been. It is empty if the run is as expected.
func (e Expectation) Surprise(j harness.Judged) string {
	words := e.Disallowed(j)
	for _, must := range e.Must {
		if !slices.ContainsFunc(must, func(c harness.Class) bool { return j.Totals[c] > 0 }) {
			words = append(words, "found no "+joinClasses(must, " and no "))
		}
	}
	if word := lostBesideUpdates(j); e.Updates && word != "" {
		words = append(words, word)
	}
	return strings.Join(words, "; ")
}

// Disallowed lists the classes that should not have been found, each with its first violation.
func (e Expectation) Disallowed(j harness.Judged) (words []string) {
	for _, class := range slices.Sorted(maps.Keys(j.Totals)) {
		if !e.allowsIn(j, class) {
			words = append(words, fmt.Sprintf("found %s %s, which was not expected%s", units.Count(int64(j.Totals[class])), class, firstNote(j, class)))
		}
	}
	return words
}

// firstNote returns ": " and the note of the first anomaly of a class.
func firstNote(j harness.Judged, class harness.Class) string {
	i := slices.IndexFunc(j.Anomalies, func(a harness.Anomaly) bool { return a.Class == class })
	if i < 0 {
		return ""
	}
	return ": " + j.Anomalies[i].Note
}

// lostBesideUpdates says that writes were lost that no lock guarded, or why that is not known. It is empty if there were none.
func lostBesideUpdates(j harness.Judged) string {
	lost, err := j.Figure(checkers.FigureLost)
	updates, err2 := j.Figure(checkers.FigureLostUpdates)
	switch err := cmp.Or(err, err2); {
	case err != nil:
		return fmt.Sprintf("nobody knows whether writes were lost that no lock guarded: %v", err)
	case lost > updates:
		return "lost writes that no lock guarded"
	}
	return ""
}

// String returns the expectation in words: "valid", "invalid: double-grant", "valid, or invalid: lost-write", "invalid:
// stolen-release, and perhaps double-grant".
func (e Expectation) String() string {
	switch {
	case len(e.Must) > 0:
		var each []string
		for _, must := range e.Must {
			each = append(each, joinClasses(must, " or "))
		}
		return "invalid: " + strings.Join(each, ", and ") + e.possiblePhrase()
	case len(e.May) > 0:
		return "valid, or invalid: " + joinClasses(e.May, " or ")
	default:
		return "valid"
	}
}

// possiblePhrase lists the classes of May that are not in Must.
func (e Expectation) possiblePhrase() string {
	may := slices.DeleteFunc(slices.Clone(e.May), func(c harness.Class) bool { return slices.Contains(slices.Concat(e.Must...), c) })
	if len(may) == 0 {
		return ""
	}
	return ", and perhaps " + joinClasses(may, " or ")
}

func joinClasses(classes []harness.Class, between string) string {
	var words []string
	for _, c := range classes {
		words = append(words, fmt.Sprint(c))
	}
	return strings.Join(words, between)
}
