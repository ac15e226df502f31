package nemesis_test

import (
	"context"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
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

// office is a system of two client groups, a topology, and a workload whose clients record what their clock shows.
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

// Step takes a millisecond, and records by how much the client's clock is wrong.
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
		Duration: time.Millisecond, QuietPeriod: 200 * time.Millisecond,
		Faults: []harness.TimedFault{{Nemesis: n, For: 100 * time.Millisecond}},
	})
	if err == nil {
		require.Len(t, res.History.Faults, 1)
		f := res.History.Faults[0]
		require.True(t, f.Proved, f.Proof)
		t.Log(f.Proof)
	}
	return res, err
}

// clientFault is the constructor of a fault of clients.
type clientFault = func(*harness.Fleet, nemesis.Topology, nemesis.Target) harness.Nemesis

func skewed(ahead time.Duration) clientFault {
	return func(f *harness.Fleet, c nemesis.Topology, h nemesis.Target) harness.Nemesis {
		return nemesis.SkewClients(f, c, h, ahead)
	}
}

// TestFaultsOfClientsStrikeOneGroup checks that a fault of one client group leaves the others alone. What becomes of
// the clients is tested beside harness.Fleet, and on a real cluster in harness/plan.
func TestFaultsOfClientsStrikeOneGroup(t *testing.T) {
	for proof, c := range map[string]struct {
		fault   clientFault
		did     []string // the results of what they do meanwhile
		frozen  []int
		crashed int
	}{
		`^4 clients of g1 are to die, and \d have; 4 have died$`:   {nemesis.CrashClients, []string{"0s"}, nil, 4},
		`^4 clients of g1 are to stand still, and \d do; 4 stood$`: {nemesis.FreezeClients, nil, []int{1}, 0},
		`^the clocks of 4 clients of g1 are 1m0s fast$`:            {skewed(time.Minute), []string{"1m0s"}, nil, 0},
		`^the clocks of 4 clients of g1 are 1h0m0s slow$`:          {skewed(-time.Hour), []string{"-1h0m0s"}, nil, 0},
	} {
		o := &office{}
		res, err := o.run(t, c.fault(&o.fleet, o, nemesis.Named("g1")))
		require.NoError(t, err)
		f := res.History.Faults[0]
		require.Regexp(t, proof, f.Proof)
		require.Equal(t, []string{"g1"}, f.Targets)
		require.ElementsMatch(t, c.frozen, f.Frozen)
		require.Empty(t, f.Groups, "nobody is cut off")
		require.Equal(t, []int{0, c.crashed}, []int{o.fleet.Crashes(0), o.fleet.Crashes(1)})
		did := map[string]bool{}
		for op := range res.History.Ops {
			if res.Meta.Group(op.Client) == 1 && op.Outcome == harness.OK && op.Call > f.Active && op.Return < f.Heal {
				did[op.Result] = true
			}
		}
		require.Equal(t, c.did, slices.Collect(maps.Keys(did)), proof)
	}
}

func TestFaultsOfClientsThatCannotBe(t *testing.T) {
	for want, c := range map[string]struct {
		fault   clientFault
		strikes nemesis.Target
	}{
		"r1 is not a client group: choose clients, group or one of g0, g1": {nemesis.CrashClients, nemesis.Named("r1")},
		`there is no host "g7"`:                  {nemesis.FreezeClients, nemesis.Named("g7")},
		"there is no sentinels in this topology": {nemesis.CrashClients, nemesis.Sentinels()},
		"ahead by 0 is right":                    {skewed(0), nemesis.Clients()},
		"no client runs in g0, g1: give the run this fault's Fleet": {
			func(_ *harness.Fleet, c nemesis.Topology, h nemesis.Target) harness.Nemesis {
				return nemesis.FreezeClients(&harness.Fleet{}, c, h)
			}, nemesis.Clients(),
		},
		"another skew is in force": {
			func(f *harness.Fleet, c nemesis.Topology, h nemesis.Target) harness.Nemesis {
				f.Skew(1, -time.Minute)
				return nemesis.SkewClients(f, c, h, time.Minute)
			}, nemesis.Clients(),
		},
	} {
		o := &office{}
		_, err := o.run(t, c.fault(&o.fleet, o, c.strikes))
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
				nemesis.FreezeClients(&o.fleet, o, nemesis.Clients()),
				nemesis.CrashClients(&o.fleet, o, nemesis.Clients()),
			} {
				inj, err := n.Inject(ctx, rng())
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

// hanging is a workload whose clients hang until release is closed.
type hanging struct {
	*office
	inside  chan struct{} // gets an element from each client that hangs, if there is room
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

// idle is a nemesis that calls do and breaks nothing.
type idle struct{ do func() }

func (idle) Name() string { return "idle" }
func (n idle) Inject(context.Context, *rand.Rand) (harness.Injection, error) {
	n.do()
	return harness.Injection{Bite: "done"}, nil
}

// TestLongWhatFaultsOfClientsDo checks which violations faults of clients cause under load on a real Redis, and that
// they cause no others. A load is run up to four times until all are found, since on a busy machine a fault may strike
// no owner at the right moment.
func TestLongWhatFaultsOfClientsDo(t *testing.T) {
	testenv.NeedLong(t)
	const ms, sec = time.Millisecond, time.Second
	type classes = []harness.Class
	crash, freeze, fast := nemesis.CrashClients, nemesis.FreezeClients, skewed(500*ms)
	// No client takes more than one lock with it, so some of 200 are left for the load that has to be after the faults.
	twohundred, messages := workloads.Options{Keys: 200, TTL: sec}, workloads.Options{TTL: 20 * sec}
	few, guarded := workloads.Options{Keys: 6, TTL: 300 * ms}, workloads.Options{Keys: 20, TTL: 400 * ms,
		Resource: true}
	for _, c := range []struct {
		variant string
		options workloads.Options
		fault   clientFault
		strikes string
		times   int
		lasts   time.Duration
		calm    time.Duration // in the end
		want    classes
	}{
		{"lock/setnx", twohundred, crash, "clients", 2, 600 * ms, 300 * ms, classes{harness.StuckLock}},
		{"lock/set-nx-px", twohundred, crash, "clients", 2, 600 * ms, 300 * ms, nil},
		// the last deadline is that far ahead
		{"lock/getset-deadline", few, fast, "g1", 1, sec, 1500 * ms, classes{harness.DoubleGrant}},
		{"lock/set-nx-px", few, fast, "g1", 1, sec, 1500 * ms, nil},
		{"dedup/set-nx-ex", messages, crash, "clients", 6, 300 * ms, 50 * ms, classes{harness.LostMessage}},
		{"dedup/setnx-expire", messages, crash, "clients", 6, 300 * ms, 50 * ms,
			classes{harness.LostMessage, harness.ImmortalMark}},
		{"dedup/claim-confirm", messages, crash, "clients", 6, 300 * ms, 50 * ms, nil},
		// As in "How to do distributed locking" (Kleppmann, 2016): an owner is paused for longer than its lease between
		// read and write.
		{"lock/set-nx-px", guarded, freeze, "g0", 3, 900 * ms, 300 * ms,
			classes{harness.StaleHolder, harness.LostWrite}},
		{"lock/fenced", guarded, freeze, "g0", 3, 900 * ms, 300 * ms, nil},
	} {
		t.Run(c.variant, func(t *testing.T) {
			t.Parallel()
			v, err := workloads.Find(c.variant)
			require.NoError(t, err)
			refuses, refused, found := c.variant == "lock/fenced", 0, map[harness.Class]bool{}
			for try := 0; try == 0 || try < 4 && (len(found) < len(c.want) || refuses && refused == 0); try++ {
				s, fleet := cluster.Standalone(cluster.Options{ClientGroups: 2}), &harness.Fleet{}
				h, err := nemesis.ParseTarget(c.strikes)
				require.NoError(t, err)
				w := v.Workload(s, c.options)
				res, err := harness.Run(t.Context(), harness.Spec{
					System: s, Fleet: fleet, Clients: 60, Seed: 3, Duration: sec, QuietPeriod: c.calm, Workload: w,
					Checkers: checkers.For(w),
					Faults: slices.Repeat(
						[]harness.TimedFault{{Nemesis: c.fault(fleet, s, h), For: c.lasts}}, c.times),
				})
				require.NoError(t, err)
				for _, f := range res.History.Faults {
					require.True(t, f.Proved, f.Proof)
				}
				for _, j := range res.Judgements { // no message outlives its window in so short a run
					require.False(t, j.Checker == "gates" && j.Verdict != harness.Valid && v.Family == workloads.Lock,
						j.Reason)
				}
				for class := range res.Totals {
					found[class] = true
				}
				for op := range res.History.Ops { // writes that the resource refused
					if op.Kind == harness.Add && op.Outcome == harness.Fail {
						refused++
					}
				}
			}
			if found[harness.DoubleGrant] {
				delete(found, harness.StolenRelease) // one owner of two may give up what is the other's
			}
			require.ElementsMatch(t, c.want, slices.Collect(maps.Keys(found)))
			require.Equal(t, refuses, refused > 0)
		})
	}
}
