package plan

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/checkers"
	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/cluster/clustertest"
	"github.com/doublegrant/doublegrant/harness/testenv"
	"github.com/doublegrant/doublegrant/nemesis"
)

// TestEveryFaultHasAnObserver fails if a fault has no row in sights.
func TestEveryFaultHasAnObserver(t *testing.T) {
	rows := sights()
	for _, e := range nemesis.Entries() {
		require.Contains(t, rows, e.Name)
		delete(rows, e.Name)
	}
	require.Empty(t, rows, "rows of no fault")
}

// TestAnObserverSeesEveryFaultActAndHeal observes each fault from outside of the harness, with each shape of a
// partition and each way of cutting.
func TestAnObserverSeesEveryFaultActAndHeal(t *testing.T) {
	observeAll(t, Sentinel, 4, eachOnce(t, Sentinel))
	observeAll(t, ManyMasters, 1, slices.DeleteFunc(eachOnce(t, ManyMasters),
		func(p FaultPlan) bool { return !slices.Contains(ofMasters, p.Shape) }))
}

// TestLongObserverSeesEveryTarget observes some of the other targets, ways of cutting and topologies; a deep run
// observes all.
func TestLongObserverSeesEveryTarget(t *testing.T) {
	testenv.NeedLong(t)
	for _, topology := range []string{Sentinel, Standalone, ManyMasters} {
		some, i := []FaultPlan{}, 0
		for _, p := range everyPlan(t, topology) {
			if i++; testenv.Sampled(i, 10) {
				some = append(some, p)
			}
		}
		observeAll(t, topology, 3, some)
	}
}

// observeAll observes faults on several clusters in parallel, since most of the time is waiting. Faults that should
// move no primary have their own cluster. Its Sentinels are patient, so as not to replace a primary on a busy machine.
func observeAll(t *testing.T, topology string, stages int, all []FaultPlan) {
	on, err := parseTopology(topology)
	require.NoError(t, err)
	calm := slices.DeleteFunc(slices.Clone(all), func(p FaultPlan) bool { return movesPrimary(t, p, on) })
	rest := slices.DeleteFunc(slices.Clone(all), func(p FaultPlan) bool { return !movesPrimary(t, p, on) })
	side := func(name string, on blueprint, some []FaultPlan) {
		t.Run(topology+"/"+name, func(t *testing.T) {
			t.Parallel()
			l := openStage(t, on)
			for _, p := range some {
				l.watch(t, p)
			}
		})
	}
	for i := range stages - 1 {
		var some []FaultPlan
		for j := i; j < len(rest); j += stages - 1 {
			some = append(some, rest[j])
		}
		side(strconv.Itoa(i), on, some)
	}
	on.downAfter = time.Minute
	side("calm", on, calm)
}

// movesPrimary reports whether Sentinels may replace the primary because of the fault.
func movesPrimary(t *testing.T, p FaultPlan, on blueprint) bool {
	f, err := p.findFault("fault", p.Fault, on)
	require.NoError(t, err)
	return on.sentinels > 0 && (f.configured.Can(nemesis.MayLose) || f.Shape == "primary-sentinel")
}

// eachOnce lists each fault of the topology on its default target, with each shape and each way of cutting.
func eachOnce(t *testing.T, topology string) []FaultPlan {
	return plansOn(t, topology, func(e nemesis.Entry) (all []FaultPlan) {
		for _, p := range everyForm(e) {
			usual := p.Host == "" || p.Host == e.Defaults.Host
			if held := p.How == "" || p.How == "hold"; usual && (held || e.Name == "cut") {
				all = append(all, p)
			}
		}
		return all
	})
}

// everyPlan lists each fault of the topology with each target, shape and way of cutting.
func everyPlan(t *testing.T, topology string) []FaultPlan {
	return plansOn(t, topology, func(e nemesis.Entry) []FaultPlan {
		if slices.Contains(e.Takes, "from") {
			return everyLink(everyForm(e), e)
		}
		return everyForm(e)
	})
}

// plansOn lists the forms of all faults that are possible on the topology. The function forms lists those of one fault.
func plansOn(t *testing.T, topology string, forms func(nemesis.Entry) []FaultPlan) (all []FaultPlan) {
	on, err := parseTopology(topology)
	require.NoError(t, err)
	for _, e := range nemesis.Entries() {
		for _, p := range forms(e) {
			if p.Fault = e.Base(); accepted(&p, on) {
				all = append(all, p)
			}
		}
	}
	return all
}

// everyLink lists the first form with each pair of ends, and all forms from clients to the primary.
func everyLink(forms []FaultPlan, e nemesis.Entry) (all []FaultPlan) {
	for i, p := range forms {
		for _, ends := range [][2]string{
			{"clients", "primary"}, {"clients", "nodes"}, {"g0", "primary"}, {"clients", "r1"}, {"replicas", "primary"},
			{"replica", "primary"}, {"primary", "replicas"}, {"sentinels", "primary"}, {"sentinel", "primary"},
			{"sentinels", "replica"},
			{"sentinels", "sentinels"}, {"nodes", "nodes"}, {"nodes", "sentinels"},
		} {
			if p.From, p.To = ends[0], ends[1]; i == 0 || ends[0] == "clients" && ends[1] == "primary" {
				all = append(all, p)
			}
		}
	}
	return all
}

// accepted reports whether the plan's fault is possible on the topology. It sets amounts that are soon reached.
func accepted(p *FaultPlan, on blueprint) bool {
	switch p.Fault {
	case "limit-data":
		p.Bytes = 300
	case "sleep":
		p.For = 4 * time.Second // ends by itself
	}
	_, err := newTimetable([]FaultPlan{*p}, on, time.Second, 1)
	return err == nil
}

// stage is a cluster that serves for many faults, one after the other.
type stage struct {
	*cluster.Cluster
	*observer
	on blueprint
}

func openStage(t *testing.T, on blueprint) *stage {
	t.Helper()
	c := on.cluster(cluster.Options{Clocks: true, DownAfter: on.downAfter})
	clustertest.Start(t, c)
	return &stage{c, observe(t, c), on}
}

// renamed swaps the names of the first and the current primary in the plan, so that a fault on r1 strikes the node that
// clients talk to.
func (l *stage) renamed(p FaultPlan) FaultPlan {
	if all := l.primaries(); l.on.sentinels > 0 && len(all) == 1 && all[0] != "r1" {
		swap := strings.NewReplacer("r1", all[0], all[0], "r1")
		p.Host, p.From, p.To = swap.Replace(p.Host), swap.Replace(p.From), swap.Replace(p.To)
	}
	return p
}

// lasting is the stage's cluster as the System of one run. The cluster outlives the run.
type lasting struct{ *cluster.Cluster }

func (lasting) Start(context.Context, harness.Clock, func(harness.Event), *slog.Logger) error {
	return nil
}
func (lasting) Stop() error { return nil }

// watch runs one fault, under load, beside the observer.
func (l *stage) watch(t *testing.T, p FaultPlan) {
	p = l.renamed(p)
	f, err := p.findFault("fault", p.Fault, l.on)
	require.NoError(t, err)
	name := strings.Trim(fmt.Sprintf("%s %s %s>%s", f.configured.Name, f.How, f.From, f.To), " >")
	t.Run(name, func(t *testing.T) {
		look := *l.observer
		look.T = t
		s := &scene{observer: &look, on: l, f: f, beat: &beat{on: l.Cluster}, lines: map[string]*line{},
			steps: map[int]int64{}, opens: map[int]int64{}}
		fleet := &harness.Fleet{}
		seen := &seen{Nemesis: f.configured.Make(nemesis.Subject{Cluster: l.Cluster, Fleet: fleet}), s: s,
			sight: sights()[f.configured.Entry.Name]}
		res, err := harness.Run(t.Context(), harness.Spec{
			System: lasting{l.Cluster}, Workload: s.beat, Checkers: []harness.Checker{checkers.Gates()},
			Clients: 2 * clientGroups, Rate: 200,
			Duration: time.Millisecond, QuietPeriod: time.Millisecond,
			Faults: []harness.TimedFault{{Nemesis: seen, For: time.Millisecond}}, Fleet: fleet,
		})
		require.NoError(t, err)
		require.Len(t, res.History.Faults, 1)
		on := res.History.Faults[0]
		require.True(t, on.Proved, on.Proof)
		require.Positive(t, on.End)
		require.Equal(t, f.configured.Name, on.Name)
		t.Log(on.Proof)
		for _, l := range s.lines {
			_ = l.Close()
		}
	})
}

// seen is a fault under observation. It heals once it was seen to act and was proved, however long that takes on a busy
// machine. It ends once the heal was seen, too.
type seen struct {
	harness.Nemesis
	s     *scene
	sight sight
}

// Inject looks before the fault, and while it is in force.
func (n *seen) Inject(ctx context.Context, rng *rand.Rand) (harness.Injection, error) {
	s := n.s
	if err := s.look(); err != nil {
		return harness.Injection{}, err
	}
	if n.sight.before != nil {
		n.sight.before(s)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience) // longer than a run gives a fault
	defer cancel()
	inj, err := n.Nemesis.Inject(ctx, rng)
	if err != nil {
		return inj, err
	}
	heal := inj.Heal
	inj.Heal = func(ctx context.Context) error { return n.heal(ctx, heal) }
	s.targets = inj.Targets
	acted := make(chan error, 1)
	go func() { acted <- s.eventually("the fault", func() error { return n.sight.acts(s) }) }()
	var proof string
	if prove := inj.Prove; prove != nil {
		proof, err = prove(ctx)
		inj.Prove = func(context.Context) (string, error) { return proof, nil }
	}
	if touched := inj.Touched; touched != nil && err == nil {
		err = s.eventually("what it touches", func() error { _, err := touched(); return err })
	}
	return inj, errors.Join(err, <-acted)
}

// heal heals, waits until the system is whole, and looks.
func (n *seen) heal(ctx context.Context, heal func(context.Context) error) error {
	s := n.s
	for g := range clientGroups {
		s.steps[g] = s.beat.groups[g].steps.Load()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	if heal != nil {
		if err := heal(ctx); err != nil {
			return err
		}
	}
	if err := s.on.AwaitWhole(ctx); err != nil {
		return err
	}
	if err := s.eventually("the heal", func() error { return n.sight.heals(s) }); err != nil {
		return err
	}
	if s.count("s") > 0 && s.on.on.downAfter > 0 {
		return s.eventually("the same primary", func() error {
			now := s.primaries()
			return want(slices.Equal(now, []string{s.first}), "the primaries are %v, and %s was", now, s.first)
		})
	}
	return nil
}

// look notes the state before the fault, once every client group is at work.
func (s *scene) look() error {
	s.pids = s.processes()
	err := s.eventually("the load", func() error {
		for g := range clientGroups {
			s.opens[g] = s.beat.groups[g].opened.Load()
			if s.beat.groups[g].steps.Load() == 0 {
				return fmt.Errorf("g%d does nothing", g)
			}
		}
		return nil
	})
	if s.count("s") == 0 {
		s.first = "r1" // any of several masters
		return err
	}
	return errors.Join(err, s.eventually("one primary", func() error {
		all := s.primaries()
		s.first = strings.Join(all, " ")
		return want(len(all) == 1, "the primaries are %v", all)
	}))
}

// beat is a workload whose clients show that they are alive: each adds numbers, and notes the time of its own clock.
type beat struct {
	on     *cluster.Cluster
	groups [clientGroups]pulse
}

// pulse holds what is seen of a client group.
type pulse struct {
	opened atomic.Int64 // clients opened so far
	steps  atomic.Int64
	ahead  atomic.Int64 // by how much the group's clock was last seen ahead of the machine's
}

func (b *beat) Name() string          { return "beat" }
func (b *beat) Kinds() []harness.Kind { return []harness.Kind{harness.Add} }

func (b *beat) Open(_ context.Context, group int) (harness.Client, error) {
	b.groups[group].opened.Add(1)
	all, err := b.on.ConnectAll(group)
	return &beater{all, &b.groups[group]}, err
}

type beater struct {
	masters []redis.UniversalClient
	pulse   *pulse
}

func (c *beater) Step(ctx context.Context, s *harness.Session) {
	key := fmt.Sprintf("beat:%d", s.Rand.IntN(100))
	s.Invoke(harness.Op{Kind: harness.Add, Key: "beat", Arg: key}, func(op *harness.Op) {
		for _, m := range c.masters {
			if harness.Checkpoint(ctx) != nil {
				return
			}
			if m.Set(ctx, key, "v", time.Minute).Err() == nil {
				op.Outcome = harness.OK
			}
			if harness.Checkpoint(ctx) != nil {
				return
			}
		}
	})
	c.pulse.ahead.Store(int64(time.Until(harness.Now(ctx))))
	c.pulse.steps.Add(1)
}
