package checkers

import (
	"context"
	"fmt"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/units"
)

// Sequence returns the checker of sequence numbers: unique, and never smaller than one that was returned before.
//
// A number that two ok calls on one Key returned is a [harness.DuplicateNumber], against an earlier call that returned it. An
// ok call that was made after another had returned a larger number (a.Return < b.Call, a > b) is a [harness.Regression],
// against the largest such number. A call may be both. Calls that ended in info may have drawn a number: gaps are fine.
// Source: soundness rule 4.
//
// Results are non-negative decimal numbers of any length, compared as such and never as floats; leading zeros do not
// count. A Result that is something else makes the verdict Unknown, if nothing worse was found.
//
// A number may come back at any time, so all are kept, in Roaring bitmaps: about a bit a number where they follow each
// other, 20 bytes and more where each lies alone. Beside them are kept whole the latest 4,096 to 8,192 draws, 1.5 MB, to be the
// evidence, and of each key the largest numbers since the slowest worker's last operation, 2,048 at most. A call that more
// than those overtook is judged at the end, in a second pass over the history; of more than 1,000 such, and where there
// is no second pass, the verdict is Unknown. Time is O(log n) a call.
//
// A duplicate whose first draw is no longer among the latest is found at once, but reported at the end, when a second pass over
// the history looks for the first draws of the first 1,000 such. Beyond that number, and where there is no second pass, as while
// a run goes on, the later call alone is the evidence, which porcupine cannot certify. A watcher of a run does not wait for
// that: an old number is nearly always a regression as well, which is reported at once.
func Sequence() harness.Checker { return sequence{} }

type sequence struct{}

func (sequence) Name() string { return "sequence" }

func (c sequence) Check(ctx context.Context, h harness.History, found func(harness.Anomaly)) harness.Judgement {
	p := &sequencePass{tally: newTally(h, found), series: map[string]*series{}, mark: watermark{workers: h.Meta.Workers, widened: h.Meta.Widened}}
	err := eachOp(ctx, h, p.op)
	p.recall(ctx, h)
	p.late.retry(ctx, h, harness.Next, p.rejudge)
	return p.judge(judgement{
		name: c.Name(), err: err, figures: p.figures(), byKey: true,
		valid:  fmt.Sprintf("%s numbers, none twice and none smaller than one returned before its call", units.Count(int64(p.drawn))),
		absent: []string{noneSeen(p.calls, harness.Next)}, doubts: []string{p.oddities.doubt(), overtakenDoubt(p.late.unsure, harness.Next)},
	})
}

// sequencePass is one pass over a history.
type sequencePass struct {
	*tally
	mark           watermark
	series         map[string]*series
	recent         recent
	old            []*oldDuplicate
	late           lateCalls
	calls, drawn   int // all of them; those that returned a number for certain
	oddities       oddities
	firstDuplicate int // the smallest ordinal of a duplicate in its series; 0: none
}

func (p *sequencePass) op(x harness.Op) {
	p.mark.hear(x)
	if x.Kind != harness.Next {
		return
	}
	p.calls++
	if x.Outcome != harness.OK {
		return
	}
	number, ok := parseNumber(x.Result)
	if !ok {
		p.oddities.add(x)
		return
	}
	p.drawn++
	p.draw(x, number)
}

// draw puts one number into its series and reports what is wrong with it.
func (p *sequencePass) draw(x harness.Op, n number) {
	s := p.series[x.Key]
	if s == nil {
		s = &series{}
		p.series[x.Key] = s
	}
	s.draws++
	this := draw{Op: x, value: s.value(n), ordinal: s.draws}
	p.checkNew(this)
	if largest := s.largest.returnedBefore(x.Call).top(); largest.number.compare(n) > 0 {
		p.add(regressionOf(largest, peak{Op: x, ordinal: s.draws}))
	} else if s.largest.unsure(x.Call, n) {
		p.late.add(peak{Op: x, number: n, after: x.Call, ordinal: s.draws})
	}
	if s.largest.top().number.compare(n) < 0 {
		s.largest.addIfLarger(peak{Op: x, number: n, ordinal: s.draws}, p.meta, p.mark.low)
	}
}

// rejudge holds x against the largest number that had returned before its call.
func (p *sequencePass) rejudge(before peaks, x peak) {
	if largest := before.top(); largest.number.compare(x.number) > 0 {
		p.add(regressionOf(largest, x))
	}
}

// checkNew checks whether a number is new, and keeps the draw if no other draw of it is kept.
func (p *sequencePass) checkNew(this draw) {
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

// noteDuplicate notes a duplicate.
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

// series holds what one key has returned.
type series struct {
	draws   int
	short   numbers             // those of up to 19 digits
	long    map[string]*numbers // the others, by what comes before the last 19 digits
	largest peaks
}

// value returns the number n of the series.
func (s *series) value(n number) value {
	head, tail := n.splitTail()
	if head == "" {
		return value{&s.short, tail}
	}
	in := s.long[head]
	if in == nil {
		if s.long == nil {
			s.long = map[string]*numbers{}
		}
		in = &numbers{}
		s.long[head] = in
	}
	return value{in, tail}
}

func duplicateNumber(first *draw, this draw) harness.Anomaly {
	return pairAnomaly(harness.DuplicateNumber, first.Op, this.Op, fmt.Sprintf(
		"call %d of %s returned %s, which call %d had returned", this.ordinal, this.Key, this.Result, first.ordinal))
}

func regressionOf(largest, this peak) harness.Anomaly {
	return pairAnomaly(harness.Regression, largest.Op, this.Op, fmt.Sprintf(
		"call %d of %s returned %s, after call %d had returned %s", this.ordinal, this.Key, this.Result, largest.ordinal, largest.Result))
}
