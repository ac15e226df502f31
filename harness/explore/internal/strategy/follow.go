package strategy

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// This file has the strategies that follow a given schedule.

// ErrDiverged marks a replay that differs from its schedule.
var ErrDiverged = errors.New("the replay took another way")

// Replay takes exactly the choices of a schedule. Next returns an error that wraps ErrDiverged if one of them is not
// possible, or if clients have not ended after the last choice.
type Replay struct {
	heedless
	Schedule []interleave.Choice
}

// heedless makes Took do nothing, for strategies that decide by the possible moves alone.
type heedless struct{}

func (heedless) Took(schedule.Move) {}

// Next returns the next choice of the schedule.
func (r *Replay) Next(v View) (c interleave.Choice, decision Decision, err error) {
	if v.Disturbed() {
		return c, Leave, nil
	}
	moves, err := v.Moves()
	taken := len(v.Path())
	switch {
	case err != nil:
		return c, Take, err
	case taken < len(r.Schedule) && !schedule.Contains(moves, r.Schedule[taken]):
		return c, Leave, fmt.Errorf("%w: step %d, %v, is impossible: the schedule belongs to another version of "+
			"this variant",
			ErrDiverged, taken+1, r.Schedule[taken])
	case taken < len(r.Schedule):
		return r.Schedule[taken], Take, nil
	case len(moves) > 0:
		return c, Leave, fmt.Errorf("%w: clients have not ended after its last step: the schedule belongs to "+
			"another version of this variant", ErrDiverged)
	}
	return c, Finish, nil
}

// Follow takes those choices of a schedule that are possible. Afterwards it lets the clients run to their ends one
// after the other.
type Follow struct {
	heedless
	Schedule        []interleave.Choice
	FirstUnfollowed string // describes the first choice that was not possible; empty: none
	at              int
}

// Next returns the next choice that is possible.
func (f *Follow) Next(v View) (c interleave.Choice, decision Decision, err error) {
	moves, err := v.Moves()
	if err != nil {
		return c, Take, err
	}
	for f.at < len(f.Schedule) {
		c = f.Schedule[f.at]
		if f.at++; schedule.Contains(moves, c) {
			return c, Take, nil
		}
		f.FirstUnfollowed = cmp.Or(f.FirstUnfollowed, fmt.Sprintf("step %d, %v, is no longer possible", f.at, c))
	}
	if len(moves) == 0 {
		return c, Finish, nil
	}
	f.FirstUnfollowed = cmp.Or(f.FirstUnfollowed, "clients have not ended after its last step")
	return moves[0].Choice, Take, nil
}

// First takes the choices of a prefix without checking whether they are possible, and then always the first move.
type First struct {
	heedless
	Prefix     []interleave.Choice
	LooksAtEnd bool // Program.Finally is called at the end of the schedule
}

// Next returns the next choice of the prefix, or the first move.
func (f *First) Next(v View) (c interleave.Choice, decision Decision, err error) {
	if taken := len(v.Path()); taken < len(f.Prefix) {
		return f.Prefix[taken], Take, nil
	}
	moves, err := v.Moves()
	switch {
	case err != nil:
		return c, Take, err
	case len(moves) > 0:
		return moves[0].Choice, Take, nil
	case f.LooksAtEnd:
		return c, end(v), nil
	}
	return c, Stop, nil
}

// Alternate makes the clients take turns, without faults.
type Alternate struct{ heedless }

// Next returns the last of the moves that is a client's step. The moves of the client whose turn it was come first in
// the list. So the last one is another client's, if another client can take a step.
func (Alternate) Next(v View) (c interleave.Choice, decision Decision, err error) {
	moves, err := v.Moves()
	switch {
	case err != nil:
		return c, Take, err
	case len(moves) == 0:
		return c, Stop, nil
	}
	c = moves[0].Choice
	for _, m := range moves {
		if m.Choice.Kind() == interleave.Runs {
			c = m.Choice
		}
	}
	return c, Take, nil
}
