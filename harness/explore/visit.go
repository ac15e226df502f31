package explore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness/interleave"
)

// visit is one run of an item's first schedule, with the items that branch off on the way.
type visit struct {
	*search
	item
	cost  int
	ex    *execution
	plan  []item // items that branch off
	prune bool   // the rest of the schedule shows nothing new
}

// run replays the item's prefix and goes on to the end. again is true if the schedule has to be run again: something that is
// no part of it disturbed it, or it took too long.
func (v *visit) run(ctx context.Context, w *world, alarm *time.Timer) (again bool, err error) {
	began := time.Now()
	v.ex, err = begin(ctx, v.spec, v.budget, w, alarm)
	if err != nil {
		return false, err
	}
	if err := v.descend(ctx); err != nil {
		if v.ex.disturbed && errors.Is(err, errDiverged) {
			return true, v.ex.drain(ctx) // so that clients load the scripts that are missing
		}
		v.ex.abandon()
		return false, err
	}
	if v.ex.held {
		v.prune = true // no replica was promoted: the schedule shows the same as without the hold
	}
	if !v.prune {
		err = v.ex.finish(ctx)
	}
	return v.ex.disturbed || w.fixed == nil && time.Since(began) > v.spec.Program.Lease/slowness, err
}

func (v *visit) descend(ctx context.Context) error {
	var did move
	var err error
	for _, c := range v.prefix {
		if did, err = v.ex.step(ctx, c); err != nil {
			return err
		}
	}
	if len(v.prefix) > 0 && v.ex.print != v.print {
		return fmt.Errorf("%w: the same choices led to other commands before: %s", errDiverged, inWords(v.prefix))
	}
	asleep := v.asleep
	if len(v.prefix) > 0 {
		asleep = stillAsleep(asleep, did)
	}
	for {
		moves, err := v.ex.moves()
		if err != nil || len(moves) == 0 {
			return err
		}
		next, ok := v.branch(moves, asleep)
		if !ok {
			v.prune = true
			return v.ex.drain(ctx)
		}
		if did, err = v.ex.step(ctx, next.choice); err != nil {
			return err
		}
		next.ends = did.ends // known now: later moves are more often independent of it
		v.cost += next.cost
		asleep = stillAsleep(asleep, did)
	}
}

// branch picks the first move that is not asleep and plans the others. The moves tried before a move are asleep after it, until
// something happens that is not independent of them. A crash is possible at this place only, so a crash is never asleep, and
// its item has no moves asleep but those that were so before.
func (v *visit) branch(moves []move, asleep []*move) (next *move, ok bool) {
	tried := asleep
	for i := range moves {
		m := &moves[i]
		if sleeps(m, asleep) {
			continue
		}
		if !ok {
			next, ok = m, true
		} else {
			it := item{
				prefix: append(slices.Clone(v.ex.path), m.choice), print: v.ex.printWith(m.choice), asleep: tried, cost: v.cost + m.cost,
			}
			if m.choice.IsCrash() {
				it.asleep = asleep
			}
			v.plan = append(v.plan, it)
		}
		if !v.spec.Unreduced && !m.choice.IsCrash() {
			tried = append(slices.Clip(tried), m)
		}
	}
	return next, ok
}

func sleeps(m *move, asleep []*move) bool {
	return slices.ContainsFunc(asleep, func(s *move) bool { return s.choice == m.choice })
}

func stillAsleep(asleep []*move, did move) []*move {
	var out []*move
	for _, s := range asleep {
		if independent(did, *s) {
			out = append(out, s)
		}
	}
	return out
}

// inWords writes a schedule on one line.
func inWords(schedule []interleave.Choice) string {
	words := make([]string, len(schedule))
	for i, c := range schedule {
		words[i] = c.String()
	}
	return strings.Join(words, ", ")
}
