package generators_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/checkers"
	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/generators"
)

// spread runs a load of several generators on a store, each in its own goroutines and with its own clock.
type spread struct {
	store    *store
	post     generators.Post // default: in memory
	clocks   []func() harness.Clock
	links    harness.LinkControl
	clients  int
	duration time.Duration
	spec     func(*harness.Spec, *generators.Team)
	worker   func(ctx context.Context, i int, w generators.Generator) error // default: Serve
	lost     chan generators.EndedError
}

func (s spread) run(t *testing.T) (harness.Result, error) {
	t.Helper()
	if s.post == nil {
		s.post = generators.NewMemory()
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var serving sync.WaitGroup
	defer serving.Wait()
	for i, clock := range s.clocks {
		w := generators.Generator{Name: fmt.Sprintf("worker-%d", i), Clock: clock,
			Build: func(_ context.Context, a generators.Assignment) (generators.Setup, error) {
				var spec struct{ Clients int }
				err := json.Unmarshal(a.Task, &spec)
				return generators.Setup{Links: s.links, Load: harness.ShareSpec{
					Workload: locking{s.store}, Clients: spec.Clients, Rate: 4000, Seed: 7, Groups: 2,
				}}, err
			},
		}
		serving.Go(func() {
			if s.worker != nil {
				_ = s.worker(ctx, i, w)
				return
			}
			if err := w.Serve(ctx, s.post); err != nil && ctx.Err() == nil {
				t.Errorf("%s: %v", w.Name, err)
			}
		})
	}
	team, err := generators.Gather(ctx, s.post, generators.Options{
		Generators: len(s.clocks), Lost: s.lost,
		Task: func(context.Context) ([]byte, error) { return json.Marshal(struct{ Clients int }{s.clients}) },
	})
	require.NoError(t, err)
	defer team.Close()
	spec := harness.Spec{
		System: locking{s.store}, Workload: locking{s.store},
		Checkers: []harness.Checker{checkers.Mutex(), checkers.Gates()},
		Clients:  s.clients, Rate: 4000, Seed: 7, Duration: s.duration, Generators: team.Members(),
	}
	if s.spec != nil {
		s.spec(&spec, team)
	}
	return harness.Run(ctx, spec)
}

// virtually runs a test in virtual time.
func virtually(t *testing.T, test func(t *testing.T)) {
	t.Parallel()
	synctest.Test(t, test)
}

// off makes a clock that is ahead, and gains or loses.
func off(ahead time.Duration, rate float64) func() harness.Clock {
	return func() harness.Clock { return harness.NewClock().Skewed(ahead, rate) }
}

const drift = generators.MostDrift * 0.9

func apart() []func() harness.Clock {
	return []func() harness.Clock{
		off(0, drift), off(3*time.Second, -drift), off(-3*time.Second, 0), off(time.Hour, drift),
	}
}

func TestClocksThatAreApartAreNoViolation(t *testing.T) {
	virtually(t, func(t *testing.T) {
		res, err := spread{store: &store{}, clocks: apart(), clients: 40, duration: time.Second}.run(t)
		require.NoError(t, err)
		require.Equal(t, harness.Valid, res.Verdict, res.Summary())
		seen := map[int]int{}
		for op, err := range res.History.Ops {
			require.NoError(t, err)
			seen[res.Meta.Worker(op.Client)]++
		}
		require.Len(t, seen, 40, "every worker is some generator's")
		bounds := 0
		for _, e := range res.History.Events {
			if e.Kind == harness.EventClockBound {
				bounds++
			}
		}
		require.GreaterOrEqual(t, bounds, 4, "each generator tells how well its clock is known")
	})
}

func TestWhatIsBrokenIsFoundAcrossGenerators(t *testing.T) {
	virtually(t, func(t *testing.T) {
		// One client in each generator: every double grant is between two generators.
		res, err := spread{store: &store{broken: true}, clocks: apart()[:2], clients: 2, duration: time.Second}.run(t)
		require.NoError(t, err)
		require.Equal(t, harness.Invalid, res.Verdict, res.Summary())
		require.Positive(t, res.Totals[harness.DoubleGrant])
	})
}

func TestAClockThatCannotBeTrustedProvesNothing(t *testing.T) {
	virtually(t, func(t *testing.T) {
		clocks := []func() harness.Clock{off(0, 0), off(0, 0.05)}
		res, err := spread{store: &store{broken: true}, clocks: clocks, clients: 4, duration: 5 * time.Second}.run(t)
		require.ErrorContains(t, err, "generator")
		require.ErrorContains(t, err, "this clock cannot be trusted")
		require.Equal(t, harness.Unknown, res.Verdict, res.Summary())
	})
}

// lossy loses requests and answers.
type lossy struct {
	generators.Post
	n atomic.Int64
}

func (l *lossy) Ask(ctx context.Context, subject string, message []byte) ([]byte, error) {
	switch l.n.Add(1) % 7 {
	case 3:
		return nil, errors.New("lost on the way there")
	case 5:
		_, _ = l.Post.Ask(ctx, subject, message)
		return nil, errors.New("lost on the way back")
	}
	return l.Post.Ask(ctx, subject, message)
}

func TestWhatIsLostOnTheWayIsSentAgain(t *testing.T) {
	virtually(t, func(t *testing.T) {
		links := &recordedLinks{}
		var touched harness.Touched
		res, err := spread{store: &store{}, post: &lossy{Post: generators.NewMemory()}, clocks: apart()[:3],
			clients: 12, duration: 2 * time.Second, links: links,
			spec: func(s *harness.Spec, team *generators.Team) {
				link := harness.Link{From: "g0", To: "r1"}
				s.QuietPeriod = 300 * time.Millisecond
				s.Faults = []harness.TimedFault{{For: 300 * time.Millisecond,
					Nemesis: injecting(func(ctx context.Context) (harness.Injection, error) {
						heal, err := team.Impair([]harness.Link{link}, harness.Drop())
						require.Error(t, team.Probe(ctx, "g0", "r1"))
						require.Equal(t, 12, team.Connections("r1"))
						return harness.Injection{Bite: "cut", Touched: func() (string, error) {
							touched = team.Touched(link)
							return "touched", nil
						}, Heal: func(context.Context) error { return heal() }}, err
					})}}
			},
		}.run(t)
		require.NoError(t, err)
		require.Equal(t, harness.Valid, res.Verdict, res.Summary())
		require.Equal(t, int64(3), links.impaired.Load(), "each once, however often it was asked")
		require.Equal(t, int64(3), links.healed.Load())
		require.Equal(t, int64(9), touched.Passed, "the sum of three")
	})
}

// recordedLinks counts the calls of its methods.
type recordedLinks struct{ impaired, healed atomic.Int64 }

func (r *recordedLinks) Impair([]harness.Link, harness.LinkFault) (func() error, error) {
	r.impaired.Add(1)
	return sync.OnceValue(func() error { r.healed.Add(1); return nil }), nil
}
func (*recordedLinks) Touched(harness.Link) harness.Touched               { return harness.Touched{Passed: 3} }
func (*recordedLinks) Connections(string) int                             { return 4 }
func (*recordedLinks) Probe(context.Context, string, string) error        { return errors.New("no answer") }
func (*recordedLinks) Echo(context.Context, string, string, int) error    { return nil }
func (*recordedLinks) Hangup(_ context.Context, _ string, _ string) error { return nil }

// injecting is a fault made of a function.
type injecting func(context.Context) (harness.Injection, error)

func (injecting) Name() string { return "injecting" }
func (f injecting) Inject(ctx context.Context, _ *rand.Rand) (harness.Injection, error) {
	return f(ctx)
}

// lookingLinks answers probes with given errors.
type lookingLinks struct {
	recordedLinks
	errs chan error
}

func (l *lookingLinks) Probe(context.Context, string, string) error { return <-l.errs }

// TestGeneratorsLookAgainWhileTheyDiffer checks that a link does not count as cut if a probe fails in only one of two
// generators.
func TestGeneratorsLookAgainWhileTheyDiffer(t *testing.T) {
	virtually(t, func(t *testing.T) {
		links := &lookingLinks{errs: make(chan error, 100)}
		var errs []error
		spec := func(s *harness.Spec, team *generators.Team) {
			s.QuietPeriod = 100 * time.Millisecond
			s.Faults = []harness.TimedFault{{Nemesis: injecting(func(ctx context.Context) (harness.Injection, error) {
				for _, answers := range [][]error{
					{nil, nil}, {io.EOF, nil, nil, nil}, {io.EOF, nil, io.EOF, io.EOF},
					{os.ErrDeadlineExceeded, os.ErrDeadlineExceeded},
				} {
					for _, a := range answers {
						links.errs <- a
					}
					errs = append(errs, team.Probe(ctx, "g0", "r1"))
				}
				return harness.Injection{Bite: "looked"}, nil
			})}}
		}
		_, err := spread{store: &store{}, clocks: apart()[:2], clients: 8, duration: time.Second, links: links,
			spec: spec}.run(t)
		require.NoError(t, err)
		require.Len(t, errs, 4)
		require.NoError(t, errs[0])
		require.NoError(t, errs[1])
		require.ErrorContains(t, errs[2], "generator 1: EOF")
		require.ErrorContains(t, errs[2], "generator 2: EOF")
		require.ErrorIs(t, errs[3], os.ErrDeadlineExceeded, "what kind of error it was is known here, too")
	})
}

// TestWhoServesAKilledCoordinatorIsInNobodysWay checks that a generator of a killed coordinator does not disturb a
// later run.
func TestWhoServesAKilledCoordinatorIsInNobodysWay(t *testing.T) {
	virtually(t, func(t *testing.T) {
		post := generators.NewMemory()
		ctx, cancel := context.WithCancel(t.Context())
		old := generators.Generator{Name: "old"}
		served := make(chan error, 1)
		go func() { served <- old.Serve(ctx, post) }()
		gathering, killed := context.WithTimeout(ctx, 10*time.Second)
		dead, err := generators.Gather(gathering, deaf{post}, generators.Options{Generators: 1})
		require.NoError(t, err) // and it sends nothing more
		killed()
		defer dead.Close()
		res, err := spread{store: &store{}, post: post, clocks: apart()[:2], clients: 8, duration: time.Second}.run(t)
		require.NoError(t, err)
		require.Equal(t, harness.Valid, res.Verdict, res.Summary())
		cancel()
		require.Error(t, <-served)
	})
}

// deaf is the post of a coordinator that stops answering once a generator has joined.
type deaf struct{ generators.Post }

func (d deaf) Answer(subject string, answer func([]byte, func([]byte))) (func(), error) {
	stops := make(chan func(), 1)
	stop, err := d.Post.Answer(subject, func(message []byte, reply func([]byte)) {
		answer(message, reply)
		(<-stops)()
	})
	stops <- stop
	return func() {}, err
}

func TestWhoIsNotWantedIsRefused(t *testing.T) {
	virtually(t, func(t *testing.T) {
		post := generators.NewMemory()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		gathered := make(chan *generators.Team)
		go func() {
			team, err := generators.Gather(ctx, post, generators.Options{Generators: 1})
			if err != nil {
				t.Error(err)
			}
			gathered <- team
		}()
		served := make(chan error, 1)
		go func() { served <- generators.Generator{Name: "first"}.Serve(ctx, post) }()
		team := <-gathered
		err := generators.Generator{Name: "second"}.Serve(ctx, post)
		require.ErrorIs(t, err, generators.ErrRefused)
		require.ErrorContains(t, err, "all 1 generators have joined already")
		team.Close()
		require.NoError(t, <-served)
	})
}
