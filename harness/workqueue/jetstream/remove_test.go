package jetstream_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/testenv"
	"github.com/doublegrant/doublegrant/harness/workqueue"
	"github.com/doublegrant/doublegrant/harness/workqueue/jetstream"
)

// TestAKilledRemovalPoisonsNoName, whenever it is killed: whoever uses the name next gets results, old or new, and no outcome without its body.
func TestAKilledRemovalPoisonsNoName(t *testing.T) {
	killRemovals(t, 0, 1, jetstream.RemovalSteps)
}

func TestLongAKilledRemovalPoisonsNoName(t *testing.T) {
	testenv.NeedLong(t)
	killRemovals(t, 0, 1, 2, 3, jetstream.RemovalSteps)
}

// killRemovals kills a removal after each of the numbers of steps.
func killRemovals(t *testing.T, after ...int) {
	t.Parallel()
	for _, steps := range after {
		t.Run(fmt.Sprint(steps), func(t *testing.T) {
			t.Parallel()
			a := served(t).Access
			q := lead(t, a, jetstream.Sizes{})
			done, left := workqueue.Unit{Kind: "x", Body: []byte("1")}, workqueue.Unit{Kind: "x", Body: []byte("2")}
			doOne(t, q, join(t, a, "first"), done)
			require.NoError(t, q.Put(t.Context(), left))
			require.NoError(t, jetstream.KillInRemoval(t.Context(), q, steps))

			now := head
			if steps > 0 {
				now.Task = []byte(`"other work"`) // the name is free
			}
			q = leadOf(t, a, "main", now, jetstream.Sizes{})
			if steps > 0 {
				require.Zero(t, messages(t, q), "of the work before")
			}
			w := join(t, a, "second")
			if steps == 0 { // what was done is done
				require.Equal(t, "r1", string(outcome(t, q, done).Body))
			} else {
				doOne(t, q, w, done)
			}
			doOne(t, q, w, left)
			require.NoError(t, q.Remove(t.Context(), 0))
		})
	}
}

// doOne puts a unit and lets a worker do it.
func doOne(t *testing.T, q, w *jetstream.Queue, u workqueue.Unit) {
	t.Helper()
	require.NoError(t, q.Put(t.Context(), u))
	job := one(t, w)
	require.Equal(t, u, job.Unit())
	require.NoError(t, job.Done(t.Context(), workqueue.Result{Body: []byte("r" + string(u.Body)), Claim: "x"}))
	require.Equal(t, "r"+string(u.Body), string(outcome(t, q, u).Body))
}

// TestNothingIsLeft of a coordination that was removed.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	a := served(t).Access
	q, looker := lead(t, a, jetstream.Sizes{}), leadOf(t, a, "other", head, jetstream.Sizes{})
	doOne(t, q, join(t, a, "w"), workqueue.Unit{Kind: "x"})
	count := func() (n int) {
		for range jetstream.RawOf(looker).JS.StreamNames(t.Context()).Name() {
			n++
		}
		return n
	}
	require.Equal(t, 6, count())
	require.NoError(t, q.Remove(t.Context(), 0))
	require.Equal(t, 3, count(), "of the other alone")
}

// TestOnlyWhoCoordinatesEndsAndRemoves: one that was cut off and replaced does neither, whatever it takes itself for.
func TestOnlyWhoCoordinatesEndsAndRemoves(t *testing.T) {
	t.Parallel()
	a := served(t).Access
	first, w := lead(t, a, jetstream.Sizes{}), join(t, a, "w")
	jetstream.StopBeating(first)
	second := lead(t, a, jetstream.Sizes{})
	oneLineWith(t, first.End(t.Context()), jetstream.ErrTaken, "has taken main over, while this one was cut off")
	oneLineWith(t, first.Remove(t.Context(), 0), jetstream.ErrTaken, "has taken main over")
	for i := range jetstream.RemovalSteps {
		require.ErrorIs(t, jetstream.RemovalStep(t.Context(), first, i), jetstream.ErrTaken)
	}
	require.ErrorContains(t, w.End(t.Context()), "w does not coordinate main")
	require.ErrorContains(t, w.Remove(t.Context(), 0), "w does not coordinate main")
	doOne(t, second, w, workqueue.Unit{Kind: "x"})
	require.NoError(t, second.End(t.Context()))
	require.NoError(t, second.Remove(t.Context(), 0))
}

// TestAWorkerThatComesBackAfterTheEnd learns of it at once, whatever it asks first.
func TestAWorkerThatComesBackAfterTheEnd(t *testing.T) {
	t.Parallel()
	comesBackAfterTheEnd(t, served(t).Access)
}

func comesBackAfterTheEnd(t *testing.T, a jetstream.Access) {
	t.Helper()
	q, w := lead(t, a, jetstream.Sizes{}), join(t, a, "w")
	jobs := take(t, q, a, "away", 5)
	require.NoError(t, q.End(t.Context()))
	require.NoError(t, q.Remove(t.Context(), 0))
	began := time.Now()
	require.ErrorIs(t, jobs[0].Done(t.Context(), workqueue.Result{Body: []byte("r"), Claim: "x"}), workqueue.ErrOver)
	require.ErrorIs(t, jobs[1].Done(t.Context(), workqueue.Result{Claim: "x"}), workqueue.ErrOver)
	require.NoError(t, jobs[2].Fail(t.Context(), "x"), "nobody wants to know")
	require.NoError(t, jobs[3].GiveBack(t.Context()))
	require.ErrorIs(t, jobs[4].Alive(t.Context()), workqueue.ErrOver)
	_, err := w.Take(t.Context())
	require.ErrorIs(t, err, workqueue.ErrOver)
	require.Less(t, time.Since(began), a.Patience/2)
}
