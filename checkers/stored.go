package checkers

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// Stored returns the checker of the numbers that are stored for sequences. A stored number only grows, covers every
// number issued, and keeps its TTL.
//
// An ok Inspect shows the number stored for its Key and the remaining TTL. If no number is stored, it shows "", which
// is smaller than any number. If there is no TTL, it shows 0. Let J be the inspection of the key before I, with
// J.Return < I.Call. Then I shows
//
//   - a [harness.SequenceRestart] if its number is smaller than J's;
//   - a [harness.TTLLost] if it has a number and TTL 0, while J had a TTL;
//   - a [harness.ReturnedNotStored] if an ok Next N with N.Return < I.Call returned a larger number, and no inspection
//     before I has shown so large a number. If one has, I shows a restart instead. The anomaly is reported when an
//     inspection first shows it, and again only after an inspection that did not show it.
//
// None of these is reported if the sequence may have ended by the Return of I. The earliest end of the sequence is the
// first of
//
//   - J.Call + TTL*(1-Meta.Drift) for the TTL that J showed, or J.Call if J showed a millisecond, which may stand for
//     less;
//   - the same for the TTL of a Next before J that may set its TTL after J: it ended in info, or returned at J.Call or
//     later;
//   - max(J.Call, N.Call) + TTL*(1-Meta.Drift) for a Next N that returned after J. N may also return after I, if it was
//     called before I returned.
//
// If the sequence may have ended by the Return of I, the numbers issued and shown before are forgotten. A Next that was
// called by then may have been executed before the end, so its number is forgotten, too. If an inspection finds nothing
// of a sequence that was seen to have a TTL, every Next called by its Return is forgotten, since the library may have
// sent it earlier without an answer. So is every Next whose TTL can have ended when an inspection found nothing.
//
// The checker assumes that a sequence has one TTL, which no operation shortens. A Next or an inspection that ended in
// info or fail shows nothing. Sources: "Unique serial numbers" (see workloads); soundness rules 1, 4 and 5.
//
// Numbers are compared as Sequence does. A Result that is not a number makes the verdict Unknown if nothing worse was
// found, and so does a history without inspections or numbers.
//
// Time is O(log n) per operation. Memory is bounded by the latest 1,024 to 2,048 numbers of each key that were larger
// than all before. If more than those are returned while one inspection is under way, that inspection may not be
// judged. The verdict is then Unknown unless a violation is found. Findings about a sequence with a TTL wait until
// every worker has had a later operation, or for the end of the record. Their number is not bounded.
func Stored() harness.Checker { return stored{} }

type stored struct{}

func (stored) Name() string { return "stored" }

func (c stored) Check(ctx context.Context, h harness.History, report func(harness.Anomaly)) harness.Judgement {
	p := &storedPass{tally: newTally(h, report), keys: map[string]*sequenceState{},
		awaiting:  map[string][]pendingAnomaly{},
		watermark: watermark{workers: h.Meta.Workers, widened: h.Meta.Widened, heedsHarness: true}}
	err := eachOp(ctx, h, p.op)
	undecidedDoubt := p.end(err == nil && isComplete(h))
	return p.judge(judgement{
		name: c.Name(), err: err,
		valid: fmt.Sprintf("%d inspections: stored numbers never went back, nor behind what was issued, and kept "+
			"their end",
			p.inspections),
		absent: []string{
			noneSeen(p.inspections, harness.Inspect), noneSeen(p.numbers, harness.Next),
			doubtIf(p.inspections > 0 && p.tooLateInspections == p.inspections,
				"all of %d inspections came when the TTL may have been over", p.inspections),
		},
		doubts: []string{p.nonNumbers.doubt(), overtakenDoubt(p.overtaken, harness.Inspect), undecidedDoubt},
		figures: []harness.Figure{
			figureInspections.Count(p.inspections), figureNumbers.Count(p.numbers),
			figureRestarts.Count(p.counts[harness.SequenceRestart]),
			figureNotStored.Count(p.counts[harness.ReturnedNotStored]),
			figureTTLsLost.Count(p.counts[harness.TTLLost]),
		},
	})
}

// storedPass is one pass over a history.
type storedPass struct {
	*tally
	watermark            watermark
	keys                 map[string]*sequenceState
	awaiting             map[string][]pendingAnomaly // findings that wait, by key
	decidedUntil         time.Duration               // findings with a last Return up to this time are decided
	inspections, numbers int                         // number of ok inspections, and of numbers that sequences returned
	tooLateInspections   int                         // inspections that returned when the sequence may have ended
	// number of inspections that cannot be judged, since too many numbers were returned while they were under way
	overtaken  int
	nonNumbers nonNumbers
}

// pendingAnomaly is an anomaly that waits. It is dropped if a later Next shows that its sequence may have ended before:
// the Next may have begun the sequence anew, at the time begunFrom or later, and its TTL may have been over by the
// Return of the anomaly's last operation.
type pendingAnomaly struct {
	harness.Anomaly
	begunFrom time.Duration
}

// sequenceState holds what is known about one sequence.
type sequenceState struct {
	last     peak          // the last inspection
	ends     time.Duration // earliest end of the sequence; 0: it does not exist, as far as known
	issued   peaks         // numbers that Nexts returned
	shown    number        // the largest number that an inspection showed
	behind   bool          // the last inspection showed a smaller number than one that was issued
	lateTTL  time.Duration // the shortest TTL that a Next in info may still set; 0: none
	lastNext harness.Op    // the last ok Next; its Kind is empty if there is none
	hasTTL   bool          // the sequence was seen to have a TTL
	hasNoTTL bool          // a Next set no TTL, from which follows that no Next of the sequence sets one
	endedAt  time.Duration // Return of the last inspection that returned when the sequence may have ended, or noTime
	emptyAt  time.Duration // Return of the last inspection that found nothing, or noTime
}

func (p *storedPass) op(x harness.Op) {
	p.watermark.note(x)
	p.decide(x)
	if x.Kind != harness.Next && x.Kind != harness.Inspect || x.Outcome == harness.Fail {
		return
	}
	r := p.keys[x.Key]
	if r == nil {
		r = &sequenceState{endedAt: noTime, emptyAt: noTime}
		p.keys[x.Key] = r
	}
	if x.Kind == harness.Next {
		r.noteBeginning(x, p.meta.Drift)
		r.hasTTL, r.hasNoTTL = r.hasTTL || x.TTL > 0, r.hasNoTTL || x.TTL == 0
		if x.Outcome == harness.Info && x.TTL > 0 && (r.lateTTL == 0 || x.TTL < r.lateTTL) {
			r.lateTTL = x.TTL
		}
	}
	if x.Outcome != harness.OK {
		return
	}
	n, ok := parseNumber(x.Result)
	switch {
	case !ok && (x.Kind == harness.Next || x.Result != ""):
		p.nonNumbers.add(x)
	case x.Kind == harness.Next:
		p.numbers++
		r.lastNext = x
		if !r.mayPrecedeEnd(x, p.meta.Drift) {
			r.issued.addIfLarger(peak{Op: x, number: n}, p.meta, p.watermark.low)
		}
	default:
		p.inspections++
		p.inspect(r, peak{Op: x, number: n})
	}
}

// forget drops the numbers issued and shown so far. It is called for an inspection that returned at the time t, when
// the sequence may have ended.
func (r *sequenceState) forget(t time.Duration) {
	*r = sequenceState{
		lateTTL:  r.lateTTL,
		lastNext: r.lastNext,
		hasTTL:   r.hasTTL,
		hasNoTTL: r.hasNoTTL,
		endedAt:  t,
		emptyAt:  r.emptyAt,
	}
}

// mayPrecedeEnd reports whether the server may have executed x, a Next, before the sequence last ended. An earlier
// inspection showed that end, or may have come after it.
func (r *sequenceState) mayPrecedeEnd(x harness.Op, drift float64) bool {
	return x.Call <= r.endedAt || harness.EarliestEnd(x.Call, x.TTL, drift) <= r.emptyAt
}

// noteBeginning allows for the case that x, a Next, has begun the sequence anew. The sequence may then end when the TTL
// of x is over, counted from the Call of x or of the last inspection, whichever is later.
func (r *sequenceState) noteBeginning(x harness.Op, drift float64) {
	r.endNoLaterThan(harness.EarliestEnd(max(x.Call, r.last.Call), x.TTL, drift))
}

// endNoLaterThan lowers the earliest end of the sequence to the time t.
func (r *sequenceState) endNoLaterThan(t time.Duration) { r.ends = min(r.earliestEnd(), max(1, t)) } // 0: none is known

// earliestEnd returns the earliest end of the sequence.
func (r *sequenceState) earliestEnd() time.Duration {
	if r.ends == 0 {
		return forever
	}
	return r.ends
}

// inspect judges the inspection i, and makes it the last one of its sequence.
func (p *storedPass) inspect(r *sequenceState, i peak) {
	if r.ends > 0 && i.Return >= r.ends {
		p.tooLateInspections++
		r.forget(i.Return)
	}
	if r.last.Kind != "" && r.last.Return < i.Call {
		p.compare(r, i)
	}
	n := r.issued.returnedBefore(i.Call).top()
	behind := n.number.compare(i.number) > 0 && n.number.compare(r.shown) > 0
	if !behind && r.issued.mayMissLarger(i.Call, i.number) {
		p.overtaken++
	}
	if behind && !r.behind {
		p.addUnlessEnded(r, 0, pairAnomaly(harness.ReturnedNotStored, n.Op, i.Op,
			fmt.Sprintf("%s was given %s of %s by %s, but at %s %s is stored",
				clientName(n.Client), n.Result, i.Key, formatTime(n.Return), formatTime(i.Return), numberName(i))))
	}
	r.behind = behind
	r.last = i
	r.ends = 0
	if i.number != "" {
		r.endNoLaterThan(earliestEndOfTTL(i.Call, i.TTL, p.meta.Drift))
	}
	if r.lateTTL > 0 {
		r.endNoLaterThan(harness.EarliestEnd(i.Call, r.lateTTL, p.meta.Drift))
	}
	if r.lastNext.Return >= i.Call {
		r.endNoLaterThan(harness.EarliestEnd(i.Call, r.lastNext.TTL, p.meta.Drift))
	}
	if i.number.compare(r.shown) > 0 {
		r.shown = i.number
	}
	r.hasTTL = r.hasTTL || i.TTL > 0
	if i.number == "" {
		r.emptyAt = i.Return
		if r.hasTTL {
			r.issued, r.endedAt = nil, i.Return
		}
	}
}

// addUnlessEnded keeps the finding a until no further Next can explain it (see pendingAnomaly), and then reports it. If
// the sequence has no TTL, it reports a at once.
func (p *storedPass) addUnlessEnded(r *sequenceState, begunFrom time.Duration, a harness.Anomaly) {
	if r.hasNoTTL {
		p.add(a)
		return
	}
	p.awaiting[a.Key] = append(p.awaiting[a.Key], pendingAnomaly{a, begunFrom})
}

// decide drops the findings that x explains, if x is a Next that has just returned. Then it reports the findings that
// no later Next can explain.
func (p *storedPass) decide(x harness.Op) {
	if all := p.awaiting[x.Key]; len(all) > 0 && x.Kind == harness.Next && x.Outcome != harness.Fail {
		p.awaiting[x.Key] = slices.DeleteFunc(all, func(a pendingAnomaly) bool {
			return harness.EarliestEnd(max(x.Call, a.begunFrom), x.TTL, p.meta.Drift) <= a.To
		})
	}
	if p.watermark.low > p.decidedUntil {
		p.decidedUntil = p.watermark.low
		p.report(p.decidedUntil)
	}
}

// report reports those waiting findings whose last operation returned at the given time or earlier.
func (p *storedPass) report(until time.Duration) {
	for _, key := range slices.Sorted(maps.Keys(p.awaiting)) {
		p.awaiting[key] = slices.DeleteFunc(p.awaiting[key], func(a pendingAnomaly) bool {
			if a.To <= until {
				p.add(a.Anomaly)
			}
			return a.To <= until
		})
		if len(p.awaiting[key]) == 0 {
			delete(p.awaiting, key)
		}
	}
}

// end reports the remaining findings if the record is complete. Otherwise it returns them as a reason for Unknown.
func (p *storedPass) end(complete bool) string {
	if complete {
		p.report(forever)
	}
	remaining := 0
	for _, all := range p.awaiting {
		remaining += len(all)
	}
	return doubtIf(remaining > 0, "the record stops before it was known of what %d inspections showed whether "+
		"their sequence had ended", remaining)
}

// compare compares the inspection i with the inspection before it, and reports a number that went back or a TTL that
// was lost.
func (p *storedPass) compare(r *sequenceState, i peak) {
	last := r.last
	if i.number.compare(last.number) < 0 {
		p.addUnlessEnded(r, last.Call, pairAnomaly(harness.SequenceRestart, last.Op, i.Op,
			fmt.Sprintf("%s went back: %s was stored at %s, %s at %s",
				i.Key, numberName(last), formatTime(last.Return), numberName(i), formatTime(i.Return))))
	}
	if i.number != "" && i.TTL == 0 && last.TTL > 0 {
		p.addUnlessEnded(r, last.Call, pairAnomaly(harness.TTLLost, last.Op, i.Op,
			fmt.Sprintf("%s had %s left at %s, and no end any more at %s",
				i.Key, last.TTL, formatTime(last.Return), formatTime(i.Return))))
	}
}

func numberName(i peak) string {
	if i.number == "" {
		return "nothing"
	}
	return i.Result
}
