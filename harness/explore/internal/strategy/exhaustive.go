package strategy

import (
	"fmt"
	"slices"

	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// Branch is a part of a search: all schedules that begin with Prefix, except those that belong to other branches.
type Branch struct {
	Prefix      []interleave.Choice
	Fingerprint uint64 // fingerprint of Prefix when it was planned; 0: unknown
	// moves that were asleep before the last choice of Prefix: schedules that go on with one of them belong to other
	// branches
	SleepSet []*schedule.Move
	Cost     int // preemptions and faults in Prefix
}

// Exhaustive chooses the moves of one schedule in a depth-first search with sleep sets (Godefroid, LNCS 1032, 1996).
// This schedule is the first of a branch: it takes the moves of the prefix, then always the first move that is not
// asleep. On the way it plans a branch for each other move that is not asleep. The search goes on with these branches,
// which plan further ones. In the end it has run every schedule that begins with the prefix, except those that differ
// from another only in the order of independent moves.
//
// A move falls asleep in a branch because an earlier branch begins with it at the same place. It wakes when something
// happens that is not independent of it, since the order of the two then matters. If all moves are asleep, what follows
// belongs to other branches, and the schedule is left.
type Exhaustive struct {
	Branch
	Planned []Branch // branches that it has planned

	unreduced bool // no move falls asleep

	taken  int              // moves so far, those of Prefix included
	cost   int              // preemptions and faults in these moves
	asleep []*schedule.Move // moves that are asleep now
	next   *schedule.Move   // the move that is being made; nil: the move belongs to Prefix
}

// NewExhaustive returns the strategy for the first schedule of a branch. If unreduced is true, it also plans schedules
// that differ from another only in the order of independent moves.
func NewExhaustive(b Branch, unreduced bool) *Exhaustive {
	return &Exhaustive{Branch: b, unreduced: unreduced, asleep: b.SleepSet, cost: b.Cost}
}

// Next takes the choices of the prefix, then always the first move that is not asleep.
func (e *Exhaustive) Next(v View) (c interleave.Choice, decision Decision, err error) {
	if e.taken < len(e.Prefix) {
		return e.Prefix[e.taken], Take, nil
	}
	if e.taken == len(e.Prefix) {
		if err := e.compareFingerprint(v); err != nil {
			return c, Take, err
		}
	}
	switch known, err := v.Visit(e.asleep); {
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

// branch returns the first move that is not asleep, and plans a branch for each further one. It returns nil if all are
// asleep. In the branch of a move, the moves before it are asleep. Crashes are an exception, since a crash is only
// possible right after its client's step: it is not asleep in later branches, and in its own branch no earlier move
// falls asleep.
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

// Took wakes the moves that are not independent of what has happened.
func (e *Exhaustive) Took(did schedule.Move) {
	e.taken++
	switch {
	case e.next != nil:
		e.next.Ends = did.Ends // known now, so later moves are more often independent of it
		e.cost += e.next.Cost
		e.asleep = asleepAfter(e.asleep, did)
	case e.taken == len(e.Prefix):
		e.asleep = asleepAfter(e.SleepSet, did)
	}
}

// asleepAfter returns the moves that stay asleep after a move.
func asleepAfter(asleep []*schedule.Move, did schedule.Move) (out []*schedule.Move) {
	for _, s := range asleep {
		if schedule.Independent(did, *s) {
			out = append(out, s)
		}
	}
	return out
}

// compareFingerprint returns an error if the prefix has not led to the same commands as when it was planned.
func (e *Exhaustive) compareFingerprint(v View) error {
	if now := v.Fingerprint(); e.Fingerprint == 0 || now == 0 || now == e.Fingerprint {
		return nil
	}
	return fmt.Errorf("%w: the same choices led to other commands before: %s (explore --twice, or Twice of a search "+
		"in Go, shows the first that differs)",
		schedule.ErrNotRepeated, InWords(e.Prefix))
}
