package explore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness/explore/internal/visited"
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

	looked  int          // number of steps after which an earlier attempt has looked for the state
	claimed []visited.ID // states to which this schedule came first

	number int // number of a schedule drawn at random, from 1
}

// run replays the item's prefix and goes on to the end. It returns what was really run, nil if the schedule was run from memory.
func (v *visit) run(ctx context.Context, w *world, alarm *time.Timer) (really *execution, err error) {
	if v.memory.works() {
		if done, err := v.runFromMemory(ctx, w, alarm); done || err != nil {
			return nil, err
		}
	}
	v.ex, err = beginSchedule(ctx, v.spec, v.budget, w, alarm)
	if err != nil {
		return nil, err
	}
	if v.followsTrails(w) {
		v.ex.beginTrails()
	}
	if err := v.descend(ctx); err != nil {
		v.ex.abandon()
		return v.ex, err
	}
	if v.ex.replicationStopped {
		v.prune = true // no replica was promoted: the schedule shows the same as if replication had gone on
	}
	if !v.prune {
		err = v.ex.finish(ctx)
	}
	return v.ex, err
}

func (v *visit) descend(ctx context.Context) error {
	var did move
	var err error
	for _, c := range v.prefix {
		if did, err = v.ex.step(ctx, c); err != nil {
			return err
		}
	}
	if v.fingerprint != 0 && v.ex.fingerprint != v.fingerprint {
		return fmt.Errorf("%w: the same choices led to other commands before: %s (explore --twice 50, or Twice of a search, names the first that differs)",
			errDiverged, inWords(v.prefix))
	}
	asleep := v.sleepSet
	if len(v.prefix) > 0 {
		asleep = sleepSetAfter(asleep, did)
	}
	for {
		known, err := v.comesBack(ctx, asleep)
		if err != nil {
			return err
		}
		if known {
			v.prune = true
			return v.leave(ctx)
		}
		moves, err := v.ex.moves()
		if err != nil || len(moves) == 0 {
			return err
		}
		next, ok := v.branch(moves, asleep)
		if !ok {
			v.prune = true
			return v.leave(ctx)
		}
		if did, err = v.ex.step(ctx, next.choice); err != nil {
			return err
		}
		next.ends = did.ends // known now: later moves are more often independent of it
		v.cost += next.cost
		asleep = sleepSetAfter(asleep, did)
	}
}

// branch picks the first move that is not asleep and plans the others. The moves tried before a move are asleep after it, until
// something happens that is not independent of them. A crash is possible at this place only, so a crash is never asleep, and
// its item has no moves asleep but those that were so before.
func (v *visit) branch(moves []move, asleep []*move) (next *move, ok bool) {
	tried := asleep
	for i := range moves {
		m := &moves[i]
		if inSleepSet(m, asleep) {
			continue
		}
		if !ok {
			next, ok = m, true
		} else {
			it := item{
				prefix: append(slices.Clone(v.ex.path), m.choice), sleepSet: tried, cost: v.cost + m.cost,
			}
			if !v.ex.recalls {
				it.fingerprint = v.ex.fingerprintWith(m.choice)
			}
			if m.choice.IsCrash() {
				it.sleepSet = asleep
			}
			v.plan = append(v.plan, it)
		}
		if !v.spec.Unreduced && !m.choice.IsCrash() {
			tried = append(slices.Clip(tried), m)
		}
	}
	return next, ok
}

// runFromMemory runs the schedule from memory. Where something is not known, it first really runs the schedule up to there. done is
// false if the search has to go on without memory.
func (v *visit) runFromMemory(ctx context.Context, w *world, alarm *time.Timer) (done bool, err error) {
	for learned, attempts := -1, 0; v.memory.works(); {
		*v = visit{search: v.search, item: v.item, cost: v.item.cost, looked: v.looked}
		if v.ex, err = beginFromMemory(v.spec, v.budget, w, v.memory); err == nil {
			err = v.descend(ctx)
		}
		if err == nil && v.ex.replicationStopped {
			v.prune = true // as in run
		}
		if err == nil && !v.prune {
			err = v.ex.finish(ctx)
		}
		if err == nil && !v.prune {
			err = v.compareWithReality(ctx, w, alarm)
		}
		if !errors.Is(err, errUnknown) {
			return true, err
		}
		if attempts++; len(v.ex.path) > learned {
			learned, attempts = len(v.ex.path), 0
		}
		if attempts == maxAttempts {
			v.memory.disable("a schedule that was really run does not show what is to be known")
		}
		if _, err := v.reallyRun(ctx, w, alarm, v.ex.path); err != nil {
			return false, err
		}
	}
	*v = visit{search: v.search, item: v.item, cost: v.item.cost}
	return false, nil
}

// One in comparedOnce schedules run from memory is really run as well, to compare the two. So are those whose number is a power of
// two, since a client that does not do the same each time shows it soon, if at all.
const comparedOnce = 1000

// compareWithReality really runs some of the schedules that were run from memory. The error wraps errStopped if one shows something
// else.
func (v *visit) compareWithReality(ctx context.Context, w *world, alarm *time.Timer) error {
	v.memory.recalled++
	if n := v.memory.recalled; n%comparedOnce > 0 && n&(n-1) > 0 {
		return nil
	}
	ex, err := v.reallyRun(ctx, w, alarm, v.ex.path)
	if err != nil || !v.memory.works() {
		return err
	}
	if !slices.Equal(ex.ops, v.ex.ops) || !slices.Equal(ex.path, v.ex.path) {
		return fmt.Errorf("%w: a schedule that was run from memory shows something else when it is really run: %s", errDiverged, inWords(v.ex.path))
	}
	return nil
}

// reallyRun runs a schedule that begins with path, again where it was disturbed, and keeps what it shows.
func (s *search) reallyRun(ctx context.Context, w *world, alarm *time.Timer, path []interleave.Choice) (ex *execution, err error) {
	err = attempts{s.spec, s.budget, w, alarm}.run(ctx, func() (_ *execution, err error) {
		ex, err = s.reallyRunOnce(ctx, w, alarm, path)
		return ex, err
	})
	return ex, err
}

func (s *search) reallyRunOnce(ctx context.Context, w *world, alarm *time.Timer, path []interleave.Choice) (*execution, error) {
	w.memory = s.memory
	defer func() { w.memory = nil }()
	strays := w.strayCommands
	ex, err := beginSchedule(ctx, s.spec, s.budget, w, alarm)
	if err != nil {
		return ex, err
	}
	for _, c := range path {
		if _, err = ex.step(ctx, c); err != nil {
			break
		}
	}
	if err == nil {
		err = ex.drain(ctx)
	}
	if err == nil && !ex.replicationStopped {
		err = ex.finish(ctx)
	}
	s.memory.scripts.LearnFrom(w.Scripts)
	if w.strayCommands > strays {
		s.memory.disable("a client sends commands by itself")
	}
	if err != nil {
		ex.abandon()
	}
	return ex, err
}

// comesBack reports whether a schedule before has come to this state.
func (v *visit) comesBack(ctx context.Context, asleep []*move) (known bool, err error) {
	if v.spec.Unreduced || len(v.ex.path) < v.looked {
		return false, nil
	}
	if !v.ex.recalls {
		if ok, err := v.ex.seesState(); !ok || err != nil {
			return false, err
		}
	}
	v.looked = len(v.ex.path) + 1
	id, known := v.states.isKnown(ctx, v.ex, asleep)
	if !known {
		v.claimed = append(v.claimed, id)
	}
	return known, nil
}

// leave ends a schedule whose rest shows nothing new. Clients that really run are kept connected.
func (v *visit) leave(ctx context.Context) error {
	if v.ex.recalls {
		return nil
	}
	return v.ex.drain(ctx)
}

func inSleepSet(m *move, asleep []*move) bool {
	return slices.ContainsFunc(asleep, func(s *move) bool { return s.choice == m.choice })
}

func sleepSetAfter(asleep []*move, did move) []*move {
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
