package granttest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/workloads"
)

// refusals is a checker of searches. It finds second names (see workloads.LockOptions.Habits) that are refused though nobody has ever asked
// for them, before or meanwhile: an algorithm whose keys do not follow from the names that it is given takes two names for one. Such a
// lock is stuck, such a message is lost. A refusal in which time has passed shows nothing, since what was taken may have been over already.
// Nor does one where all is refused: no name was taken there that another could be taken for, and a search in which nothing ever succeeds says so.
type refusals struct{}

var _ harness.Checker = refusals{}

func (refusals) Name() string { return "refusals" }

func (c refusals) Check(_ context.Context, h harness.History, found func(harness.Anomaly)) harness.Judgement {
	said := harness.Judgement{Checker: c.Name(), Verdict: harness.Valid}
	var ops []harness.Op
	for op, err := range h.Ops {
		if err != nil {
			return harness.Judgement{Checker: c.Name(), Verdict: harness.Unknown, Reason: err.Error()}
		}
		ops = append(ops, op)
	}
	if !slices.ContainsFunc(ops, mayHave) {
		return said
	}
	for i, op := range ops {
		class := refusedAs(op)
		if class == "" || !workloads.IsOtherName(op.Key) || op.Return-op.Call >= time.Millisecond || isAskedFor(ops, i) {
			continue
		}
		said.Verdict = harness.Invalid
		found(harness.Anomaly{
			Class: class, Key: op.Key, Ops: []harness.Op{op}, From: op.Call, To: op.Return,
			Note: fmt.Sprintf("client %d's %s of %s was refused, though nobody had ever asked for %[3]s: does its key follow from the name?", op.Client, op.Kind, op.Key),
		})
	}
	return said
}

// refusedAs returns the class of a refusal, if nobody has asked before; empty: it is no refusal.
func refusedAs(op harness.Op) harness.Class {
	switch {
	case op.Kind == harness.Acquire && op.Outcome == harness.Fail && op.Err == harness.Held:
		return harness.StuckLock
	case op.Kind == harness.Claim && op.Outcome == harness.OK && op.Result == harness.ResultSeen:
		return harness.LostMessage
	}
	return ""
}

// mayHave reports whether an operation has taken a name, or may have.
func mayHave(op harness.Op) bool {
	return (op.Kind == harness.Acquire || op.Kind == harness.Claim) && op.Outcome != harness.Fail && refusedAs(op) == ""
}

// isAskedFor reports whether anybody else's operation, or an earlier one of the same client, may have had the key of operation i by the
// time of its Return.
func isAskedFor(ops []harness.Op, i int) bool {
	for j, other := range ops {
		if j != i && other.Key == ops[i].Key && other.Call <= ops[i].Return && (other.Kind == harness.Acquire || other.Kind == harness.Claim) {
			return true
		}
	}
	return false
}
