package checkers

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// A load that goes on until each situation has occurred QuotaCount times lasts for QuotaLeast all the same: sequences have met all that they
// can in no time.
const (
	QuotaCount = 100
	QuotaLeast = 10 * time.Second
)

// byChance lists situations that a load brings about by chance only: they take a lost answer, a slow owner, or certain names.
var byChance = []harness.SituationName{harness.RetryAfterUnknown, harness.ConfirmAfterTime, harness.NameBeginsAnother}

// IsByChance reports whether a load brings a situation about by chance only, so that no quota asks for it.
func IsByChance(name harness.SituationName) bool { return slices.Contains(byChance, name) }

// Quota returns the watcher of a load that goes on until each situation of its kinds of operation, but for those that a load does not bring
// about, has occurred QuotaCount times: see [harness.Spec.Quota].
func Quota(enough func()) harness.Quota {
	return &quota{count: QuotaCount, least: QuotaLeast, enough: enough}
}

type quota struct {
	count  int
	least  time.Duration // from the first operation on
	enough func()

	mu      sync.Mutex
	lacking []string // each with how often it occurred
	looked  bool     // at all operations
}

func (*quota) Name() string { return "quota" }

// Check counts the situations of a record that grows, and calls enough when each has occurred often enough. It finds nothing.
func (q *quota) Check(ctx context.Context, h harness.History, _ func(harness.Anomaly)) harness.Judgement {
	s, wanted, done, first := newSituationsOfShares(h), wantedOf(h.Meta.Kinds), false, time.Duration(-1)
	rare := func(name harness.SituationName) bool { return s.Count(name) < q.count }
	err := eachOp(ctx, h, func(op harness.Op) {
		if first < 0 {
			first = op.Return
		}
		if s.Op(op); !done && op.Return-first >= q.least && !slices.ContainsFunc(wanted, rare) {
			done = true
			q.enough()
		}
	})
	q.mu.Lock()
	defer q.mu.Unlock()
	q.looked = err == nil
	for _, name := range wanted {
		if rare(name) {
			q.lacking = append(q.lacking, fmt.Sprintf("%s (%d)", name, s.Count(name)))
		}
	}
	return harness.Judgement{Absent: true}
}

// wantedOf lists the situations that a load with operations of these kinds brings about.
func wantedOf(kinds []harness.Kind) (wanted []harness.SituationName) {
	for _, of := range situationsOf {
		if slices.Contains(kinds, of.kind) {
			wanted = append(wanted, of.names...)
		}
	}
	return slices.DeleteFunc(wanted, IsByChance)
}

// QuotaLacks is a part of what Lacking, and a verdict by it, says of situations that occurred too seldom.
const QuotaLacks = "not every situation had occurred"

// Lacking says which situations occurred too seldom; empty: none.
func (q *quota) Lacking() string {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case !q.looked:
		return "nobody counted the situations to the end"
	case len(q.lacking) == 0:
		return ""
	}
	return fmt.Sprintf("%s %d times: %s", QuotaLacks, q.count, strings.Join(q.lacking, ", "))
}
