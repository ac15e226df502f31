package checkers

import (
	"context"
	"fmt"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/units"
)

// Sequence returns the checker of sequence numbers: each is unique, and none is smaller than one returned before its
// call.
//
// A number that two ok calls on one Key returned is a [harness.DuplicateNumber]. It is reported against an earlier call
// that returned it. An ok call b is a [harness.Regression] if a call a had returned a larger number before b was called
// (a.Return < b.Call, a > b). It is reported against the largest such number. A call may be both. Calls in info may
// have drawn a number, so gaps are fine. Source: soundness rule 4.
//
// Results are non-negative decimal numbers of any length, compared as such and never as floats. Leading zeros do not
// count. A Result that is something else makes the verdict Unknown if nothing worse was found.
//
// A number may come back at any time, so all numbers are kept, in Roaring bitmaps. They take about a bit per number
// where numbers are dense, and 20 bytes and more where they are sparse. The latest 4,096 to 8,192 draws are kept whole
// as evidence, in 1.5 MB. Of each key the largest numbers since the slowest worker's last operation are kept, at most
// 2,048. A call that more than those overtook is judged at the end, in a second pass over the history. With more than
// 1,000 such calls, or without a second pass, the verdict is Unknown. Time is O(log n) per call.
//
// A duplicate whose first draw is no longer among the latest is counted at once but reported at the end. A second pass
// over the history then finds the first draws of up to 1,000 such duplicates. Beyond that number the later call alone
// is the evidence, and porcupine cannot certify it. The same holds where there is no second pass, as while a run goes
// on. A watcher of a run does not have to wait: an old number is nearly always a regression as well, which is reported
// at once.
func Sequence() harness.Checker { return sequence{} }

type sequence struct{}

func (sequence) Name() string { return "sequence" }

func (c sequence) Check(ctx context.Context, h harness.History, report func(harness.Anomaly)) harness.Judgement {
	p := &sequencePass{tally: newTally(h, report), series: map[string]*series{},
		watermark: watermark{workers: h.Meta.Workers, widened: h.Meta.Widened}}
	err := eachOp(ctx, h, p.op)
	p.recall(ctx, h)
	p.overtaken.retry(ctx, h, harness.Next, p.rejudge)
	return p.judge(judgement{
		name: c.Name(), err: err, figures: p.figures(), byKey: true,
		valid: fmt.Sprintf("%s numbers, none twice and none smaller than one returned before its call",
			units.Count(int64(p.drawn))),
		absent: []string{noneSeen(p.calls, harness.Next)},
		doubts: []string{p.nonNumbers.doubt(), overtakenDoubt(p.overtaken.unjudged, harness.Next)},
	})
}

// sequencePass is one pass over a history.
type sequencePass struct {
	*tally
	watermark      watermark
	series         map[string]*series
	recent         recent
	oldDuplicates  []*oldDuplicate
	overtaken      overtakenCalls
	calls, drawn   int // number of all calls (calls), and of those that certainly returned a number (drawn)
	nonNumbers     nonNumbers
	firstDuplicate int // the smallest ordinal of a duplicate; 0: none
}

func (p *sequencePass) op(x harness.Op) {
	p.watermark.note(x)
	if x.Kind != harness.Next {
		return
	}
	p.calls++
	if x.Outcome != harness.OK {
		return
	}
	number, ok := parseNumber(x.Result)
	if !ok {
		p.nonNumbers.add(x)
		return
	}
	p.drawn++
	p.draw(x, number)
}

// draw adds the number of x to its series and reports what is wrong with it.
func (p *sequencePass) draw(x harness.Op, n number) {
	s := entry(p.series, x.Key)
	s.draws++
	this := draw{Op: x, value: s.value(n), ordinal: s.draws}
	p.addNumber(this)
	if largest := s.largest.returnedBefore(x.Call).top(); largest.number.compare(n) > 0 {
		p.add(regressionOf(largest, peak{Op: x, ordinal: s.draws}))
	} else if s.largest.mayMissLarger(x.Call, n) {
		p.overtaken.add(peak{Op: x, number: n, orderedAfter: x.Call, ordinal: s.draws})
	}
	if s.largest.top().number.compare(n) < 0 {
		s.largest.addIfLarger(peak{Op: x, number: n, ordinal: s.draws}, p.meta, p.watermark.low)
	}
}

// rejudge judges the draw x again, in the second pass. The draw in the parameter before has the largest number that had
// been returned before x was called. rejudge reports x if its number is smaller.
func (p *sequencePass) rejudge(before peaks, x peak) {
	if largest := before.top(); largest.number.compare(x.number) > 0 {
		p.add(regressionOf(largest, x))
	}
}

// addNumber reports the draw if it is a duplicate. It keeps the draw whole unless a draw of the same number is kept
// already.
func (p *sequencePass) addNumber(this draw) {
	if this.numbers.raiseLargest(this.tail) {
		p.recent.add(this)
		return
	}
	if first, twice := p.recent.find(this.value); twice {
		p.noteDuplicate(this)
		p.add(duplicateNumber(first, this))
		return
	}
	if this.numbers.has(this.tail) {
		p.noteDuplicate(this)
		p.keepOldDuplicate(this)
	}
	p.recent.add(this)
}

// noteDuplicate records the ordinal of a draw that is a duplicate, unless a smaller one is recorded already.
func (p *sequencePass) noteDuplicate(this draw) {
	if p.firstDuplicate == 0 || this.ordinal < p.firstDuplicate {
		p.firstDuplicate = this.ordinal
	}
}

func (p *sequencePass) figures() []harness.Figure {
	out := []harness.Figure{
		figureCalls.Count(p.calls),
		figureDuplicateNumbers.Count(p.counts[harness.DuplicateNumber]),
		figureRegressions.Count(p.counts[harness.Regression]),
	}
	if p.firstDuplicate > 0 {
		out = append(out, figureFirstDuplicate.Count(p.firstDuplicate))
	}
	return out
}

// series holds the numbers that one key has returned.
type series struct {
	draws   int                 // number of ok calls that returned a number
	short   numbers             // numbers of up to 19 digits
	long    map[string]*numbers // numbers of more than 19 digits, by the digits before the last 19
	largest peaks
}

// value returns n as a value of the key that the series belongs to.
func (s *series) value(n number) value {
	head, tail := n.splitTail()
	if head == "" {
		return value{&s.short, tail}
	}
	if s.long == nil {
		s.long = map[string]*numbers{}
	}
	return value{entry(s.long, head), tail}
}

func duplicateNumber(first *draw, this draw) harness.Anomaly {
	return pairAnomaly(harness.DuplicateNumber, first.Op, this.Op, fmt.Sprintf(
		"call %d of %s returned %s, which call %d had returned", this.ordinal, this.Key, this.Result, first.ordinal))
}

func regressionOf(largest, this peak) harness.Anomaly {
	return pairAnomaly(harness.Regression, largest.Op, this.Op, fmt.Sprintf(
		"call %d of %s returned %s, after call %d had returned %s", this.ordinal, this.Key, this.Result,
		largest.ordinal, largest.Result))
}
