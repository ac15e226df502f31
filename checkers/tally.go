package checkers

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/units"
)

// certifyAtMost bounds how many anomalies of each class one Check passes to porcupine: the first ones. Each takes about
// 20 microseconds, so a history full of violations costs at most some tenths of a second more. All anomalies are
// counted and reported, also those that porcupine was not asked about.
const certifyAtMost = 10_000

// tally collects the anomalies of one Check and makes its judgement.
type tally struct {
	meta      harness.Meta
	onAnomaly func(harness.Anomaly)
	counts    map[harness.Class]int
	asked     int            // number of anomalies that porcupine was asked about
	certified int            // number of anomalies that porcupine found illegal
	broken    map[string]int // violations by key, for up to keysNamed keys; all other keys count as one
}

func newTally(h harness.History, report func(harness.Anomaly)) *tally {
	return &tally{meta: h.Meta, onAnomaly: report, counts: map[harness.Class]int{}, broken: map[string]int{}}
}

// add counts one anomaly, has porcupine certify it and passes it on. The checker has to give Ops in the order of the
// history: nothing else tells the order of operations that share all their times.
func (t *tally) add(a harness.Anomaly) {
	slices.SortStableFunc(a.Ops, func(x, y harness.Op) int { return cmp.Compare(x.Call, y.Call) })
	if t.counts[a.Class] < certifyAtMost && len(a.Ops) > 1 && hasModel(a) {
		t.asked++
		if a.Certified = certify(a, t.meta); a.Certified {
			t.certified++
		}
	}
	t.counts[a.Class] += a.Violations()
	t.countBroken(a)
	t.onAnomaly(a)
}

// keysNamed is the number of broken keys that are counted one by one.
const keysNamed = 12

func (t *tally) countBroken(a harness.Anomaly) {
	key := a.Key
	if _, known := t.broken[key]; !known && len(t.broken) >= keysNamed {
		key = "others"
	}
	t.broken[key] += a.Violations()
}

// brokenKeys lists the broken keys, each with its number of violations.
func (t *tally) brokenKeys() string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(t.broken)) {
		parts = append(parts, key+" "+units.Count(int64(t.broken[key])))
	}
	return strings.Join(parts, ", ")
}

// judgement is the result of a Check.
type judgement struct {
	name    string
	valid   string   // the reason if the verdict is Valid
	absent  []string // doubts because nothing to judge was recorded; empty ones are skipped
	doubts  []string // other doubts; empty ones are skipped. Doubts of either kind make the verdict Unknown
	err     error    // the error that ended the pass early
	figures []harness.Figure
	byKey   bool // if the verdict is Invalid, its reason names the broken keys
}

// judge returns Invalid if there are violations, else Unknown if there are doubts, with these as its reasons, else
// Valid.
func (t *tally) judge(j judgement) harness.Judgement {
	if j.err != nil {
		j.doubts = append(j.doubts, j.err.Error())
	}
	empty := func(s string) bool { return s == "" }
	absent, doubts := slices.DeleteFunc(j.absent, empty), slices.DeleteFunc(j.doubts, empty)
	out := harness.Judgement{Checker: j.name, Figures: append(j.figures, t.certifyFigures()...)}
	switch {
	case len(t.counts) > 0:
		out.Verdict, out.Reason = harness.Invalid, t.classCounts()
		if j.byKey {
			out.Reason += ": " + t.brokenKeys()
		}
	case len(absent)+len(doubts) > 0:
		out.Verdict, out.Reason = harness.Unknown, reasons(append(absent, doubts...))
		out.NothingToJudge = len(doubts) == 0
	default:
		out.Verdict, out.Reason = harness.Valid, j.valid
	}
	return out
}

// mostReasons bounds the reasons that a judgement names, since each of thousands of keys or faults may have its own.
const mostReasons = 20

// reasons joins several reasons into one.
func reasons(all []string) string {
	if more := len(all) - mostReasons; more > 0 {
		all = append(all[:mostReasons], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(all, "; ")
}

// certifyFigures returns how many anomalies porcupine was asked about, and how many it certified. It returns no figures
// if it was asked about none.
func (t *tally) certifyFigures() []harness.Figure {
	if t.asked == 0 {
		return nil
	}
	return []harness.Figure{figureCertified.Count(t.certified), figureCertifyAsked.Count(t.asked)}
}

// classCounts lists the classes found with their counts, ordered by name.
func (t *tally) classCounts() string {
	var parts []string
	for class, n := range t.counts {
		parts = append(parts, units.Count(int64(n))+" "+string(class))
	}
	slices.SortFunc(parts, func(a, b string) int {
		return strings.Compare(a[strings.Index(a, " "):], b[strings.Index(b, " "):])
	})
	return strings.Join(parts, ", ")
}

// doubtIf returns a reason for Unknown, made of format and args, or "" if doubtful is false.
func doubtIf(doubtful bool, format string, args ...any) string {
	if !doubtful {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

// noneSeen returns a reason for Unknown if n, the number of operations of a kind that a checker saw, is 0. Otherwise it
// returns "".
func noneSeen(n int, kind harness.Kind) string { return doubtIf(n == 0, "no %s was recorded", kind) }

// entry returns the entry of m for a key. If there is none, it adds a zero value.
func entry[K comparable, V any](m map[K]*V, key K) *V {
	v := m[key]
	if v == nil {
		v = new(V)
		m[key] = v
	}
	return v
}
