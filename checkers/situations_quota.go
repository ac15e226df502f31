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

// A load with a quota goes on until each situation has occurred QuotaCount times, and for QuotaLeast at least. Without
// QuotaLeast, loads of sequences would end at once.
const (
	QuotaCount = 100
	QuotaLeast = 10 * time.Second
)

// byChance lists the situations that a load meets only by chance: they take a lost answer, a slow owner, or a token
// that begins with another token.
var byChance = []harness.SituationName{harness.RetryAfterUnknown, harness.ConfirmAfterTime, harness.NameBeginsAnother}

// IsByChance reports whether a load meets a situation only by chance, so that no quota asks for it.
func IsByChance(name harness.SituationName) bool { return slices.Contains(byChance, name) }

// Quota returns the watcher of a load that goes on until each situation has occurred QuotaCount times. At that point
// the watcher calls the given function. The situations are those that the load's kinds of operation bring about, except
// those that occur only by chance. See [harness.Spec.Quota].
func Quota(enough func()) harness.Quota {
	return &quota{count: QuotaCount, minDuration: QuotaLeast, onEnough: enough}
}

type quota struct {
	count       int
	minDuration time.Duration // least length of the load, from its first operation on
	onEnough    func()

	mu        sync.Mutex
	tooSeldom []string // situations that occurred too seldom, with their counts
	readToEnd bool     // the record was read to its end
}

func (*quota) Name() string { return "quota" }

// Check counts the situations of a growing record. It calls onEnough once each situation has occurred often enough and
// the load has lasted long enough. It reports no anomaly.
func (q *quota) Check(ctx context.Context, h harness.History, _ func(harness.Anomaly)) harness.Judgement {
	s := newSituationsOfShares(h)
	wanted := wantedOf(h.Meta.Kinds)
	done := false
	first := noTime
	rare := func(name harness.SituationName) bool { return s.Count(name) < q.count }
	err := eachOp(ctx, h, func(op harness.Op) {
		if first < 0 {
			first = op.Return
		}
		if s.Op(op); !done && op.Return-first >= q.minDuration && !slices.ContainsFunc(wanted, rare) {
			done = true
			q.onEnough()
		}
	})
	q.mu.Lock()
	defer q.mu.Unlock()
	q.readToEnd = err == nil
	for _, name := range wanted {
		if rare(name) {
			q.tooSeldom = append(q.tooSeldom, fmt.Sprintf("%s (%d)", name, s.Count(name)))
		}
	}
	return harness.Judgement{NothingToJudge: true}
}

// wantedOf lists the situations that a load with operations of these kinds brings about.
func wantedOf(kinds []harness.Kind) (wanted []harness.SituationName) {
	for _, byKind := range situationsByKind {
		if slices.Contains(kinds, byKind.kind) {
			wanted = append(wanted, byKind.names...)
		}
	}
	return slices.DeleteFunc(wanted, IsByChance)
}

// QuotaLacks is the beginning of the text that Lacking returns. Other packages look for it to recognise a verdict that
// quotes the text.
const QuotaLacks = "not every situation had occurred"

// Lacking names the situations that occurred too seldom. It returns "" if there are none.
func (q *quota) Lacking() string {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case !q.readToEnd:
		return "nobody counted the situations to the end"
	case len(q.tooSeldom) == 0:
		return ""
	}
	return fmt.Sprintf("%s %d times: %s", QuotaLacks, q.count, strings.Join(q.tooSeldom, ", "))
}
