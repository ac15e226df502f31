package harness_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

// diary records what nemeses and the system do, in order.
type diary struct {
	*fake
	mu    sync.Mutex
	lines []string
	inAll map[string]int // number of faults in force, by name
}

func newDiary() *diary { return &diary{fake: &fake{}, inAll: map[string]int{}} }

func (d *diary) note(line string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, line)
}

func (d *diary) has(line string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Contains(d.lines, line)
}

// heals returns the heals, in order.
func (d *diary) heals() (all []string) {
	for _, l := range d.lines {
		if name, ok := strings.CutPrefix(l, "heal "); ok {
			all = append(all, name)
		}
	}
	return all
}

// AwaitWhole returns an error if a fault is in force.
func (d *diary) AwaitWhole(context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for name, n := range d.inAll {
		if n > 0 {
			return fmt.Errorf("asked whether all is whole while %s was in force", name)
		}
	}
	d.lines = append(d.lines, "whole")
	return d.wholeErr
}

// fault returns a nemesis that notes its injection and heal in the diary. It first calls then, unless that is nil.
func (d *diary) fault(name string, then func(ctx context.Context) error) harness.Nemesis {
	return strike{name, func(ctx context.Context, _ *rand.Rand) (harness.Injection, error) {
		d.count(name, 1)
		inj := harness.Injection{Targets: []string{name}, Bite: "bitten", Heal: func(context.Context) error {
			d.note("heal " + name)
			d.count(name, -1)
			return nil
		}}
		var err error
		if then != nil {
			err = then(ctx)
		}
		d.note("inject " + name)
		return inj, err
	}}
}

func (d *diary) count(name string, by int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.inAll[name] += by
}

// until returns a function that waits for a line of the diary.
func (d *diary) until(line string) func(context.Context) error {
	return func(ctx context.Context) error { return await(ctx, func() bool { return d.has(line) }) }
}

// untilThen returns a nemesis like n that waits for a line of the diary before it heals.
func (d *diary) untilThen(line string, n harness.Nemesis) harness.Nemesis {
	return strike{n.Name(), func(ctx context.Context, rng *rand.Rand) (harness.Injection, error) {
		inj, err := n.Inject(ctx, rng)
		heal := inj.Heal
		inj.Heal = func(ctx context.Context) error { return errors.Join(d.until(line)(ctx), heal(ctx)) }
		return inj, err
	}}
}

func (d *diary) spec(sequences ...[]harness.TimedFault) harness.Spec {
	s := spec(d.fake, &counter{})
	s.System, s.Duration, s.QuietPeriod, s.Tracks = d, time.Millisecond, 5*time.Millisecond, sequences
	return s
}

// faultsOf returns the faults of a history, by name.
func faultsOf(h harness.History) map[string]harness.Fault {
	all := map[string]harness.Fault{}
	for _, f := range h.Faults {
		all[f.Name] = f
	}
	return all
}

func TestFaultsOfTwoSequencesOverlapAndEndTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDiary()
		res := ran(t, d.spec(
			[]harness.TimedFault{{Nemesis: d.untilThen("heal next", d.fault("long", nil))}},
			[]harness.TimedFault{
				{Nemesis: d.fault("short", d.until("inject long")), For: time.Millisecond},
				{Nemesis: d.fault("next", nil), For: time.Millisecond},
			},
		))
		f := faultsOf(res.History)
		require.Len(t, f, 3)
		long, short, next := f["long"], f["short"], f["next"]
		require.Less(t, short.Heal, next.Start, "one sequence is one after the other")
		require.GreaterOrEqual(t, short.End, long.Heal, "whole while another fault was in force")
		require.Equal(t, []bool{true, true}, []bool{short.End <= next.End, next.End <= long.End}, "they end together")
		require.GreaterOrEqual(t, next.Start-short.Heal, 5*time.Millisecond, "no calm between the steps")
		require.Equal(t, []string{"short", "next", "long"}, d.heals(), "sequences wait for each other")
		whole := slices.Index(d.lines, "whole")
		require.Greater(t, whole, slices.Index(d.lines, "heal long"))
	})
}

func TestASequenceThatFailsEndsTheOthersAndAllHeal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDiary()
		began := time.Now()
		res, err := harness.Run(t.Context(), d.spec(
			[]harness.TimedFault{{Nemesis: d.fault("first", nil), For: time.Hour}},
			[]harness.TimedFault{{Nemesis: d.fault("second", d.until("inject first")), For: time.Hour}},
			[]harness.TimedFault{{Nemesis: d.fault("bad", func(ctx context.Context) error {
				if err := d.until("inject second")(ctx); err != nil {
					return err
				}
				panic("a nemesis's bug")
			})}, {Nemesis: d.fault("never", nil)}},
		))
		require.ErrorContains(t, err, "a nemesis's bug")
		require.Less(t, time.Since(began), 10*time.Second)
		require.False(t, d.has("inject never"))
		f := faultsOf(res.History)
		require.Len(t, f, 3)
		for _, one := range []string{"first", "second"} {
			require.True(t, d.has("heal "+one), one)
			require.Positive(t, f[one].Heal, one)
		}
		require.NotContains(t, f["bad"].Proof, "bitten")
	})
}

// The fault is recorded as not proved, and the next one of its sequence is injected.
func TestAFaultThatCannotBeInjectedBesideOthersDoesNotEndTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDiary()
		bad := d.fault("bad", func(ctx context.Context) error {
			return errors.Join(d.until("inject other")(ctx), errors.New("cannot reach it"))
		})
		res := ran(t, d.spec(
			[]harness.TimedFault{{Nemesis: d.untilThen("inject next", d.fault("other", nil))}},
			[]harness.TimedFault{{Nemesis: bad}, {Nemesis: d.fault("next", nil), For: time.Millisecond}},
		))
		require.True(t, d.has("inject next"), "its sequence goes on")
		f := faultsOf(res.History)
		require.False(t, f["bad"].Proved)
		require.Equal(t, "cannot reach it", f["bad"].Proof)
		require.True(t, f["next"].Proved)
	})
}

func TestAHealThatFailsOrPanicsKeepsNoOtherFromHealing(t *testing.T) {
	for name, heal := range map[string]func(context.Context) error{
		"fails":  func(context.Context) error { return errors.New("it does not come back") },
		"panics": func(context.Context) error { panic("it does not come back") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDiary()
				bad := strike{"bad", func(ctx context.Context, _ *rand.Rand) (harness.Injection, error) {
					return harness.Injection{Bite: "bitten", Heal: heal}, d.until("inject good")(ctx)
				}}
				res, err := harness.Run(t.Context(), d.spec(
					[]harness.TimedFault{{Nemesis: d.fault("good", nil), For: time.Hour}},
					[]harness.TimedFault{{Nemesis: bad}},
				))
				require.ErrorContains(t, err, "heal bad")
				require.ErrorContains(t, err, "it does not come back")
				require.True(t, d.has("heal good"))
				require.True(t, d.has("whole"))
				require.Len(t, res.History.Faults, 2)
				require.Positive(t, faultsOf(res.History)["good"].End)
			})
		})
	}
}

func TestAnInterruptedRunHealsWhatCameLastFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 10 {
			d := newDiary()
			ctx, cancel := context.WithCancel(t.Context())
			began := time.Now()
			s := d.spec(
				[]harness.TimedFault{{Nemesis: d.fault("a", nil), For: time.Hour}},
				[]harness.TimedFault{{Nemesis: d.fault("b", d.until("inject a")), For: time.Hour,
					After: 10 * time.Millisecond}},
				[]harness.TimedFault{{Nemesis: d.fault("c", func(ctx context.Context) error {
					defer cancel()
					return d.until("inject b")(ctx)
				}), For: time.Hour, After: 20 * time.Millisecond}},
			)
			res, err := harness.Run(ctx, s)
			require.NoError(t, err)
			require.Less(t, time.Since(began), 10*time.Second)
			require.True(t, d.stopped)
			require.Equal(t, "interrupted", res.History.End.Reason)
			require.Len(t, res.History.Faults, 3)
			for _, f := range res.History.Faults {
				require.Positive(t, f.End, f.Name)
			}
			require.Equal(t, []string{"c", "b", "a"}, d.heals())
			cancel()
		}
	})
}

// Faults of two sequences heal and begin at about the same time, over and over. Each has its record and its End, and
// AwaitWhole is never called while one of them is in force.
func TestFaultsThatBeginWhileOthersMend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const faults = 100
		d := newDiary()
		sequences := make([][]harness.TimedFault, 3)
		for i := range sequences {
			for n := range faults {
				sequences[i] = append(sequences[i], harness.TimedFault{
					Nemesis: d.fault(fmt.Sprintf("f%d", n%2), nil), // two with the same name may be in force
					After:   time.Duration(100+50*i) * time.Microsecond,
					For:     time.Duration(100*(i+1)) * time.Microsecond,
				})
			}
		}
		res := ran(t, d.spec(sequences...))
		require.Len(t, res.History.Faults, 3*faults)
		for _, f := range res.History.Faults {
			require.True(t, f.Proved)
			require.True(t, f.Start <= f.Active && f.Active <= f.Heal && f.Heal <= f.End, "%+v", f)
		}
	})
}

// If a run ends while a fault waits for the system to be whole, the fault never starts and leaves no record.
func TestAFaultThatCameTooLateLeavesNoRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDiary()
		ctx, cancel := context.WithCancel(t.Context())
		mending := &slowToMend{diary: d, begun: make(chan struct{}), go_: make(chan struct{})}
		s := d.spec(
			[]harness.TimedFault{{Nemesis: d.fault("first", nil), After: time.Millisecond}},
			[]harness.TimedFault{{Nemesis: d.fault("late", nil), After: 500 * time.Millisecond}},
		)
		s.System = mending
		go func() {
			<-mending.begun
			time.Sleep(501 * time.Millisecond) // of virtual time
			synctest.Wait()                    // the late fault waits by now
			cancel()
			close(mending.go_)
		}()
		res, err := harness.Run(ctx, s)
		require.NoError(t, err)
		require.False(t, d.has("inject late"))
		require.Len(t, res.History.Faults, 1)
		require.Positive(t, res.History.Faults[0].End)
	})
}

type slowToMend struct {
	*diary
	once       sync.Once
	begun, go_ chan struct{}
}

func (m *slowToMend) AwaitWhole(ctx context.Context) error {
	m.once.Do(func() { close(m.begun) })
	<-m.go_
	return m.diary.AwaitWhole(ctx)
}
