package checkers

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// Dedup returns the checker of message deduplication: inside the window of a message one worker is told that it is new.
//
// An ok claim with the result [harness.ResultFirst] marks its Key from some time in [Call, Return] until
// Call + TTL*(1-Meta.Drift) at least; TTL 0 marks it for ever. Two of them, F and S, are a violation if S returned before
// F's mark could be gone and F returned before S's could: neither order explains both. The second condition matters only for
// a claim that was under way for longer than its window, whose mark may have come and gone before F was called. Claims that
// ended in info may or may not have marked. Sources: soundness rules 2 and 3.
//
// Every further claim is one violation, against the earliest one in force. Messages whose window has passed are forgotten:
// time is O(1) amortised, memory is bounded by twice the messages in their window.
func Dedup() harness.Checker { return dedup{} }

type dedup struct{}

func (dedup) Name() string { return "dedup" }

func (c dedup) Check(ctx context.Context, h harness.History, found func(harness.Anomaly)) harness.Judgement {
	p := &dedupPass{tally: newTally(h, found), marks: map[string][]harness.Op{}}
	err := each(ctx, h, p.op)
	return p.judge(judgement{
		name: c.Name(), err: err, figures: p.figures(),
		valid:  fmt.Sprintf("none of %d messages was new twice", p.messages),
		doubts: []string{none(p.claims, harness.Claim)},
	})
}

// dedupPass is one pass over a history.
type dedupPass struct {
	*tally
	marks                map[string][]harness.Op // by message: the claims in force, in order of Return
	swept                int                     // messages left by the last sweep
	claims               int
	messages, duplicates int
}

func (p *dedupPass) op(x harness.Op) {
	if x.Kind != harness.Claim {
		return
	}
	p.claims++
	if x.Outcome != harness.OK || x.Result != harness.ResultFirst {
		return
	}
	marks := slices.DeleteFunc(p.marks[x.Key], func(m harness.Op) bool { return p.past(m, x) })
	if i := slices.IndexFunc(marks, func(m harness.Op) bool { return m.Return < p.end(x) }); i >= 0 {
		p.duplicates++
		p.add(duplicate(marks[i], x))
	} else {
		p.messages++
	}
	p.marks[x.Key] = append(marks, x)
	p.sweep(x)
}

// end is the earliest time at which the mark of x can be gone.
func (p *dedupPass) end(x harness.Op) time.Duration { return leaseEnd(x.Call, x.TTL, p.meta.Drift) }

// past reports whether the mark of m can be gone when now returns.
func (p *dedupPass) past(m, now harness.Op) bool { return p.end(m) <= now.Return }

// sweep forgets what is past, each time that the messages have doubled.
func (p *dedupPass) sweep(now harness.Op) {
	if len(p.marks) < 2*p.swept+1024 {
		return
	}
	for key, marks := range p.marks {
		marks = slices.DeleteFunc(marks, func(m harness.Op) bool { return p.past(m, now) })
		if len(marks) == 0 {
			delete(p.marks, key)
		} else {
			p.marks[key] = marks
		}
	}
	p.swept = len(p.marks)
}

// figures counts; a message that comes again after its window counts as another one.
func (p *dedupPass) figures() []harness.Figure {
	out := []harness.Figure{figure("messages", p.messages), figure("duplicates", p.duplicates)}
	if p.messages > 0 {
		per := 1000 * float64(p.duplicates) / float64(p.messages)
		out = append(out, harness.Figure{Name: "duplicates per 1000 messages", Value: per})
	}
	return out
}

func duplicate(first, second harness.Op) harness.Anomaly {
	return harness.Anomaly{
		Class: harness.DuplicateDelivery, Key: first.Key, From: min(first.Call, second.Call), To: second.Return,
		Ops: []harness.Op{first, second},
		Note: fmt.Sprintf("clients %d and %d were both told that %s is new, at %s and at %s, inside its window of %s",
			first.Client, second.Client, first.Key, moment(first.Return), moment(second.Return), windowName(first)),
	}
}

func windowName(claim harness.Op) string {
	if claim.TTL == 0 {
		return "all time"
	}
	return claim.TTL.String()
}
