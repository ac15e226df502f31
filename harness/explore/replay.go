package explore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
	"github.com/doublegrant/doublegrant/harness/explore/internal/strategy"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// ErrDiverged marks a replay that differs from the counterexample.
var ErrDiverged = strategy.ErrDiverged

// Replay runs a counterexample's schedule the given number of times, and compares commands, replies and the anomaly.
// The error wraps ErrDiverged if something differs, and ErrSpec if spec cannot be searched. Any other error says that
// the harness or its environment failed.
func Replay(ctx context.Context, spec Spec, c interleave.Counterexample, times int) error {
	_, err := Rerun(ctx, spec, c, times)
	return err
}

// Rerun does what Replay does, and returns the counterexample as it came out the last time. A counterexample without
// steps, which comes from a recipe, is compared with its first replay.
func Rerun(ctx context.Context, spec Spec, c interleave.Counterexample, times int) (interleave.Counterexample, error) {
	return inOwnWorld(ctx, spec, c, func(r runner) (again interleave.Counterexample, err error) {
		for i := 0; i < times && err == nil && ctx.Err() == nil; i++ {
			again, err = r.again(ctx, r.spec.replayBudget(c), c.Schedule, c.Anomaly.Class)
			switch {
			case err != nil:
			case len(c.Steps) == 0:
				c = again
			default:
				err = compareReplay(c, again)
			}
		}
		return again, errors.Join(err, ctx.Err())
	})
}

// inOwnWorld starts a world, calls a function with a runner for the counterexample in this world, and stops the world.
func inOwnWorld[T any](ctx context.Context, spec Spec, c interleave.Counterexample,
	do func(runner) (T, error)) (T, error) {
	return withReplicas(spec, func(spec Spec) (out T, err error) {
		if spec, err = spec.fit(c).withDefaults(); err != nil {
			return out, err
		}
		w, err := newWorld(ctx, &spec)
		if err != nil {
			return out, err
		}
		out, err = do(runner{spec: &spec, w: w, stores: true})
		return out, errors.Join(err, w.stop())
	})
}

// addCounterexamples runs the smallest counterexamples again and adds them with their steps to res. If one cannot be
// repeated, a client is nondeterministic: res.Stopped then says so.
func (s *search) addCounterexamples(ctx context.Context, w *world, res *interleave.Result) error {
	r := runner{spec: s.spec, w: w, stores: true}
	for _, c := range s.seen.Counterexamples {
		again, err := r.again(context.WithoutCancel(ctx), c.Budget, c.Schedule, c.Class)
		switch {
		case errors.Is(err, ErrDiverged) || errors.Is(err, schedule.ErrStopped):
			res.Exhausted = false
			res.Stopped = fmt.Sprintf("a schedule that ended in %s ended differently when it was run again: a "+
				"client behaves differently each time", c.Class) + remedy(s.spec.Program)
		case err != nil:
			return err
		default:
			again.Shrunk = c.Shrunk
			res.Counterexamples = append(res.Counterexamples, again)
		}
	}
	slices.SortFunc(res.Counterexamples, func(a, b interleave.Counterexample) int {
		return cmp.Or(cmp.Compare(a.Length(), b.Length()), cmp.Compare(a.Anomaly.Class, b.Anomaly.Class))
	})
	return nil
}

// again runs a schedule again and returns it as the counterexample of a class.
func (r runner) again(ctx context.Context, budget interleave.Budget, choices []interleave.Choice,
	class harness.Class) (interleave.Counterexample, error) {
	ex, err := r.replay(ctx, budget, choices)
	if err != nil {
		return interleave.Counterexample{}, err
	}
	return r.counterexample(ctx, ex, budget, class)
}

// replay runs a schedule again and writes its steps down. The error wraps ErrDiverged if it cannot be followed.
func (r runner) replay(ctx context.Context, budget interleave.Budget, choices []interleave.Choice) (*execution, error) {
	r.traced = true
	return r.run(ctx, budget, func() strategy.Strategy { return &strategy.Replay{Schedule: choices} })
}

// counterexample returns the schedule with its steps up to the first anomaly of the class. The error wraps ErrDiverged
// if there is none.
func (r runner) counterexample(ctx context.Context, ex *execution, budget interleave.Budget,
	class harness.Class) (interleave.Counterexample, error) {
	found := slices.DeleteFunc(ex.outcome().Judge(ctx, r.spec.Checkers).Anomalies, func(a harness.Anomaly) bool {
		return a.Class != class
	})
	if len(found) > 0 {
		a := slices.MinFunc(found, func(a, b harness.Anomaly) int { return cmp.Compare(a.To, b.To) })
		a.Note = numberClients(a.Note, budget.Clients+1)
		steps := slices.DeleteFunc(ex.trace.Steps, func(s interleave.Step) bool { return s.At > a.To })
		return interleave.Counterexample{Budget: budget, Schedule: ex.path, Steps: steps, Anomaly: a, Ops: ex.ops}, nil
	}
	return interleave.Counterexample{}, fmt.Errorf("%w: no %s at its end", ErrDiverged, class)
}

// clientIDs matches client ids in a checker's note.
var clientIDs = regexp.MustCompile(`\bclients? \d+(?:(?:, | and )\d+)*`)

// numberClients replaces client ids in a note by client numbers. After an operation without an answer a client gets
// another id: its number plus a multiple of the parameter workers.
func numberClients(note string, workers int) string {
	return clientIDs.ReplaceAllStringFunc(note, func(s string) string {
		return digits.ReplaceAllStringFunc(s, func(id string) string {
			n, err := strconv.Atoi(id)
			if err != nil {
				return id
			}
			return strconv.Itoa(harness.Meta{Workers: workers}.Worker(n))
		})
	})
}

var digits = regexp.MustCompile(`\d+`)

// compareReplay returns an error that describes the first difference between a replay and the counterexample, and wraps
// ErrDiverged; nil: none. Random tokens may differ if they map one to one.
func compareReplay(want, got interleave.Counterexample) error {
	names := newRenaming()
	for i := range max(len(want.Steps), len(got.Steps)) {
		if i >= len(want.Steps) || i >= len(got.Steps) {
			return fmt.Errorf("%w: %d steps, %d were recorded", ErrDiverged, len(got.Steps), len(want.Steps))
		}
		a, b := want.Steps[i], got.Steps[i]
		if names.same(a.Command, b.Command) {
			a.Command = b.Command
		}
		if !sameReply(a.Reply, b.Reply) && !names.same(a.Reply, b.Reply) && !enoughAcks(a, b) {
			return fmt.Errorf("%w: step %d, %s, was answered %q, recorded is %q", ErrDiverged, i+1,
				b.Command, b.Reply, a.Reply)
		}
		if a.Reply, a.Store, a.Lease = b.Reply, b.Store, b.Lease; a != b {
			return fmt.Errorf("%w: step %d is %q (%s), recorded is %q (%s)", ErrDiverged, i+1, b.Command,
				b.Belief, a.Command, a.Belief)
		}
	}
	if !names.same(want.Anomaly.Note, got.Anomaly.Note) {
		return fmt.Errorf("%w: it ends in %q, recorded is %q", ErrDiverged, got.Anomaly.Note, want.Anomaly.Note)
	}
	return nil
}

// enoughAcks reports whether both steps are the same WAIT, and each got the acknowledgements that it asked for. One may
// have got more than the other, since the last replica answers at any time.
func enoughAcks(a, b interleave.Step) bool {
	var n int
	if _, err := fmt.Sscanf(a.Command, "WAIT %d", &n); err != nil || a.Command != b.Command {
		return false
	}
	x, err1 := strconv.Atoi(a.Reply)
	y, err2 := strconv.Atoi(b.Reply)
	return err1 == nil && err2 == nil && x >= n && y >= n
}

// sameReply reports whether two replies are equal. Numbers above 100 may differ by a hundredth: a number may be a TTL
// in milliseconds, which runs on Redis's own clock if that clock cannot be set.
func sameReply(a, b string) bool {
	if a == b {
		return true
	}
	x, err1 := strconv.ParseInt(a, 10, 64)
	y, err2 := strconv.ParseInt(b, 10, 64)
	return err1 == nil && err2 == nil && x > 100 && y > 100 && max(x, y)-min(x, y) <= max(x, y)/100
}

// Followed is the outcome of Follow.
type Followed struct {
	Counterexample  *interleave.Counterexample // first violation; nil: none
	FirstUnfollowed string                     // first choice that the program could not follow; empty: none
	// Stopped says why the program did not reach an end; empty: the program reached one.
	Stopped string
}

// Follow runs spec's program along the schedule of an earlier counterexample, perhaps of an older version, and has the
// checkers judge the history. Unlike [Replay] it does not compare commands. It skips choices that are no longer
// possible, and when the schedule ends it lets unfinished clients run one after the other. An error says that the
// harness or its environment failed, or that spec cannot be searched (ErrSpec).
func Follow(ctx context.Context, spec Spec, c interleave.Counterexample) (Followed, error) {
	return inOwnWorld(ctx, spec, c, func(r runner) (out Followed, err error) {
		err = catchPanics(func() (err error) {
			out, err = r.follow(ctx, c)
			return err
		})
		if errors.Is(err, schedule.ErrStopped) {
			out.Stopped, err = schedule.Why(err), nil
		}
		return out, err
	})
}

// follow runs the program along the schedule and judges the result.
func (r runner) follow(ctx context.Context, c interleave.Counterexample) (out Followed, err error) {
	r.traced = true
	budget := r.spec.replayBudget(c)
	var s *strategy.Follow
	ex, err := r.run(ctx, budget, func() strategy.Strategy {
		s = &strategy.Follow{Schedule: c.Schedule}
		return s
	})
	if out.FirstUnfollowed = s.FirstUnfollowed; err != nil {
		return out, err
	}
	found := ex.outcome().Judge(ctx, r.spec.Checkers).Anomalies
	if len(found) == 0 {
		return out, nil
	}
	first := slices.MinFunc(found, func(a, b harness.Anomaly) int { return cmp.Compare(a.To, b.To) })
	now, err := r.counterexample(ctx, ex, budget, first.Class)
	out.Counterexample = &now
	return out, err
}
