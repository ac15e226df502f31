package checkers

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// Stored returns the checker of what is stored for sequences: it only grows, knows of every number that was issued, and
// keeps its end.
//
// An ok Inspect shows the number stored for its Key ("" for none, which is smaller than any) and the TTL that is left (0 for
// no end). Let J be the inspection of the key before I, with J.Return < I.Call. Then I shows
//
//   - a [harness.SequenceRestart] if its number is smaller than J's;
//   - a [harness.TTLLost] if it has a number and TTL 0, while J had a TTL;
//   - a [harness.ReturnedNotStored] if an ok Next N with N.Return < I.Call returned a larger number, and no inspection
//     before I has shown one as large: that would be the restart's doing. It is reported when it begins, and again only
//     after an inspection that did not show it.
//
// None of that is said of an I that returned when the sequence may have come to its end. That is, at the earliest,
//
//   - J.Call + TTL*(1-Meta.Drift) for the TTL that J showed (J.Call if it showed a millisecond, which may stand for less);
//   - the same for the TTL of a Next before J that ended in info, or returned at J.Call or later, as it may set its end after J;
//   - max(J.Call, N.Call) + TTL*(1-Meta.Drift) for a Next N that returned after J. It may have been called before I had returned, and
//     return after it.
//
// What was issued and shown before is then forgotten, as is every Next called by I.Return: it may have been executed
// before the end. So are Nexts called by the Return of an inspection that found nothing of a sequence that was seen to
// have a TTL: the library may have sent them earlier, too, to no answer. So is a Next whose TTL can have been over when
// an inspection found nothing. A sequence is taken to have one TTL, which no operation makes shorter. Nexts and
// inspections that ended in info or fail show nothing.
// Sources: "Unique serial numbers" (see workloads); soundness rules 1, 4 and 5.
//
// Numbers are compared as Sequence does; a Result that is no number makes the verdict Unknown, if nothing worse was found,
// and so does a history without inspections or numbers.
//
// Time is O(log n) an operation. Memory is bounded: of each key the latest 1024 to 2048 numbers are kept that were larger
// than all before. More than those, returned while one inspection was under way, hide the earlier ones from it. What a
// sequence with an end shows waits until every worker has had a later operation, or to the end of the record: that is not bounded.
func Stored() harness.Checker { return stored{} }

type stored struct{}

func (stored) Name() string { return "stored" }

func (c stored) Check(ctx context.Context, h harness.History, found func(harness.Anomaly)) harness.Judgement {
	p := &storedPass{tally: newTally(h, found), keys: map[string]*sequenceState{}, mark: watermark{workers: h.Meta.Workers, widened: h.Meta.Widened, ours: true}}
	err := eachOp(ctx, h, p.op)
	undecided := p.decideRest(err == nil && isComplete(h))
	return p.judge(judgement{
		name: c.Name(), err: err,
		valid: fmt.Sprintf("%d inspections: stored numbers never went back, nor behind what was issued, and kept their end",
			p.inspections),
		absent: []string{noneSeen(p.inspections, harness.Inspect), noneSeen(p.numbers, harness.Next), p.tooLate()}, doubts: []string{p.oddities.doubt(), overtakenDoubt(p.unsure, harness.Inspect), undecided},
		figures: []harness.Figure{
			figureInspections.Count(p.inspections), figureNumbers.Count(p.numbers),
			figureRestarts.Count(p.counts[harness.SequenceRestart]), figureNotStored.Count(p.counts[harness.ReturnedNotStored]),
			figureTTLsLost.Count(p.counts[harness.TTLLost]),
		},
	})
}

// storedPass is one pass over a history.
type storedPass struct {
	*tally
	mark                 watermark
	keys                 map[string]*sequenceState
	waiting              map[string][]unended // by key
	decided              time.Duration        // what was seen before is decided
	inspections, numbers int                  // those that were ok
	late                 int                  // inspections of what may have come to its end
	unsure               int                  // inspections of which nothing can be said, as too many numbers came meanwhile
	oddities             oddities
}

// unended is an anomaly of a sequence, unless that has come to its end: it was begun no earlier.
type unended struct {
	harness.Anomaly
	begun time.Duration
}

// sequenceState holds what is known about one sequence.
type sequenceState struct {
	last    peak          // the last inspection
	ends    time.Duration // when it can have come to its end; 0: it does not exist as far as known
	issued  peaks         // by Nexts
	shown   number        // the largest that an inspection showed
	behind  bool          // the last inspection showed less than was issued
	late    time.Duration // the shortest TTL that a Next which ended in info may still set; 0: none
	drawn   harness.Op    // the last Next that was ok; Kind empty: none
	mortal  bool          // it was seen to have a TTL
	endless bool          // a Next gives it none, so no other does
	ended   time.Duration // the Return of the last inspection that may have met its end; -1: none
	empty   time.Duration // the Return of the last inspection that found nothing; -1: none
}

func (p *storedPass) op(x harness.Op) {
	p.mark.hear(x)
	p.decide(x)
	if x.Kind != harness.Next && x.Kind != harness.Inspect || x.Outcome == harness.Fail {
		return
	}
	r := p.keys[x.Key]
	if r == nil {
		r = &sequenceState{ended: -1, empty: -1}
		p.keys[x.Key] = r
	}
	if x.Kind == harness.Next {
		r.begin(x, p.meta.Drift)
		r.mortal, r.endless = r.mortal || x.TTL > 0, r.endless || x.TTL == 0
		if x.Outcome == harness.Info && x.TTL > 0 && (r.late == 0 || x.TTL < r.late) {
			r.late = x.TTL
		}
	}
	if x.Outcome != harness.OK {
		return
	}
	n, ok := parseNumber(x.Result)
	switch {
	case !ok && (x.Kind == harness.Next || x.Result != ""):
		p.oddities.add(x)
	case x.Kind == harness.Next:
		p.numbers++
		r.drawn = x
		if !r.mayPrecedeEnd(x, p.meta.Drift) {
			r.issued.addIfLarger(peak{Op: x, number: n}, p.meta, p.mark.low)
		}
	default:
		p.inspections++
		p.inspect(r, peak{Op: x, number: n})
	}
}

// mayPrecedeEnd reports whether x, a Next, may have been issued before the sequence came to an end that an inspection met.
func (r *sequenceState) mayPrecedeEnd(x harness.Op, drift float64) bool {
	return x.Call <= r.ended || harness.EarliestEnd(x.Call, x.TTL, drift) <= r.empty
}

// begin notes when the sequence can have come to its end, if it was x, a Next, that began it after the last inspection.
func (r *sequenceState) begin(x harness.Op, drift float64) {
	r.endNoLaterThan(harness.EarliestEnd(max(x.Call, r.last.Call), x.TTL, drift))
}

// endNoLaterThan notes that the sequence can have come to its end at t.
func (r *sequenceState) endNoLaterThan(t time.Duration) { r.ends = min(r.end(), max(1, t)) } // 0: none is known

// end returns when the sequence can have come to its end.
func (r *sequenceState) end() time.Duration {
	if r.ends == 0 {
		return forever
	}
	return r.ends
}

// inspect judges the inspection i, and makes it the last one.
func (p *storedPass) inspect(r *sequenceState, i peak) {
	if r.ends > 0 && i.Return >= r.ends {
		p.late++
		*r = sequenceState{late: r.late, drawn: r.drawn, mortal: r.mortal, endless: r.endless, ended: i.Return, empty: r.empty}
	}
	if r.last.Kind != "" && r.last.Return < i.Call {
		p.compare(r, i)
	}
	n := r.issued.returnedBefore(i.Call).top()
	behind := n.number.compare(i.number) > 0 && n.number.compare(r.shown) > 0
	if !behind && r.issued.unsure(i.Call, i.number) {
		p.unsure++
	}
	if behind && !r.behind {
		p.addUnlessEnded(r, 0, pairAnomaly(harness.ReturnedNotStored, n.Op, i.Op, fmt.Sprintf("%s was given %s of %s by %s, but at %s %s is stored",
			clientName(n.Client), n.Result, i.Key, formatTime(n.Return), formatTime(i.Return), numberName(i))))
	}
	r.behind, r.last, r.ends = behind, i, 0
	if i.number != "" {
		r.endNoLaterThan(earliestEndOfTTL(i.Call, i.TTL, p.meta.Drift))
	}
	if r.late > 0 {
		r.endNoLaterThan(harness.EarliestEnd(i.Call, r.late, p.meta.Drift))
	}
	if r.drawn.Return >= i.Call {
		r.endNoLaterThan(harness.EarliestEnd(i.Call, r.drawn.TTL, p.meta.Drift))
	}
	if i.number.compare(r.shown) > 0 {
		r.shown = i.number
	}
	r.mortal = r.mortal || i.TTL > 0
	if i.number == "" {
		r.empty = i.Return
		if r.mortal {
			r.issued, r.ended = nil, i.Return
		}
	}
}

// addUnlessEnded reports a, once it is certain that no Next which is under way began the sequence so early, but not before then, that it had come to
// its end when a ends. What has no end is reported at once.
func (p *storedPass) addUnlessEnded(r *sequenceState, then time.Duration, a harness.Anomaly) {
	if r.endless {
		p.add(a)
		return
	}
	if p.waiting == nil {
		p.waiting = map[string][]unended{}
	}
	p.waiting[a.Key] = append(p.waiting[a.Key], unended{a, then})
}

// decide drops what x may explain, a Next that has just returned, and reports what no Next to come can explain.
func (p *storedPass) decide(x harness.Op) {
	if all := p.waiting[x.Key]; len(all) > 0 && x.Kind == harness.Next && x.Outcome != harness.Fail {
		p.waiting[x.Key] = slices.DeleteFunc(all, func(a unended) bool {
			return harness.EarliestEnd(max(x.Call, a.begun), x.TTL, p.meta.Drift) <= a.To
		})
	}
	if p.mark.low > p.decided {
		p.decided = p.mark.low
		p.report(p.decided)
	}
}

// report reports what waits and was seen by then.
func (p *storedPass) report(then time.Duration) {
	for _, key := range slices.Sorted(maps.Keys(p.waiting)) {
		p.waiting[key] = slices.DeleteFunc(p.waiting[key], func(a unended) bool {
			if a.To <= then {
				p.add(a.Anomaly)
			}
			return a.To <= then
		})
		if len(p.waiting[key]) == 0 {
			delete(p.waiting, key)
		}
	}
}

// decideRest reports what still waits, if nothing was under way when the record stopped, and returns a doubt otherwise.
func (p *storedPass) decideRest(complete bool) string {
	if complete {
		p.report(forever)
	}
	left := 0
	for _, all := range p.waiting {
		left += len(all)
	}
	if left == 0 {
		return ""
	}
	return fmt.Sprintf("the record stops before it was known of what %d inspections showed whether their sequence had ended", left)
}

// compare judges the inspection i by the one before it.
func (p *storedPass) compare(r *sequenceState, i peak) {
	last := r.last
	if i.number.compare(last.number) < 0 {
		p.addUnlessEnded(r, last.Call, pairAnomaly(harness.SequenceRestart, last.Op, i.Op, fmt.Sprintf("%s went back: %s was stored at %s, %s at %s",
			i.Key, numberName(last), formatTime(last.Return), numberName(i), formatTime(i.Return))))
	}
	if i.number != "" && i.TTL == 0 && last.TTL > 0 {
		p.addUnlessEnded(r, last.Call, pairAnomaly(harness.TTLLost, last.Op, i.Op, fmt.Sprintf("%s had %s left at %s, and no end any more at %s",
			i.Key, last.TTL, formatTime(last.Return), formatTime(i.Return))))
	}
}

// tooLate returns a doubt if the history shows nothing because its sequences may have ended before they were looked at.
func (p *storedPass) tooLate() string {
	if p.late == 0 || p.late < p.inspections {
		return ""
	}
	return fmt.Sprintf("all of %d inspections came when the TTL may have been over", p.late)
}

func numberName(i peak) string {
	if i.number == "" {
		return "nothing"
	}
	return i.Result
}
