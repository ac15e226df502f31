package granttest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/workloads"
)

// refusals is a checker for searches. In a search each client also asks for a second name, such as a second lock (see
// workloads.Options.Habits). An algorithm whose Redis keys do not depend on the whole name takes both names for
// one. refusals reports a second name that is refused although no client had asked for it: such a lock is stuck, and
// such a message is lost.
//
// It ignores a refusal during which time passed, since a lease may have ended meanwhile. It also ignores schedules in
// which every request is refused: no name was taken there, and the search itself reports that nothing succeeds.
type refusals struct{}

var _ harness.Checker = refusals{}

func (refusals) Name() string { return "refusals" }

func (c refusals) Check(_ context.Context, h harness.History, found func(harness.Anomaly)) harness.Judgement {
	judgement := harness.Judgement{Checker: c.Name(), Verdict: harness.Valid}
	var ops []harness.Op
	for op, err := range h.Ops {
		if err != nil {
			return harness.Judgement{Checker: c.Name(), Verdict: harness.Unknown, Reason: err.Error()}
		}
		ops = append(ops, op)
	}
	if !slices.ContainsFunc(ops, mayHaveTaken) {
		return judgement
	}
	for i, op := range ops {
		class := refusedAs(op)
		if class == "" || !workloads.IsOtherName(op.Key) || op.Return-op.Call >= time.Millisecond ||
			isAskedFor(ops, i) {
			continue
		}
		judgement.Verdict = harness.Invalid
		found(harness.Anomaly{
			Class: class, Key: op.Key, Ops: []harness.Op{op}, From: op.Call, To: op.Return,
			Note: fmt.Sprintf("client %d's %s of %s was refused although no client had asked for %[3]s before: "+
				"check that its Redis key depends on the name", op.Client, op.Kind, op.Key),
		})
	}
	return judgement
}

// refusedAs returns the class of violation that op is, given that nobody had asked for its key before; empty if op is
// not a refusal.
func refusedAs(op harness.Op) harness.Class {
	switch {
	case op.Kind == harness.Acquire && op.Outcome == harness.Fail && op.Err == harness.Held:
		return harness.StuckLock
	case op.Kind == harness.Claim && op.Outcome == harness.OK && op.Result == harness.ResultSeen:
		return harness.LostMessage
	}
	return ""
}

// mayHaveTaken reports whether op took the name that it asked for, or may have taken it.
func mayHaveTaken(op harness.Op) bool {
	return (op.Kind == harness.Acquire || op.Kind == harness.Claim) && op.Outcome != harness.Fail && refusedAs(op) == ""
}

// isAskedFor reports whether any other operation had asked for the key of ops[i] before ops[i] returned.
func isAskedFor(ops []harness.Op, i int) bool {
	for j, other := range ops {
		if j != i && other.Key == ops[i].Key && other.Call <= ops[i].Return &&
			(other.Kind == harness.Acquire || other.Kind == harness.Claim) {
			return true
		}
	}
	return false
}
