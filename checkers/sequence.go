package checkers

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// Sequence returns the checker of sequence numbers: unique, and never smaller than one that was returned before.
//
// A number that two ok calls on one Key returned is a [harness.DuplicateNumber], against the first that returned it. An ok
// call that was made after another had returned a larger number (a.Return < b.Call, a > b) is a [harness.Regression],
// against the largest such number. A call may be both. Calls that ended in info may have drawn a number: gaps are fine.
// Source: soundness rule 4.
//
// Results are non-negative decimal numbers of any length, compared as such and never as floats; leading zeros do not
// count. A Result that is something else makes the verdict Unknown, if nothing worse was found.
//
// A number may come back at any time, so memory is linear: about 170 bytes a call. Time is O(log n) a call.
func Sequence() harness.Checker { return sequence{} }

type sequence struct{}

func (sequence) Name() string { return "sequence" }

func (c sequence) Check(ctx context.Context, h harness.History, found func(harness.Anomaly)) harness.Judgement {
	p := &sequencePass{tally: newTally(h, found), series: map[string]*series{}}
	err := each(ctx, h, p.op)
	return p.judge(judgement{
		name: c.Name(), err: err, figures: p.figures(),
		valid:  fmt.Sprintf("%d numbers, none twice and none smaller than one returned before its call", p.drawn),
		absent: []string{none(p.calls, harness.Next)}, doubts: []string{p.oddities.doubt()},
	})
}

// sequencePass is one pass over a history.
type sequencePass struct {
	*tally
	series         map[string]*series
	calls, drawn   int // all of them; those that returned a number for certain
	oddities       oddities
	firstDuplicate int // the smallest ordinal of a duplicate in its series; 0: none
}

func (p *sequencePass) op(x harness.Op) {
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
		s = &series{key: x.Key, first: map[number]int32{}}
		p.series[x.Key] = s
	}
	this := s.add(x, n)
	if first, twice := s.first[n]; twice {
		if p.firstDuplicate == 0 || this+1 < p.firstDuplicate {
			p.firstDuplicate = this + 1
		}
		p.add(s.duplicate(int(first), this, x))
	} else {
		s.first[n] = int32(this)
	}
	if largest, ok := s.largestBefore(x.Call); ok && s.draws[largest].number.compare(n) > 0 {
		p.add(s.regression(largest, this, x))
	}
	s.raise(this)
}

func (p *sequencePass) figures() []harness.Figure {
	out := []harness.Figure{
		figure("calls", p.calls),
		figure("duplicates", p.counts[harness.DuplicateNumber]),
		figure("regressions", p.counts[harness.Regression]),
	}
	if p.firstDuplicate > 0 {
		out = append(out, figure("first duplicate at call", p.firstDuplicate))
	}
	return out
}

// series is what one key has returned, in order of Return.
type series struct {
	key     string
	draws   []draw
	first   map[number]int32 // the first draw of each number
	largest []int32          // the draws that were larger than all before them
}

// draw is one ok call, with what it takes to show it again.
type draw struct {
	number              number
	arg, result         string
	client              int
	ttl, call, returned time.Duration
}

func (s *series) add(x harness.Op, n number) int {
	s.draws = append(s.draws, draw{n, x.Arg, x.Result, x.Client, x.TTL, x.Call, x.Return})
	return len(s.draws) - 1
}

// raise notes draw i if it is the largest so far.
func (s *series) raise(i int) {
	if n := len(s.largest); n == 0 || s.draws[s.largest[n-1]].number.compare(s.draws[i].number) < 0 {
		s.largest = append(s.largest, int32(i))
	}
}

// largestBefore finds the draw of the largest number that had returned before t.
func (s *series) largestBefore(t time.Duration) (int, bool) {
	n, _ := slices.BinarySearchFunc(s.largest, t, func(i int32, t time.Duration) int {
		return cmp.Compare(s.draws[i].returned, t)
	})
	if n == 0 {
		return 0, false
	}
	return int(s.largest[n-1]), true
}

func (s *series) duplicate(first, this int, x harness.Op) harness.Anomaly {
	return s.anomaly(harness.DuplicateNumber, first, x, fmt.Sprintf(
		"call %d of %s returned %s, which call %d had returned", this+1, s.key, x.Result, first+1))
}

func (s *series) regression(largest, this int, x harness.Op) harness.Anomaly {
	return s.anomaly(harness.Regression, largest, x, fmt.Sprintf(
		"call %d of %s returned %s, after call %d had returned %s", this+1, s.key, x.Result, largest+1, s.draws[largest].result))
}

func (s *series) anomaly(class harness.Class, earlier int, x harness.Op, note string) harness.Anomaly {
	before := s.op(earlier)
	return harness.Anomaly{
		Class: class, Key: s.key, Note: note, From: min(before.Call, x.Call), To: x.Return,
		Ops: []harness.Op{before, x},
	}
}

// op is draw i as it was recorded.
func (s *series) op(i int) harness.Op {
	d := s.draws[i]
	return harness.Op{
		Client: d.client, Kind: harness.Next, Key: s.key, Arg: d.arg, Result: d.result,
		TTL: d.ttl, Call: d.call, Return: d.returned, Outcome: harness.OK,
	}
}

// number is a non-negative decimal number of any length without leading zeros.
type number string

// parseNumber reads a non-negative decimal number; leading zeros count for nothing.
func parseNumber(s string) (number, bool) {
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return "", false
	}
	if s = strings.TrimLeft(s, "0"); s == "" {
		s = "0"
	}
	return number(s), true
}

// oddities counts results that are no numbers.
type oddities struct {
	n     int
	first string // what the first of them said
}

func (o *oddities) add(x harness.Op) {
	if o.n++; o.n == 1 {
		o.first = fmt.Sprintf("%s was given %q at %s", who(x.Client), x.Result, moment(x.Return))
	}
}

// doubt is the doubt that comes from them.
func (o oddities) doubt() string {
	if o.n == 0 {
		return ""
	}
	return fmt.Sprintf("%d results are no decimal numbers, the first: %s", o.n, o.first)
}

// compare orders numbers by their value: the longer is the larger, and those of one length compare by their digits.
func (n number) compare(m number) int {
	if c := cmp.Compare(len(n), len(m)); c != 0 {
		return c
	}
	return cmp.Compare(n, m)
}
