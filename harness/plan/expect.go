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

// Expectation says which violations a run should show: those that its plan names, or else those documented for its
// variants. The zero value expects no violation.
type Expectation struct {
	// one list for each variant whose flaws certainly show: at least one class of each list has to be found
	Must [][]harness.Class `json:"must,omitempty"`
	May  []harness.Class   `json:"may,omitempty"` // classes that may be found as well

	// Late lists classes that may be found if an operation got no answer in time. To a variant, a missing answer is the
	// same as a crash. On a busy machine, an answer may be missing without a fault.
	Late []harness.Class `json:"late,omitempty"`

	// Updates says that lost writes are expected only among updates that a lock guards. Other lost writes are a
	// surprise, even if their class is in the field May.
	Updates bool `json:"updates,omitempty"`
}

// Expectation returns the expectation that the plan states. If the plan states none, it follows from the documented
// flaws of the plan's variants. Each flaw shows under a condition.
//
// The plan meets some conditions for certain: clients race, callers propose the numbers of a regime, a split brain
// loses writes. It may meet others: a killed primary may have acknowledged writes that no replica had.
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

// allows reports whether the class is expected in every run.
func (e Expectation) allows(c harness.Class) bool {
	return slices.Contains(slices.Concat(append(e.Must, e.May)...), c)
}

// allowsIn reports whether the class is expected in this run.
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

// flawConditions lists the conditions of the variant's documented flaws, and then those under which a node itself loses
// data, whatever the variant.
func flawConditions(v workloads.Variant) (all []workloads.Condition) {
	for _, f := range v.Flaws {
		all = append(all, f.When)
	}
	return append(all, workloads.NodeRestart, workloads.NodeClock, workloads.MemoryEvicts)
}

// certainlyFound reports whether a run that certainly meets the condition also shows the class for certain. A run with
// a failover shows it, unless the variant waits for acknowledgements of replicas. A node that restarts without its data
// has certainly lost every number and every write. But it may have held no lock and no message at that moment, so the
// loss of these is not certain.
func certainlyFound(v workloads.Variant, c workloads.Condition, class harness.Class) bool {
	switch c {
	case workloads.Failover:
		return v.Acks == 0
	case workloads.NodeRestart:
		return class == harness.LostWrite || v.Family == workloads.Sequence
	}
	return true
}

// meetsCondition reports whether a run of the plan certainly meets the condition, and whether it possibly does.
func (r Resolved) meetsCondition(c workloads.Condition) (certain, possible bool) {
	switch c {
	case workloads.Race, workloads.LateRelease:
		return true, true
	case workloads.LateExtend, workloads.LeaseEndsInRelease, workloads.LeaseEndsInClaim, workloads.NamesBegin:
		return false, true
	case workloads.FractionOfSecond:
		return r.TTL < time.Second, r.TTL%time.Second != 0 || r.TTL == 0 // the default leases include a fraction
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
	// a client takes a late answer for a lost one
	case workloads.AnswerLost, workloads.Unanswered, workloads.LateCommand:
		return false, len(r.faults.all()) > 0
	}
	proposed := r.variant.Family == workloads.Sequence &&
		slices.ContainsFunc(r.regimes(), func(of workloads.Regime) bool { return c == workloads.In(of) })
	return proposed, proposed
}

// regimes lists the regimes whose numbers callers of a sequence propose.
func (r Resolved) regimes() []workloads.Regime {
	if r.regime != "" {
		return []workloads.Regime{r.regime}
	}
	return workloads.Regimes()
}

// restartsEmpty reports whether a node certainly, or possibly, restarts without its data before a lease ends. It is
// certain if the primary stores nothing on disk, and restarts before another node replaces it. With appendfsync
// everysec it is possible, since a command may be acknowledged before it reaches the disk.
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

// defaultLease is the longest lease that workloads request by default.
const defaultLease = 1337 * time.Millisecond

func addClass(to []harness.Class, c harness.Class) []harness.Class {
	if slices.Contains(to, c) {
		return to
	}
	return append(to, c)
}

// Met reports whether the run is as expected. A run with the verdict Unknown is never as expected.
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

// Surprise describes how a run differs from the expectation: unexpected classes, each with its first violation, and
// missing ones. It is empty if the run is as expected.
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

// Disallowed describes the unexpected classes that were found, each with its first violation.
func (e Expectation) Disallowed(j harness.Judged) (words []string) {
	for _, class := range slices.Sorted(maps.Keys(j.Totals)) {
		if !e.allowsIn(j, class) {
			words = append(words, fmt.Sprintf("found %s %s, which was not expected%s",
				units.Count(int64(j.Totals[class])), class, firstNote(j, class)))
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

// lostBesideUpdates says that writes were lost that no lock guards, or why that is not known. It is empty if no such
// write was lost.
func lostBesideUpdates(j harness.Judged) string {
	lost, err := j.Figure(checkers.FigureLost)
	updates, err2 := j.Figure(checkers.FigureLostUpdates)
	switch err := cmp.Or(err, err2); {
	case err != nil:
		return fmt.Sprintf("cannot tell whether writes that no lock guarded were lost: %v", err)
	case lost > updates:
		return "lost writes that no lock guarded"
	}
	return ""
}

// String describes the expectation: "valid", "invalid: double-grant", "valid, or invalid: lost-write", "invalid:
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

// possiblePhrase lists, in words, the classes in the field May that are not in the field Must.
func (e Expectation) possiblePhrase() string {
	may := slices.DeleteFunc(slices.Clone(e.May),
		func(c harness.Class) bool { return slices.Contains(slices.Concat(e.Must...), c) })
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
