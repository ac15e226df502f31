package strategy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// Branch is a branch of a search: every schedule that begins with Prefix, but for those that other branches have.
type Branch struct {
	Prefix      []interleave.Choice
	Fingerprint uint64 // that Prefix had when it was planned; 0: it is not known
	// moves that were asleep before the last choice of Prefix: other branches have what begins with them
	SleepSet []*schedule.Move
	Cost     int // preemptions and interferences in Prefix
}

// Exhaustive runs the first schedule of a branch, and plans the branches that leave it on the way. A search that goes
// through all of them has gone through every schedule, but for those that differ from one only in the order of
// independent moves (sleep sets: Godefroid, LNCS 1032, 1996).
type Exhaustive struct {
	Branch
	Planned []Branch // what it has planned

	unreduced bool // schedules that differ only in the order of independent moves are planned as well

	taken  int
	asleep []*schedule.Move
	next   *schedule.Move // the choice under way; nil: it is one of Prefix
	cost   int
}

// NewExhaustive returns the strategy for the first schedule of a branch. With unreduced it also plans schedules that
// differ from one only in the order of independent moves.
func NewExhaustive(b Branch, unreduced bool) *Exhaustive {
	return &Exhaustive{Branch: b, unreduced: unreduced, asleep: b.SleepSet, cost: b.Cost}
}

// Next takes the choices of the prefix, then the first move that is not asleep each time.
func (e *Exhaustive) Next(v View) (c interleave.Choice, do Do, err error) {
	if e.taken < len(e.Prefix) {
		return e.Prefix[e.taken], Take, nil
	}
	if e.taken == len(e.Prefix) {
		if err := e.compareFingerprint(v); err != nil {
			return c, Take, err
		}
	}
	switch known, err := v.Visited(e.asleep); {
	case err != nil:
		return c, Take, err
	case known:
		return c, Leave, nil
	}
	moves, err := v.Moves()
	switch {
	case err != nil:
		return c, Take, err
	case len(moves) == 0:
		return c, end(v), nil
	}
	if e.next = e.branch(v, moves); e.next == nil {
		return c, Leave, nil
	}
	return e.next.Choice, Take, nil
}

// compareFingerprint compares what the prefix has led to with what it led to when it was planned.
func (e *Exhaustive) compareFingerprint(v View) error {
	if now := v.Fingerprint(); e.Fingerprint == 0 || now == 0 || now == e.Fingerprint {
		return nil
	}
	return fmt.Errorf("%w: the same choices led to other commands before: %s (explore --twice, or Twice of a search "+
		"in Go, names the first that differs)",
		schedule.ErrNotRepeated, InWords(e.Prefix))
}

// Took notes what has happened: it wakes the moves that are not independent of it.
func (e *Exhaustive) Took(did schedule.Move) {
	e.taken++
	switch {
	case e.next != nil:
		e.next.Ends = did.Ends // known now: later moves are more often independent of it
		e.cost += e.next.Cost
		e.asleep = asleepAfter(e.asleep, did)
	case e.taken == len(e.Prefix):
		e.asleep = asleepAfter(e.SleepSet, did)
	}
}

// branch picks the first move that is not asleep and plans the others; nil: all are asleep. The moves tried before a
// move are asleep after it, until something happens that is not independent of them. A crash is possible at this place
// only, so a crash is never asleep, and its branch has no moves asleep but those that were so before.
func (e *Exhaustive) branch(v View, moves []schedule.Move) (next *schedule.Move) {
	tried := e.asleep
	for i := range moves {
		m := &moves[i]
		if isAsleep(m, e.asleep) {
			continue
		}
		if next == nil {
			next = m
		} else {
			b := Branch{
				Prefix: append(slices.Clone(v.Path()), m.Choice), Fingerprint: v.FingerprintAfter(m.Choice),
				SleepSet: tried, Cost: e.cost + m.Cost,
			}
			if m.Choice.IsCrash() {
				b.SleepSet = e.asleep
			}
			e.Planned = append(e.Planned, b)
		}
		if !e.unreduced && !m.Choice.IsCrash() {
			tried = append(slices.Clip(tried), m)
		}
	}
	return next
}

func isAsleep(m *schedule.Move, asleep []*schedule.Move) bool {
	return slices.ContainsFunc(asleep, func(s *schedule.Move) bool { return s.Choice == m.Choice })
}

// asleepAfter returns the moves that stay asleep after one has happened.
func asleepAfter(asleep []*schedule.Move, did schedule.Move) (out []*schedule.Move) {
	for _, s := range asleep {
		if schedule.Independent(did, *s) {
			out = append(out, s)
		}
	}
	return out
}

// InWords writes a schedule on one line.
func InWords(choices []interleave.Choice) string {
	words := make([]string, len(choices))
	for i, c := range choices {
		words[i] = c.String()
	}
	return strings.Join(words, ", ")
}
