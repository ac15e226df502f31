package checkers

import (
	"slices"

	"github.com/doublegrant/doublegrant/harness"
)

// For returns the checkers of a load by these workloads, riders included. First come the checkers that judge what the
// workloads' Kinds promise, then one that asks porcupine for a second opinion. The last is [Gates], which says whether
// the run could have shown anything. Fencing tokens are judged if a workload is [Fenced]. If no checker judges any of
// the kinds, For returns none, and the harness refuses the run.
func For(loads ...harness.Workload) []harness.Checker {
	return checkersFor(inLoads, func(r role) bool { return r.judgesAny(loads) })
}

// ForSearch returns the checkers of the explorer's schedules, for operations of these kinds, such as the Kinds of a
// program. [Gates] is not among them, since a schedule has no load to judge. For locks the list includes [Fence], even
// if grants carry no tokens. Without tokens [Fence] judges nothing, which does no harm in a search.
func ForSearch(kinds ...harness.Kind) []harness.Checker {
	return checkersFor(inSearches, func(r role) bool { return r.judges(kinds, true) })
}

// Contents describes a history that another program recorded.
type Contents struct {
	Kinds  []harness.Kind // kinds of its operations
	Tokens bool           // some grant of a lock carried a fencing token

	Confirms        bool // some message was confirmed, whatever the outcome
	HarnessConfirms bool // [harness.HarnessClient] sent some of the confirms
}

// ForHistory returns the checkers of a history that another program recorded. [Stuck], [Delivery] and [Stored] are not
// among them, since such a history lacks the probes and inspections of the harness. [Gates] is the last.
func ForHistory(seen Contents) []harness.Checker {
	out := checkersFor(inHistories, func(r role) bool { return r.judges(seen.Kinds, seen.Tokens) })
	for i, c := range out {
		if seen.Confirms && c == Dedup() {
			out[i] = DedupConfirmed(seen.HarnessConfirms)
		}
	}
	return out
}

// Watchers returns those of the given checkers that find violations while a load goes on. Such a checker needs neither
// the end of the run nor its faults.
func Watchers(cs []harness.Checker) []harness.Checker {
	return slices.DeleteFunc(slices.Clone(cs), func(c harness.Checker) bool { return !roleOf(c).watches })
}

// Finds returns the classes that the checkers of these workloads may report, for a load or a search, in the order of
// [harness.Classes].
func Finds(loads ...harness.Workload) []harness.Class {
	var classes []harness.Class
	for _, d := range harness.Classes() {
		finds := func(r role) bool { return slices.Contains(r.finds, d.Class) && r.judgesAny(loads) }
		if slices.ContainsFunc(roles, finds) {
			classes = append(classes, d.Class)
		}
	}
	return classes
}

// Fenced is a [harness.Workload] that says whether the grants of its locks carry fencing tokens.
type Fenced interface {
	Fenced() bool
}

func hasTokens(w harness.Workload) bool {
	f, ok := w.(Fenced)
	return ok && f.Fenced()
}

// setting has a bit for each place in which a checker is used, such as loads or searches.
type setting uint8

const (
	inLoads     setting = 1 << iota // runs of the harness
	inSearches                      // schedules of the explorer
	inHistories                     // histories that other programs recorded

	everywhere = inLoads | inSearches | inHistories
)

// role says which operations a checker judges.
type role struct {
	checker     harness.Checker
	settings    setting
	needs       []harness.Kind // all of these kinds have to occur
	needsTokens bool           // grants have to carry fencing tokens
	watches     bool           // the checker finds violations while a load goes on
	finds       []harness.Class
}

// roles lists the checkers that judge operations, in the order in which reports name them. Keep checkers/README.md in
// step with it.
var roles = []role{
	{checker: Mutex(), settings: everywhere, needs: kindList(harness.Acquire), watches: true,
		finds: classList(harness.DoubleGrant, harness.StolenRelease)},
	// probes come with releases
	{checker: Stuck(), settings: inLoads | inSearches, needs: kindList(harness.Acquire, harness.Release),
		finds: classList(harness.StuckLock)},
	{checker: Owners(), settings: everywhere, needs: kindList(harness.Acquire, harness.Release), watches: true,
		finds: classList(harness.SilentReacquire, harness.RefusedRelease)},
	{checker: Fence(), settings: everywhere, needs: kindList(harness.Acquire), needsTokens: true, watches: true,
		finds: classList(harness.FenceRegression)},
	{checker: Dedup(), settings: everywhere, needs: kindList(harness.Claim), watches: true,
		finds: classList(harness.DuplicateDelivery)},
	{checker: Delivery(), settings: inLoads | inSearches, needs: kindList(harness.Claim, harness.Deliver),
		finds: classList(harness.LostMessage, harness.ImmortalMark)},
	{checker: Sequence(), settings: everywhere, needs: kindList(harness.Next), watches: true,
		finds: classList(harness.DuplicateNumber, harness.Regression)},
	{checker: Stored(), settings: inSearches, needs: kindList(harness.Next), // a load inspects nothing
		finds: classList(harness.SequenceRestart, harness.ReturnedNotStored, harness.TTLLost)},
	{checker: Holders(), settings: inLoads, needs: kindList(harness.Acquire, harness.Release, harness.Add),
		watches: true,
		finds:   classList(harness.StaleHolder)},
	{checker: Writes(), settings: inLoads | inHistories, needs: kindList(harness.Add, harness.Read),
		finds: classList(harness.LostWrite, harness.UnexpectedWrite)},
}

func kindList(all ...harness.Kind) []harness.Kind    { return all }
func classList(all ...harness.Class) []harness.Class { return all }

// judges reports whether the checker has something to judge in a load, search or history with operations of those
// kinds. If tokens is true, grants of locks carry fencing tokens.
func (r role) judges(kinds []harness.Kind, tokens bool) bool {
	missing := func(k harness.Kind) bool { return !slices.Contains(kinds, k) }
	return (tokens || !r.needsTokens) && !slices.ContainsFunc(r.needs, missing)
}

// judgesAny reports whether the checker has something to judge in one of the workloads alone. The kinds of several
// workloads are not combined: the lock of one workload does not guard what another one adds.
func (r role) judgesAny(loads []harness.Workload) bool {
	return slices.ContainsFunc(loads, func(w harness.Workload) bool { return r.judges(w.Kinds(), hasTokens(w)) })
}

// roleOf returns the role of the checker with the name of c. It returns the zero value if that checker judges no
// operations.
func roleOf(c harness.Checker) role {
	for _, r := range roles {
		if r.checker.Name() == c.Name() {
			return r
		}
	}
	return role{}
}

// checkersFor lists the checkers for a setting: those whose role the given function accepts, and those that the setting
// always has, such as Gates for a load. If the function accepts no role, the list is empty.
func checkersFor(in setting, judges func(role) bool) []harness.Checker {
	var out []harness.Checker
	seconded := false // porcupine has a model of something that is judged
	for _, r := range roles {
		if r.settings&in != 0 && judges(r) {
			out = append(out, r.checker)
			seconded = seconded || slices.ContainsFunc(r.needs, func(k harness.Kind) bool { return familyOf(k) != 0 })
		}
	}
	switch {
	case len(out) == 0:
		return nil
	case in == inSearches:
		return append([]harness.Checker{Met()}, out...)
	case in == inLoads && seconded:
		out = append(out, SecondOpinion())
	}
	return append(out, Gates())
}
