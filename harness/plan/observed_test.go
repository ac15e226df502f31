package plan

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/checkers"
	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/cluster/clustertest"
	"github.com/doublegrant/doublegrant/nemesis"
)

// deep asks for the long form of tests, such as every target of every fault: see test-deep in the Makefile.
var deep = flag.Bool("deep", false, "observe every fault on every target that it accepts, on every topology")

// TestEveryFaultHasAnObserver fails if a fault has no row in sights.
func TestEveryFaultHasAnObserver(t *testing.T) {
	rows := sights()
	for _, e := range nemesis.Entries() {
		require.Contains(t, rows, e.Name)
		delete(rows, e.Name)
	}
	require.Empty(t, rows, "rows of no fault")
}

// TestAnObserverSeesEveryFaultActAndHeal looks at each fault with nothing of the harness's own. It takes each fault on its
// default target and each of the shapes, on a Sentinel cluster, and observes a third of these. With -deep it observes all, and
// adds all other targets, ways of cutting and topologies.
func TestAnObserverSeesEveryFaultActAndHeal(t *testing.T) {
	topologies, every := []string{Sentinel}, 3
	if *deep {
		every = 1
		topologies = append(topologies, Standalone, ManyMasters)
	}
	for _, name := range topologies {
		on, err := parseTopology(name)
		require.NoError(t, err)
		all := plansOn(on)
		for i := range stages {
			t.Run(fmt.Sprintf("%s/%d", name, i), func(t *testing.T) {
				t.Parallel() // most of the time is waiting
				l := openStage(t, on)
				for j := i; j < len(all); j += stages * every {
					l.watch(t, all[j])
				}
			})
		}
	}
}

// stages is the number of clusters of one topology that are used side by side.
const stages = 3

// plansOn lists the faults to observe on a topology, each as short as possible.
func plansOn(on blueprint) (all []FaultPlan) {
	for _, e := range nemesis.Entries() {
		forms := []FaultPlan{{}}
		if slices.Contains(e.Takes, "sides") || *deep {
			forms = everyForm(e)
		}
		if slices.Contains(e.Takes, "from") && *deep {
			forms = everyLink(forms, e)
		}
		for _, p := range forms {
			if !*deep && p.How != "" && p.How != "hold" {
				continue
			}
			p.Fault = e.Base()
			if accepted(&p, on) {
				all = append(all, p)
			}
		}
	}
	return all
}

// everyLink lists each form on each kind of links; ways of cutting are tried on one kind.
func everyLink(forms []FaultPlan, e nemesis.Entry) (all []FaultPlan) {
	for i, p := range forms {
		for _, ends := range [][2]string{
			{"clients", "primary"}, {"clients", "nodes"}, {"g0", "primary"}, {"clients", "r1"}, {"replicas", "primary"},
			{"replica", "primary"}, {"primary", "replicas"}, {"sentinels", "primary"}, {"sentinel", "primary"}, {"sentinels", "replica"},
			{"sentinels", "sentinels"}, {"nodes", "nodes"}, {"nodes", "sentinels"},
		} {
			if p.From, p.To = ends[0], ends[1]; i == 0 || ends[0] == "clients" && ends[1] == "primary" {
				all = append(all, p)
			}
		}
	}
	return all
}

// accepted reports whether the plan's fault is possible on the topology. It sets the shortest time, and amounts that are soon
// reached.
func accepted(p *FaultPlan, on blueprint) bool {
	if p.Fault == "limit-data" {
		p.Bytes = 300
	}
	tt, err := newTimetable([]FaultPlan{*p}, on, time.Second, 1)
	if err != nil {
		return false
	}
	f := tt.timedFaults()[0].fault
	p.For = 1500 * time.Millisecond // a replica says something each second
	if least := f.it.Least(on); least > 0 {
		p.For = max(p.For, least+time.Second)
	}
	if p.For > on.Failover() && on.sentinels > 0 && f.it.Can(nemesis.MayLose) {
		p.For = secondElection
	}
	return true
}

// secondElection is long enough for a second election. On a busy machine each Sentinel may first vote for itself; they try again
// six seconds later.
const secondElection = 10 * time.Second

// stage is a cluster that serves for many faults, one after the other.
type stage struct {
	*cluster.Cluster
	*observer
	on blueprint
}

func openStage(t *testing.T, on blueprint) *stage {
	t.Helper()
	c := on.cluster(cluster.Options{Clocks: true})
	clustertest.Start(t, c)
	return &stage{c, observe(t, c), on}
}

// renamed exchanges the names of the first primary and of the present one in the plan: a fault that asks for r1 is meant for the
// node that clients talk to.
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
	name := strings.Trim(fmt.Sprintf("%s %s %s>%s", f.it.Name, f.How, f.From, f.To), " >")
	t.Run(name, func(t *testing.T) {
		look := *l.observer
		look.T = t
		s := &scene{observer: &look, f: f, beat: &beat{on: l.Cluster}, pids: map[string]int{}, lines: map[string]*line{}, steps: map[int]int64{}, opens: map[int]int64{}}
		seen := &seen{s: s, sight: sights()[f.it.Entry.Name]}
		fleet := &harness.Fleet{}
		seen.Nemesis = f.it.Make(nemesis.Subject{Cluster: l.Cluster, Fleet: fleet})
		began := time.Now()
		res, err := harness.Run(t.Context(), harness.Spec{
			System: lasting{l.Cluster}, Workload: s.beat, Checkers: []harness.Checker{checkers.Gates()}, Clients: 2 * clientGroups, Rate: 500,
			Duration: time.Millisecond, QuietPeriod: 300 * time.Millisecond, Faults: []harness.TimedFault{{Nemesis: seen, For: f.For}}, Fleet: fleet,
		})
		require.NoError(t, err)
		require.NoError(t, seen.acted)
		require.NoError(t, s.eventually("the heal", func() error { return seen.sight.heals(s) }))
		require.Len(t, res.History.Faults, 1)
		on := res.History.Faults[0]
		require.True(t, on.Proved, on.Proof)
		require.Positive(t, on.End)
		require.Equal(t, f.it.Name, on.Name)
		t.Logf("%v: %s", time.Since(began).Round(time.Millisecond), on.Proof)
		for _, l := range s.lines {
			_ = l.Close()
		}
	})
}

// seen is a fault during which the observer looks.
type seen struct {
	harness.Nemesis
	s     *scene
	sight sight
	acted error
}

// Inject lets the observer look before the fault and while it is in force. The time that this takes is not taken from the heal.
func (n *seen) Inject(ctx context.Context, rng *rand.Rand) (harness.Injection, error) {
	s := n.s
	s.look()
	if n.sight.before != nil {
		n.sight.before(s)
	}
	inj, err := n.Nemesis.Inject(ctx, rng)
	n.acted = errors.New("the fault was not injected")
	if err != nil {
		return inj, err
	}
	s.targets = inj.Targets
	acted := make(chan error, 1)
	go func() { acted <- s.eventually("the fault", func() error { return n.sight.acts(s) }) }()
	heal := inj.Heal
	inj.Heal = func(ctx context.Context) error {
		n.acted = <-acted
		for g := range clientGroups {
			s.steps[g] = s.beat.groups[g].steps.Load()
		}
		if heal == nil {
			return nil
		}
		return heal(ctx)
	}
	return inj, nil
}

// look notes the state before the fault.
func (s *scene) look() {
	for node := range s.at {
		s.pids[node] = s.pid(node)
	}
	for g := range clientGroups {
		s.opens[g] = s.beat.groups[g].opened.Load()
	}
	if s.count("s") == 0 {
		s.first = "r1" // any of several masters
		return
	}
	if err := s.eventually("one primary", func() error {
		all := s.primaries()
		s.first = strings.Join(all, " ")
		return want(len(all) == 1, "the primaries are %v", all)
	}); err != nil {
		s.Error(err)
	}
}
