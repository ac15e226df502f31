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
	Verdict    Verdict       `json:"verdict"`
	Judgements []Judgement   `json:"judgements"`
	Anomalies  []Anomaly     `json:"anomalies"` // the first of each class, then others in order of To; at most 100 of a class
	Totals     map[Class]int `json:"totals"`    // number of violations by class, those not kept included
	Certified  int           `json:"certified"` // number of anomalies that porcupine found illegal, too

	Situations []Situation `json:"situations,omitempty"` // situations that were met, and with Count 0 those that could have been

	Found []Finding `json:"-"` // when double grants and lost writes came about, in order of At and Class, those not kept included
}

// Finding counts violations of one class that came about at nearly the same time.
type Finding struct {
	Class Class
	At    time.Duration // on the run's clock, in whole findingsWithin
	Count int
}

// findingsWithin is the time for which violations of a class are counted together, so that thousands take little room.
const findingsWithin = 10 * time.Millisecond

// finding returns the Finding that counts the anomaly, without a Count. A lost write came about when the first of its
// run was acknowledged, any other violation when it was complete.
func (a Anomaly) finding() Finding {
	at := a.To
	if a.Class == LostWrite && len(a.Ops) > 0 {
		at = a.Ops[0].Return
	}
	return Finding{Class: a.Class, At: at.Truncate(findingsWithin)}
}

// Judge runs checkers over h, all in one pass. The verdict is the worst of theirs; judgements that are Unasked do not count. A
// checker that panics has the verdict Unknown. So has a history with an [EventClockUntrusted], and nothing that was found counts.
func Judge(ctx context.Context, h History, checkers []Checker) Judged {
	j := &judge{
		h: h, faults: Influences(h.Faults), kept: map[Class]int{}, when: map[Finding]int{},
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
		if !g.Unasked {
			verdicts = append(verdicts, g.Verdict)
		}
	}
	j.Verdict = Worst(verdicts...)
	j.sortAnomalies()
	j.listFindings()
	j.distrustClocks(h.Events)
	return j.Judged
}

// distrustClocks takes back what was found if the run's times are in doubt: what the checkers say rests on them.
func (j *Judged) distrustClocks(events []Event) {
	i := slices.IndexFunc(events, func(e Event) bool { return e.Kind == EventClockUntrusted })
	if i < 0 {
		return
	}
	why := fmt.Sprintf("%s: %s: every time in the record is in doubt", events[i].Node, events[i].Detail)
	for n, g := range j.Judgements {
		if g.Verdict == Invalid {
			j.Judgements[n].Verdict, j.Judgements[n].Reason = Unknown, "the times of the record show a violation, and they are in doubt"
		}
	}
	j.Judgements = append(j.Judgements, Judgement{Checker: "clocks", Verdict: Unknown, Reason: why})
	j.Verdict, j.Anomalies, j.Totals, j.Certified, j.Found = Unknown, nil, map[Class]int{}, 0, nil
}

// sortAnomalies puts the first anomaly of each class in front, the most frequent class first, and then the rest in order of time, so that
// the beginning shows every class. An anomaly's time is To, when it was complete.
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

// Summary returns the verdict in one line, with the totals of what was found and the reasons of judgements in doubt.
func (j Judged) Summary() string {
	var parts []string
	for class, n := range j.Totals {
		parts = append(parts, fmt.Sprintf("%d %s", n, class))
	}
	slices.Sort(parts)
	for _, g := range j.Judgements {
		if g.Doubt() {
			parts = append(parts, g.Checker+": "+g.Reason)
		}
	}
	if len(parts) == 0 {
		return j.Verdict.String()
	}
	return j.Verdict.String() + " (" + strings.Join(parts, "; ") + ")"
}

type judge struct {
	h      History
	faults []Influence
	mu     sync.Mutex
	kept   map[Class]int   // anomalies found by class, those beyond maxAnomalies included
	when   map[Finding]int // double grants and lost writes, by their Finding without its Count
	Judged
}

// check runs one checker on its feed, and empties the feed whatever the checker does.
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
	g = c.Check(ctx, h, j.found)
	g.Checker = c.Name()
	return g
}

// ops returns a checker's view of the operations: the first range is the shared pass over the history, each further one reads
// the history again.
func (j *judge) ops(feed <-chan []entry) iter.Seq2[Op, error] {
	shared := true
	return func(yield func(Op, error) bool) {
		if shared {
			shared = false
			opsFrom(feed)(yield)
			return
		}
		for range feed { // whom the others wait for
		}
		j.h.Ops(yield)
	}
}

// listFindings lists when violations came about.
func (j *judge) listFindings() {
	for one, n := range j.when {
		one.Count = n
		j.Found = append(j.Found, one)
	}
	slices.SortFunc(j.Found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Class, b.Class))
	})
}

// found counts one anomaly, and keeps the first maxAnomalies of its class, with the faults that may explain them.
func (j *judge) found(a Anomaly) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if a.Certified {
		j.Certified++
	}
	j.Totals[a.Class] += a.Violations()
	if a.Class == DoubleGrant || a.Class == LostWrite { // which belong to failovers
		j.when[a.finding()] += a.Violations()
	}
	if j.kept[a.Class]++; j.kept[a.Class] > maxAnomalies {
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
