package harness

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"
)

// maxAnomalies bounds the anomalies of each class that are kept with their operations. All are counted.
const maxAnomalies = 100

// Judged holds what a set of checkers says about a history.
type Judged struct {
	Verdict    Verdict     `json:"verdict"`
	Judgements []Judgement `json:"judgements"`
	// Anomalies starts with the first of each class. The others follow, ordered by Anomaly.To, at most 100 of each
	// class.
	Anomalies []Anomaly     `json:"anomalies"`
	Totals    map[Class]int `json:"totals"`    // number of all violations by class, not only of those kept
	Certified int           `json:"certified"` // number of anomalies that porcupine, a second checker, confirmed

	// Situations that could have been met, each with the number of times that it was met; 0: never.
	Situations []Situation `json:"situations,omitempty"`

	// Findings counts double grants and lost writes, including those that Anomalies omits. It is ordered by Finding.At,
	// then by Finding.Class.
	Findings []Finding `json:"-"`
}

// Finding counts violations of one class that happened at nearly the same time.
type Finding struct {
	Class Class
	At    time.Duration // time on the run's clock, rounded down to a multiple of findingsWithin
	Count int
}

// findingsWithin is the interval in which violations of a class are counted together, so that thousands take little
// memory.
const findingsWithin = 10 * time.Millisecond

// finding returns the Finding that counts the anomaly, with Count still 0. Finding.At is the time when the violation
// was complete or, for a lost write, when the first of the anomaly's writes was acknowledged.
func (a Anomaly) finding() Finding {
	at := a.To
	if a.Class == LostWrite && len(a.Ops) > 0 {
		at = a.Ops[0].Return
	}
	return Finding{Class: a.Class, At: at.Truncate(findingsWithin)}
}

// Judge runs checkers over h, all in one pass. The verdict is the worst of the checkers' verdicts, where judgements
// that are NotNeeded do not count. A checker that panics gets the verdict Unknown. A history with an
// [EventClockUntrusted] is Unknown, and its violations are dropped.
func Judge(ctx context.Context, h History, checkers []Checker) Judged {
	j := &judge{
		h: h, faults: Influences(h.Faults), found: map[Class]int{}, findings: map[Finding]int{},
		Judged: Judged{Judgements: make([]Judgement, len(checkers)), Totals: map[Class]int{}},
	}
	feeds := make([]chan []entry, len(checkers))
	var running sync.WaitGroup
	for i, c := range checkers {
		feeds[i] = make(chan []entry, 4)
		running.Go(func() {
			j.Judgements[i] = j.check(ctx, c, feeds[i])
		})
	}
	feedReaders(h.Ops, feeds)
	running.Wait()
	var verdicts []Verdict
	for _, g := range j.Judgements {
		j.Situations = append(j.Situations, g.Situations...)
		if !g.NotNeeded {
			verdicts = append(verdicts, g.Verdict)
		}
	}
	j.Verdict = Worst(verdicts...)
	j.sortAnomalies()
	j.listFindings()
	j.distrustClocks(h.Events)
	return j.Judged
}

// distrustClocks drops all violations if the run's times are in doubt, since every checker relies on them.
func (j *Judged) distrustClocks(events []Event) {
	i := slices.IndexFunc(events, func(e Event) bool { return e.Kind == EventClockUntrusted })
	if i < 0 {
		return
	}
	why := fmt.Sprintf("%s: %s: all recorded times are in doubt", events[i].Node, events[i].Detail)
	for n, g := range j.Judgements {
		if g.Verdict == Invalid {
			j.Judgements[n].Verdict, j.Judgements[n].Reason = Unknown,
				"the recorded times show a violation, but they are in doubt"
		}
	}
	j.Judgements = append(j.Judgements, Judgement{Checker: "clocks", Verdict: Unknown, Reason: why})
	j.Verdict, j.Anomalies, j.Totals, j.Certified, j.Findings = Unknown, nil, map[Class]int{}, 0, nil
}

// sortAnomalies moves the first anomaly of each class to the front, so that a reader sees every class at once. The
// class with the most violations leads. The other anomalies follow, ordered by Anomaly.To, the time of completion.
func (j *Judged) sortAnomalies() {
	slices.SortStableFunc(j.Anomalies, func(a, b Anomaly) int { return cmp.Compare(a.To, b.To) })
	var first, rest []Anomaly
	seen := map[Class]bool{}
	for _, a := range j.Anomalies {
		if seen[a.Class] {
			rest = append(rest, a)
			continue
		}
		seen[a.Class] = true
		first = append(first, a)
	}
	slices.SortStableFunc(first, func(a, b Anomaly) int { return cmp.Compare(j.Totals[b.Class], j.Totals[a.Class]) })
	j.Anomalies = append(first, rest...)
}

// Summary returns the verdict in one line, with the number of violations by class and the reasons of judgements in
// doubt.
func (j Judged) Summary() string {
	var parts []string
	for class, n := range j.Totals {
		parts = append(parts, fmt.Sprintf("%d %s", n, class))
	}
	slices.Sort(parts)
	for _, g := range j.Judgements {
		if g.InDoubt() {
			parts = append(parts, g.Checker+": "+g.Reason)
		}
	}
	if len(parts) == 0 {
		return j.Verdict.String()
	}
	return j.Verdict.String() + " (" + strings.Join(parts, "; ") + ")"
}

type judge struct {
	h        History
	faults   []Influence
	mu       sync.Mutex
	found    map[Class]int   // number of anomalies by class, including those beyond maxAnomalies
	findings map[Finding]int // number of double grants and lost writes, by a Finding whose Count is 0
	Judged
}

// check runs one checker on its feed. It reads the feed to its end even if the checker panics, so that the other
// checkers can go on.
func (j *judge) check(ctx context.Context, c Checker, feed <-chan []entry) (g Judgement) {
	defer func() {
		if p := recover(); p != nil {
			g = Judgement{Checker: c.Name(), Verdict: Unknown, Reason: fmt.Sprintf("the checker panicked: %v", p)}
		}
		for range feed {
		}
	}()
	h := j.h
	h.Ops = j.ops(feed)
	g = c.Check(ctx, h, j.addAnomaly)
	g.Checker = c.Name()
	return g
}

// ops returns a checker's view of the operations. The first loop over it is the pass that all checkers share. Each
// further loop reads the history again.
func (j *judge) ops(feed <-chan []entry) iter.Seq2[Op, error] {
	shared := true
	return func(yield func(Op, error) bool) {
		if shared {
			shared = false
			opsFrom(feed)(yield)
			return
		}
		for range feed { // drain it: the shared pass waits for every checker
		}
		j.h.Ops(yield)
	}
}

// listFindings lists the findings that were counted, in order of time and class.
func (j *judge) listFindings() {
	for one, n := range j.findings {
		one.Count = n
		j.Findings = append(j.Findings, one)
	}
	slices.SortFunc(j.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Class, b.Class))
	})
}

// addAnomaly counts one anomaly. It keeps the first maxAnomalies of each class, with the faults that may explain them.
func (j *judge) addAnomaly(a Anomaly) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if a.Certified {
		j.Certified++
	}
	j.Totals[a.Class] += a.Violations()
	if a.Class == DoubleGrant || a.Class == LostWrite { // failovers are charged with these
		j.findings[a.finding()] += a.Violations()
	}
	if j.found[a.Class]++; j.found[a.Class] > maxAnomalies {
		return
	}
	for _, f := range j.faults {
		if f.Overlaps(a.From, a.To) {
			a.Faults = append(a.Faults, f.Name)
		}
	}
	j.Anomalies = append(j.Anomalies, a)
}

// entry is an operation, or the error that ends a history.
type entry struct {
	op  Op
	err error
}

// feedReaders reads ops once and feeds every reader.
func feedReaders(ops iter.Seq2[Op, error], feeds []chan []entry) {
	const size = 512
	batch := make([]entry, 0, size)
	send := func() {
		for _, f := range feeds {
			f <- batch
		}
		batch = make([]entry, 0, size)
	}
	for op, err := range ops {
		batch = append(batch, entry{op, err})
		if len(batch) == size || err != nil {
			send()
		}
		if err != nil {
			break
		}
	}
	send()
	for _, f := range feeds {
		close(f)
	}
}

func opsFrom(feed <-chan []entry) iter.Seq2[Op, error] {
	return func(yield func(Op, error) bool) {
		for batch := range feed {
			for _, e := range batch {
				if !yield(e.op, e.err) {
					return
				}
			}
		}
	}
}
