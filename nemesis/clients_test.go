package nemesis_test

import (
	"context"
	"log/slog"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/checkers"
	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/testenv"
	"github.com/doublegrant/doublegrant/nemesis"
	"github.com/doublegrant/doublegrant/workloads"
)

// office is a system of two client groups, a workload that writes down what its clients do, and a topology.
type office struct{ fleet harness.Fleet }

func (*office) Start(context.Context, harness.Clock, func(harness.Event), *slog.Logger) error {
	return nil
}
func (*office) AwaitWhole(context.Context) error        { return nil }
func (*office) Stop() error                             { return nil }
func (*office) Groups() int                             { return 2 }
func (*office) Primary(context.Context) (string, error) { return "r1", nil }
func (*office) RedisNodes() []string                    { return []string{"r1"} }
func (*office) Sentinels() []string                     { return nil }
func (*office) ClientGroups() []string                  { return []string{"g0", "g1"} }

func (*office) Name() string          { return "office" }
func (*office) Kinds() []harness.Kind { return []harness.Kind{harness.Next} }
func (o *office) Open(context.Context, int) (harness.Client, error) {
	return o, nil
}

// Step takes a millisecond; its result says by how much the client's clock is wrong.
func (*office) Step(ctx context.Context, s *harness.Session) {
	s.Invoke(harness.Op{Kind: harness.Next}, func(op *harness.Op) {
		if err := harness.Checkpoint(ctx); err != nil {
			op.Err = "crashed"
			return
		}
		op.Outcome, op.Result = harness.OK, time.Until(harness.Now(ctx)).Round(time.Minute).String()
	})
	s.Sleep(time.Millisecond)
}

// run strikes the eight clients of an office with a fault for 100 ms.
func (o *office) run(t *testing.T, n harness.Nemesis) (harness.Result, error) {
	t.Helper()
	res, err := harness.Run(t.Context(), harness.Spec{
		System: o, Workload: o, Checkers: []harness.Checker{checkers.Sequence()}, Fleet: &o.fleet, Clients: 8, Seed: 1,
		Duration: time.Millisecond, QuietPeriod: 200 * time.Millisecond, Faults: []harness.TimedFault{{Nemesis: n, For: 100 * time.Millisecond}},
	})
	if err == nil {
		require.Len(t, res.History.Faults, 1)
		f := res.History.Faults[0]
		require.True(t, f.Proved, f.Proof)
		t.Log(f.Proof)
	}
	return res, err
}

// counted returns the operations of a group that lie wholly in a span of time, and those of them that count.
func counted(res harness.Result, group int, from, to time.Duration, counts func(harness.Op) bool) (all, those int) {
	for op := range res.History.Ops {
		if res.Meta.Group(op.Client) != group || op.Call < from || op.Return > to {
			continue
		}
		all++
		if counts(op) {
			those++
		}
	}
	return all, those
}

func anything(harness.Op) bool { return true }

func TestCrashClients(t *testing.T) {
	o := &office{}
	res, err := o.run(t, nemesis.CrashClients(&o.fleet, o, nemesis.Named("g1")))
	require.NoError(t, err)
	f := res.History.Faults[0]
	require.Equal(t, []string{"g1"}, f.Targets)
	require.Contains(t, f.Proof, "4 clients of g1 are to die")
	require.Contains(t, f.Proof, "4 have died")
	require.Equal(t, 4, o.fleet.Crashes(1))
	require.Zero(t, o.fleet.Crashes(0))
	all, newcomers := counted(res, 1, f.Heal, res.History.End.At, func(op harness.Op) bool { return op.Client >= 8 })
	require.Positive(t, all)
	require.Equal(t, all, newcomers, "somebody was heard of after its crash")
	_, newcomers = counted(res, 0, 0, res.History.End.At, func(op harness.Op) bool { return op.Client >= 8 })
	require.Zero(t, newcomers)
}

func TestFreezeClients(t *testing.T) {
	o := &office{}
	res, err := o.run(t, nemesis.FreezeClients(&o.fleet, o, nemesis.Named("g0")))
	require.NoError(t, err)
	f := res.History.Faults[0]
	require.Equal(t, []int{0}, f.Frozen)
	require.Empty(t, f.Groups, "nobody is cut off")
	require.Contains(t, f.Proof, "4 clients of g0 are to stand still")
	require.Contains(t, f.Proof, "4 stood")
	for group, frozen := range []bool{true, false} {
		n, _ := counted(res, group, f.Active, f.Heal, anything)
		require.Equal(t, frozen, n == 0, "group %d did %d operations", group, n)
	}
	n, _ := counted(res, 0, f.Heal, res.History.End.At, anything)
	require.Positive(t, n, "they do not go on")
}

func TestSkewClients(t *testing.T) {
	for ahead, shown := range map[time.Duration]string{time.Minute: "1m0s fast", -time.Hour: "1h0m0s slow"} {
		o := &office{}
		res, err := o.run(t, nemesis.SkewClients(&o.fleet, o, nemesis.Named("g1"), ahead))
		require.NoError(t, err)
		f := res.History.Faults[0]
		require.Contains(t, f.Proof, "the clocks of 4 clients of g1 are "+shown)
		wrong := func(op harness.Op) bool { return op.Result == ahead.String() }
		all, those := counted(res, 1, f.Active, f.Heal, wrong)
		require.Positive(t, all)
		require.Equal(t, all, those)
		_, those = counted(res, 1, f.End, res.History.End.At, wrong)
		require.Zero(t, those, "still wrong after the heal")
		_, those = counted(res, 0, 0, res.History.End.At, wrong)
		require.Zero(t, those)
	}
}

func TestFaultsOfClientsThatCannotBe(t *testing.T) {
	type maker = func(o *office, f *harness.Fleet) harness.Nemesis
	crash := func(h nemesis.Target) maker {
		return func(o *office, f *harness.Fleet) harness.Nemesis { return nemesis.CrashClients(f, o, h) }
	}
	for want, n := range map[string]maker{
		"r1 is not a client group: choose clients, group or one of g0, g1": crash(nemesis.Named("r1")),
		`there is no host "g7"`: func(o *office, f *harness.Fleet) harness.Nemesis {
			return nemesis.FreezeClients(f, o, nemesis.Named("g7"))
		},
		"there is no sentinels in this topology": crash(nemesis.Sentinels()),
		"ahead by 0 is right": func(o *office, f *harness.Fleet) harness.Nemesis {
			return nemesis.SkewClients(f, o, nemesis.Clients(), 0)
		},
		"no client runs in g0, g1: give the run this fault's Fleet": func(o *office, _ *harness.Fleet) harness.Nemesis {
			return nemesis.FreezeClients(&harness.Fleet{}, o, nemesis.Clients())
		},
		"another skew is in force": func(o *office, f *harness.Fleet) harness.Nemesis {
			f.Skew(1, -time.Minute)
			return nemesis.SkewClients(f, o, nemesis.Clients(), time.Minute)
		},
	} {
		o := &office{}
		_, err := o.run(t, n(o, &o.fleet))
		require.ErrorContains(t, err, want)
		require.Zero(t, o.fleet.Ahead(0), "not healed")
	}
}

func TestClientsThatComeToNoCheckpointAreNotStruck(t *testing.T) {
	t.Parallel()
	o := &office{}
	var errs []error
	hung := hanging{o, make(chan struct{}, 8), make(chan struct{})}
	_, err := harness.Run(t.Context(), harness.Spec{
		System: o, Workload: hung, Checkers: []harness.Checker{checkers.Sequence()}, Fleet: &o.fleet, Clients: 8,
		Duration: time.Millisecond, QuietPeriod: time.Millisecond, Faults: []harness.TimedFault{{Nemesis: idle{func() {
			defer close(hung.release)
			for range 8 { // all of them hang
				<-hung.inside
			}
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			for _, n := range []harness.Nemesis{
				nemesis.FreezeClients(&o.fleet, o, nemesis.Clients()), nemesis.CrashClients(&o.fleet, o, nemesis.Clients()),
			} {
				inj, err := n.Inject(ctx, rand.New(rand.NewPCG(1, 2)))
				errs = append(errs, err)
				if inj.Heal != nil {
					errs = append(errs, inj.Heal(t.Context()))
				}
			}
		}}}},
	})
	require.NoError(t, err)
	require.Len(t, errs, 3, "a freeze has to be healed, a crash not")
	require.ErrorContains(t, errs[0], "of 8 clients of g0, g1 none stands: no client came to a checkpoint")
	require.NoError(t, errs[1])
	require.ErrorContains(t, errs[2], "of 8 clients of g0, g1 none has died: no client came to a checkpoint")
}

// hanging is a workload whose clients hang.
type hanging struct {
	*office
	inside  chan struct{} // takes a client that hangs, if there is room
	release chan struct{}
}

func (h hanging) Open(context.Context, int) (harness.Client, error) { return h, nil }

func (h hanging) Step(context.Context, *harness.Session) {
	select {
	case h.inside <- struct{}{}:
	default:
	}
	<-h.release
}

// idle is a nemesis that does something.
type idle struct{ do func() }

func (idle) Name() string { return "idle" }
func (n idle) Inject(context.Context, *rand.Rand) (harness.Injection, error) {
	n.do()
	return harness.Injection{Bite: "done"}, nil
}

// live is a run of a variant's workload on a real Redis that has nobody but its clients to strike.
type live struct {
	*cluster.Cluster
	fleet harness.Fleet
	spec  harness.Spec
}

func newLive(groups int) *live {
	l := &live{Cluster: cluster.Standalone(cluster.Options{ClientGroups: groups})}
	l.spec = harness.Spec{System: l.Cluster, Fleet: &l.fleet, Clients: 60, Seed: 3, Duration: time.Second, QuietPeriod: 300 * time.Millisecond}
	return l
}

// strike adds a fault, as often as times says.
func (l *live) strike(times int, n harness.Nemesis, for_ time.Duration) {
	for range times {
		l.spec.Faults = append(l.spec.Faults, harness.TimedFault{Nemesis: n, For: for_})
	}
}

func (l *live) judged(t *testing.T, w harness.Workload, cs ...harness.Checker) harness.Result {
	t.Helper()
	l.spec.Workload, l.spec.Checkers = w, append(cs, checkers.Gates())
	res, err := harness.Run(t.Context(), l.spec)
	require.NoError(t, err)
	for _, f := range res.History.Faults {
		require.True(t, f.Proved, f.Proof)
	}
	for _, g := range res.Judgements {
		if g.Checker == "gates" {
			require.Equal(t, harness.Valid, g.Verdict, g.Reason)
		}
	}
	return res
}

func variant(t *testing.T, id string) workloads.Variant {
	t.Helper()
	v, err := workloads.Find(id)
	require.NoError(t, err)
	return v
}

func TestLongALockWithoutALeaseIsStuckWhenItsOwnerCrashes(t *testing.T) {
	testenv.NeedLong(t)
	for id, want := range map[string]map[harness.Class]bool{"lock/setnx": {harness.StuckLock: true}, "lock/set-nx-px": {}} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			l := newLive(2)
			l.strike(2, nemesis.CrashClients(&l.fleet, l, nemesis.Clients()), 600*time.Millisecond)
			// No client takes more than one lock with it, so some are left for the load that has to be after the faults.
			w := variant(t, id).Workload(l, workloads.Options{Keys: 200, TTL: time.Second})
			res := l.judged(t, w, checkers.Mutex(), checkers.Stuck())
			require.Equal(t, want, found(res))
		})
	}
}

// found returns the classes of what was found.
func found(res harness.Result) map[harness.Class]bool {
	out := map[harness.Class]bool{}
	for class := range res.Totals {
		out[class] = true
	}
	return out
}

func TestLongAFastClockBreaksALockThatReadsClocks(t *testing.T) {
	testenv.NeedLong(t)
	for id, want := range map[string]bool{"lock/getset-deadline": true, "lock/set-nx-px": false} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			l := newLive(2)
			l.strike(1, nemesis.SkewClients(&l.fleet, l, nemesis.Named("g1"), 500*time.Millisecond), time.Second)
			l.spec.QuietPeriod = 1500 * time.Millisecond // the last deadline of a fast clock is that far ahead
			res := l.judged(t, variant(t, id).Workload(l, workloads.Options{Keys: 6, TTL: 300 * time.Millisecond}), checkers.Mutex())
			doubles := 0
			for _, a := range res.Anomalies {
				if a.Class == harness.DoubleGrant && len(a.Faults) > 0 {
					doubles++
				}
			}
			require.Equal(t, want, doubles > 0)
			require.Equal(t, want, res.Verdict == harness.Invalid)
		})
	}
}

func TestLongWhatCrashesLeaveOfMessages(t *testing.T) {
	testenv.NeedLong(t)
	for id, want := range map[string]map[harness.Class]bool{
		"dedup/set-nx-ex":     {harness.LostMessage: true},
		"dedup/setnx-expire":  {harness.LostMessage: true, harness.ImmortalMark: true},
		"dedup/claim-confirm": {},
	} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			l := newLive(2)
			l.strike(6, nemesis.CrashClients(&l.fleet, l, nemesis.Clients()), 300*time.Millisecond)
			l.spec.QuietPeriod = 50 * time.Millisecond
			w := variant(t, id).Workload(l, workloads.Options{TTL: 20 * time.Second})
			// Not judged by the gates: no message outlives its window in so short a run.
			l.spec.Workload, l.spec.Checkers = w, []harness.Checker{checkers.Dedup(), checkers.Delivery()}
			res, err := harness.Run(t.Context(), l.spec)
			require.NoError(t, err)
			require.Equal(t, want, found(res))
			require.Equal(t, len(want) > 0, res.Verdict == harness.Invalid)
		})
	}
}

// TestLongKleppmannsPause is the case of "How to do distributed locking" (2016): an owner is paused for longer than its lease,
// between its read and its write, and others update meanwhile.
func TestLongKleppmannsPause(t *testing.T) {
	testenv.NeedLong(t)
	want := map[harness.Class]bool{harness.StaleHolder: true, harness.LostWrite: true}
	t.Run("lock/set-nx-px", func(t *testing.T) {
		t.Parallel()
		seen := map[harness.Class]bool{}
		for range 4 { // a busy machine may pause no owner just there
			res := pauseOwners(t, "lock/set-nx-px")
			require.Zero(t, refusedWrites(res))
			maps.Copy(seen, found(res))
			if len(seen) >= len(want) {
				break
			}
		}
		require.Equal(t, want, seen)
	})
	t.Run("lock/fenced", func(t *testing.T) {
		t.Parallel()
		refused := 0
		for range 4 { // the same
			res := pauseOwners(t, "lock/fenced")
			require.Empty(t, found(res))
			if refused = refusedWrites(res); refused > 0 {
				break
			}
		}
		require.Positive(t, refused)
	})
}

// pauseOwners runs a lock whose owners update a resource, while some clients are paused for longer than their leases.
func pauseOwners(t *testing.T, id string) harness.Result {
	t.Helper()
	l := newLive(2)
	l.strike(3, nemesis.FreezeClients(&l.fleet, l, nemesis.Named("g0")), 900*time.Millisecond)
	w := variant(t, id).Workload(l, workloads.Options{Keys: 20, TTL: 400 * time.Millisecond, Resource: true})
	return l.judged(t, w, checkers.Mutex(), checkers.Holders(), checkers.Writes())
}

// refusedWrites counts the writes that the resource refused.
func refusedWrites(res harness.Result) (count int) {
	for op := range res.History.Ops {
		if op.Kind == harness.Add && op.Outcome == harness.Fail {
			count++
		}
	}
	return count
}
