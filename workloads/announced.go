package workloads

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// This file is for programs that are not told what to do, such as tests that a user has already. They announce each
// operation and its outcome, over their own connection to Redis.

// AnnouncingProcess is a process that announces its operations, in one schedule.
type AnnouncingProcess interface {
	// Next lets the process go on until its next announcement, and returns that announcement. The second result is
	// false if the process has ended instead. Meanwhile a process with a preloaded clock gets its time from ctx. The
	// error says why the process can no longer be used.
	Next(ctx context.Context) (text string, more bool, err error)
}

// announcedKinds lists the operations that programs of each family can announce, by their names in the announcement.
var announcedKinds = map[Family]map[string]harness.Kind{
	Lock:     {DoAcquire: harness.Acquire, DoExtend: harness.Extend, DoRelease: harness.Release},
	Dedup:    {DoClaim: harness.Claim, DoConfirm: harness.Confirm, "deliver": harness.Deliver},
	Sequence: {DoNext: harness.Next},
}

// announcedProgram returns the search program of an adapter that announces its operations.
func (c Adapter) announcedProgram(o Options, runner AdapterRunner) interleave.Program {
	p := interleave.Program{
		Name: o.Name, Lease: cmp.Or(o.TTL, ExploredLease),
		Kinds: []harness.Kind{announcedKinds[c.As][requiredOperations[c.As][0]]}, NoBackgroundWork: true,
		Announced: runner.OnAnnounced,
	}
	return c.gatedProgram(p, func(i int, address string) (harness.Client, error) {
		client, lease := strconv.Itoa(i+1), strconv.FormatInt(p.Lease.Milliseconds(), 10)
		d, err := runner.StartAnnouncing(address, "DOUBLEGRANT_CLIENT="+client, "DOUBLEGRANT_TTL_MS="+lease)
		if err != nil {
			return nil, err
		}
		a := &announcer{family: c.As, lease: p.Lease, owner: exploredNames[i]}
		return clientFunc(func(ctx context.Context, s *harness.Session) {
			if err := a.step(ctx, s, d); err != nil {
				harness.Abandon(ctx, err)
			}
		}), nil
	}, runner.Kill)
}

// announcer records what one client announces.
type announcer struct {
	family  Family
	lease   time.Duration
	owner   string // the client's name, with which its tokens begin
	attempt int
}

// step records what the process announces until the process ends. It returns an error if the process breaks down, or
// announces something that makes no sense.
func (a *announcer) step(ctx context.Context, s *harness.Session, d AnnouncingProcess) error {
	for {
		text, more, err := d.Next(ctx)
		if err != nil || !more {
			return err
		}
		op, err := a.parseInvocation(text)
		if err != nil {
			return err
		}
		s.Invoke(op, func(op *harness.Op) {
			var more bool
			if text, more, err = d.Next(ctx); err == nil && more {
				err = a.applyReturn(op, text)
			}
			if err != nil || !more {
				op.Outcome, op.Result, op.Err = harness.Info, "", "the adapter ended"
			}
		})
		if err != nil {
			return err
		}
	}
}

const announcedPage = "see workloads/adapters/README.md"

// parseInvocation returns the operation that the text announces, such as "invoke acquire lock-1". A lease in
// milliseconds may follow the name.
func (a *announcer) parseInvocation(text string) (op harness.Op, err error) {
	w := strings.Fields(text)
	if len(w) < 3 || len(w) > 4 || w[0] != "invoke" {
		return op, wrongAnnouncement(text, "want invoke, an operation and a name, before each return")
	}
	kind, known := announcedKinds[a.family][w[1]]
	if !known {
		return op, wrongAnnouncement(text, fmt.Sprintf("%q is no operation of a %s", w[1], a.family))
	}
	op = harness.Op{Kind: kind, Key: w[2]}
	if a.family == Sequence {
		return op, nil
	}
	if op.TTL = a.lease; len(w) == 4 {
		ms, err := strconv.ParseInt(w[3], 10, 64)
		if err != nil || ms < 1 {
			return op, wrongAnnouncement(text, fmt.Sprintf("%q is no lease in milliseconds", w[3]))
		}
		op.TTL = time.Duration(ms) * time.Millisecond
	}
	if kind == harness.Acquire {
		a.attempt++
	}
	if a.family == Lock {
		op.Arg = a.owner + "-" + strconv.Itoa(a.attempt)
	}
	if kind == harness.Release || kind == harness.Deliver {
		op.TTL = 0
	}
	return op, nil
}

// applyReturn sets the outcome of op from the announcement "return ok", "return no", "return fail REASON" or "return
// info REASON". For a drawn number the announcement is "return ok 7".
func (a *announcer) applyReturn(op *harness.Op, text string) error {
	w := strings.SplitN(text, " ", 3)
	if len(w) < 2 || w[0] != "return" {
		return wrongAnnouncement(text, "want a return before anything else is invoked")
	}
	reason := strings.Join(w[2:], "")
	switch op.Outcome = harness.OK; w[1] {
	case "ok":
		if op.Kind == harness.Claim {
			op.Result = harness.ResultFirst
		}
		if op.Kind == harness.Next {
			if op.Result = reason; reason == "" {
				return wrongAnnouncement(text, "want the number that was drawn")
			}
		}
	case "no":
		switch op.Kind {
		case harness.Claim:
			op.Result = harness.ResultSeen
		case harness.Acquire:
			op.Outcome, op.Err = harness.Fail, harness.Held
		default:
			op.Outcome, op.Err = harness.Fail, harness.NotMine
		}
	case "fail":
		op.Outcome, op.Err = harness.Fail, cmp.Or(reason, "failed")
	case "info":
		op.Outcome, op.Err = harness.Info, cmp.Or(reason, "unknown")
	default:
		return wrongAnnouncement(text, fmt.Sprintf("%q is not ok, no, fail or info", w[1]))
	}
	return nil
}

func wrongAnnouncement(text, why string) error {
	return fmt.Errorf("%w: it announced %q: %s, %s", interleave.ErrAdapter, text, why, announcedPage)
}
