package harness_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

// tenth reports every tenth operation as a violation.
type tenth struct {
	n      int
	passes int
}

func (*tenth) Name() string { return "tenth" }

func (c *tenth) Check(_ context.Context, h harness.History, found func(harness.Anomaly)) harness.Judgement {
	for range 2 {
		c.passes++
		for op := range h.Ops {
			if c.passes > 1 {
				continue
			}
			if c.n++; c.n%10 == 0 {
				found(harness.Anomaly{Class: harness.DuplicateNumber, Ops: []harness.Op{op}, Note: fmt.Sprint(c.n),
					To: op.Return})
			}
		}
	}
	return harness.Judgement{Verdict: harness.Invalid}
}

func TestWatchersFindWhileTheLoadGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, w := &fake{}, &tenth{}
		var found []time.Duration
		var progress, seen atomic.Int64
		buggy := checking{"buggy", func(h harness.History, _ func(harness.Anomaly)) harness.Judgement {
			for range h.Ops {
				if seen.Add(1) == 5 {
					panic("a bug")
				}
			}
			return harness.Judgement{}
		}}
		told := strike{"until it is told", func(ctx context.Context, _ *rand.Rand) (harness.Injection, error) {
			return harness.Injection{Bite: "found before the end"},
				await(ctx, func() bool { return progress.Load() > 0 })
		}}
		res := ran(t, harness.Spec{
			System: f, Workload: f, Checkers: []harness.Checker{&counter{}}, Clients: 8, Duration: time.Millisecond,
			Faults: []harness.TimedFault{{Nemesis: told}}, QuietPeriod: time.Millisecond,
			Watchers: []harness.Checker{buggy, w},
			OnAnomaly: func(a harness.Anomaly, at time.Duration) {
				found = append(found, at)
				require.LessOrEqual(t, a.To, at)
			},
			Progress: func(p harness.Progress) { progress.Store(p.Violations) },
		})
		require.Equal(t, harness.Valid, res.Verdict, "what watchers find does not decide")
		require.Len(t, opsOf(t, res.History), w.n, "a watcher sees every operation, once")
		require.Len(t, found, w.n/10)
		require.Less(t, found[0], res.History.Faults[0].Active)
		require.Empty(t, res.Notes)
		require.EqualValues(t, 5, seen.Load())
	})
}

// A stolen release that a fault may explain is reported at once as a double grant, which is its class in the verdict.
func TestWhatIsToldHasTheClassThatItKeeps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		thefts := checking{"thefts", func(h harness.History, found func(harness.Anomaly)) harness.Judgement {
			for op := range h.Ops {
				found(harness.Anomaly{Class: harness.StolenRelease, From: op.Call, To: op.Return,
					Note: "two owners; a release"})
			}
			return harness.Judgement{}
		}}
		cuts := strike{"cut", func(context.Context, *rand.Rand) (harness.Injection, error) {
			return harness.Injection{Bite: "it bites"}, nil
		}}
		var told []harness.Anomaly
		res := ran(t, harness.Spec{
			System: f, Workload: f, Checkers: []harness.Checker{&counter{}}, Clients: 4, Duration: 2 * time.Second,
			Faults:      []harness.TimedFault{{Nemesis: cuts, For: 300 * time.Millisecond}},
			QuietPeriod: 500 * time.Millisecond, Watchers: []harness.Checker{thefts},
			OnAnomaly: func(a harness.Anomaly, _ time.Duration) { told = append(told, a) },
		})
		cut, classes := harness.Influences(res.History.Faults)[0], map[harness.Class]int{}
		for _, a := range told {
			classes[a.Class]++
			require.Equal(t, cut.Overlaps(a.From, a.To), a.Class == harness.DoubleGrant, "%v to %v", a.From, a.To)
			require.Equal(t, a.Class == harness.StolenRelease, a.Note != "two owners", a.Note)
		}
		require.Positive(t, classes[harness.DoubleGrant])
		require.Positive(t, classes[harness.StolenRelease])
	})
}

// plenty is a quota that is filled by a number of operations.
type plenty struct {
	of     int
	enough func()
	seen   int
}

func (*plenty) Name() string { return "plenty" }

func (q *plenty) Check(_ context.Context, h harness.History, _ func(harness.Anomaly)) harness.Judgement {
	for range h.Ops {
		if q.seen++; q.seen == q.of {
			q.enough()
		}
	}
	return harness.Judgement{NothingToJudge: true}
}

func (q *plenty) Lacking() string {
	if q.seen >= q.of {
		return ""
	}
	return fmt.Sprintf("only %d operations", q.seen)
}

// A load with a quota ends when the quota is filled, but not before its faults have had their time. If its time is over
// first, it ends without a valid verdict.
func TestALoadWithAQuotaEndsWhenItIsFilled(t *testing.T) {
	const most = time.Hour
	for _, x := range []struct {
		of     int
		fault  time.Duration
		least  time.Duration
		filled bool
	}{
		{of: 10, filled: true},
		{of: 10, fault: time.Minute, least: time.Minute, filled: true},
		{of: 1 << 40, least: most},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{}
			spec := harness.Spec{
				System: f, Workload: f, Checkers: []harness.Checker{&counter{}}, Clients: 1, Rate: 1, Duration: most,
				QuietPeriod: time.Second,
				Quota:       func(enough func()) harness.Quota { return &plenty{of: x.of, enough: enough} },
			}
			if x.fault > 0 {
				cuts := strike{"cut", func(context.Context, *rand.Rand) (harness.Injection, error) {
					return harness.Injection{Bite: "it bites"}, nil
				}}
				spec.Faults = []harness.TimedFault{{Nemesis: cuts, For: x.fault}}
			}
			res := ran(t, spec)
			require.Equal(t, x.filled, res.History.End.Reason == "", res.History.End.Reason)
			require.GreaterOrEqual(t, res.History.End.At, x.least)
			require.Equal(t, x.filled, res.History.End.At < most/2)
		})
	}
}

// stuck returns a watcher that blocks at the first operation.
func stuck(until chan struct{}) harness.Checker {
	return checking{"stuck", func(h harness.History, found func(harness.Anomaly)) harness.Judgement {
		for range h.Ops {
			<-until
		}
		found(harness.Anomaly{Class: harness.LostMessage, Note: "seen after the end"})
		return harness.Judgement{}
	}}
}

// The second watcher sees everything, although the first one blocks.
func TestAWatcherThatHangsIsLeftBehindAndHoldsNobodyUp(t *testing.T) {
	until := make(chan struct{})
	t.Cleanup(func() { close(until) })
	ctx, enough := context.WithTimeout(t.Context(), time.Minute)
	defer enough()
	const most = 400_000 // a watcher may be 262,144 operations behind, plus the first batch
	var done atomic.Int64
	f, w := &fake{}, &tenth{}
	flood := stepping{f, func(_ context.Context, s *harness.Session) {
		for range 100 {
			s.Invoke(harness.Op{Kind: harness.Next}, func(op *harness.Op) { op.Outcome = harness.OK })
		}
		if done.Add(100) >= most {
			enough()
		}
	}}
	var log strings.Builder
	res, err := harness.Run(ctx, harness.Spec{
		System: f, Workload: flood, Checkers: []harness.Checker{&counter{}}, Clients: 8, Duration: time.Hour,
		Watchers: []harness.Checker{stuck(until), w}, Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	require.NoError(t, err)
	require.ErrorIs(t, ctx.Err(), context.Canceled, "the load stood still")
	require.Len(t, res.Notes, 1)
	require.Contains(t, res.Notes[0], "stuck was ")
	require.Contains(t, res.Notes[0], "operations behind the recording")
	require.Contains(t, log.String(), "a watcher could not keep up")
	n := len(opsOf(t, res.History))
	require.GreaterOrEqual(t, n, most)
	require.EqualValues(t, done.Load(), n, "everything is on record")
	require.Equal(t, n, w.n)
}

func TestARunEndsThoughAWatcherDoesNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		until := make(chan struct{})
		f := &fake{}
		var found atomic.Int64
		began := time.Now()
		one := strike{"until there is an operation",
			func(ctx context.Context, _ *rand.Rand) (harness.Injection, error) {
				return harness.Injection{Bite: "there is"}, await(ctx, func() bool { return f.n.Load() > 0 })
			}}
		res := ran(t, harness.Spec{
			System: f, Workload: f, Checkers: []harness.Checker{&counter{}}, Clients: 2, Duration: time.Millisecond,
			Rate:   100,
			Faults: []harness.TimedFault{{Nemesis: one}}, QuietPeriod: time.Millisecond,
			Watchers: []harness.Checker{stuck(until)}, OnAnomaly: func(harness.Anomaly, time.Duration) { found.Add(1) },
		})
		require.Less(t, time.Since(began), 30*time.Second)
		require.Equal(t, harness.Valid, res.Verdict, "the record is judged whole")
		require.NotEmpty(t, opsOf(t, res.History))
		require.Len(t, res.Notes, 1)
		require.Contains(t, res.Notes[0], "stuck had not seen the end of the recording 5s after it")
		close(until)
		synctest.Wait()
		require.Zero(t, found.Load(), "it is not listened to any more")
	})
}

func TestTheFirstViolationEndsTheLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		afterAFault := checking{"tenth", func(h harness.History, found func(harness.Anomaly)) harness.Judgement {
			_ = await(t.Context(), f.broken.Load) // the run waits for the fault to heal
			return (&tenth{}).Check(t.Context(), h, found)
		}}
		began := time.Now()
		res := ran(t, harness.Spec{
			System: f, Workload: f, Checkers: []harness.Checker{&tenth{}}, Watchers: []harness.Checker{afterAFault},
			StopOnFirst: true,
			Clients:     2, Duration: time.Hour,
			Faults: []harness.TimedFault{{Nemesis: breaker{fake: f}, After: time.Millisecond, For: time.Hour}},
		})
		require.Less(t, time.Since(began), time.Minute)
		require.Equal(t, harness.Invalid, res.Verdict)
		require.NotNil(t, res.History.End)
		require.Empty(t, res.History.End.Reason, "a run that found what it looked for came to its end")
		require.EqualValues(t, 1, f.healed.Load())
		require.True(t, f.stopped)
	})
}

// Steps that were due during a stall are late, but are done: about 100 steps a second for half a second.
func TestAnOpenLoopCountsFromWhenOperationsWereDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, stalled := &fake{}, false
		// only the first operation takes time
		sluggish := stepping{f, func(_ context.Context, s *harness.Session) {
			s.Invoke(harness.Op{Kind: harness.Next}, func(op *harness.Op) {
				if op.Outcome = harness.OK; !stalled {
					stalled = true
					s.Sleep(500 * time.Millisecond)
				}
			})
			s.Invoke(harness.Op{Kind: harness.Next}, func(op *harness.Op) { op.Outcome = harness.OK })
		}}
		res := ran(t, harness.Spec{
			System: f, Workload: sluggish, Checkers: []harness.Checker{&counter{}},
			Clients: 1, Duration: time.Second, Rate: 100, OpenLoop: true, Seed: 1,
		})
		require.True(t, res.Meta.Open)
		n, late, due := 0, 0, time.Duration(0)
		for op := range res.History.Ops {
			if n++; n%2 == 0 {
				require.Zero(t, op.Due, "the second operation of a step begins when it can")
				continue
			}
			require.Greater(t, op.Due, due)
			require.GreaterOrEqual(t, op.Call, op.Due, "nothing begins before it is due")
			if due = op.Due; op.Call-op.Due > 50*time.Millisecond {
				late++
			}
		}
		require.Greater(t, late, 20)
	})
}
