package jetstream_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/workqueue"
	"github.com/doublegrant/doublegrant/harness/workqueue/jetstream"
)

// TestAKilledEndPoisonsNoName kills a coordinator at each step of End. The next coordinator of the name goes on with
// all results or begins anew, and never finds an outcome without its body.
func TestAKilledEndPoisonsNoName(t *testing.T) {
	t.Parallel()
	for steps := range 5 {
		t.Run(fmt.Sprint(steps), func(t *testing.T) {
			t.Parallel()
			a := served(t).Access
			q := lead(t, a, jetstream.Sizes{})
			done, left := workqueue.Unit{Kind: "x", Body: []byte("1")}, workqueue.Unit{Kind: "x", Body: []byte("2")}
			doOne(t, q, join(t, a, "first"), done)
			require.NoError(t, q.Put(t.Context(), left))
			raw := jetstream.RawOf(q)
			for _, step := range []func() error{
				func() error { _, err := raw.Keys.PutString(t.Context(), "over", "over"); return err },
				func() error { return raw.JS.DeleteStream(t.Context(), "DOUBLEGRANT_main") },
				func() error { return raw.JS.DeleteObjectStore(t.Context(), "doublegrant-main") },
				func() error { return raw.JS.DeleteKeyValue(t.Context(), "doublegrant-main") },
			}[:steps] {
				require.NoError(t, step())
			}
			q.Close()

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
			w.Close()
			require.NoError(t, q.End(t.Context()))
		})
	}
}

// If a coordinator is killed after it has stored where its results are, the next one finds them, unless it starts over.
func TestWhereTheResultsAreIsKept(t *testing.T) {
	t.Parallel()
	a := served(t).Access
	q := lead(t, a, jetstream.Sizes{})
	require.NoError(t, q.Put(t.Context(), workqueue.Unit{Kind: "x"}))
	require.NoError(t, q.KeepResults(t.Context(), "results/mine"))
	_, err := jetstream.RawOf(q).Keys.PutString(t.Context(), "over", "over")
	require.NoError(t, err)
	q.Close()

	q = lead(t, a, jetstream.Sizes{})
	dir, err := q.Results(t.Context())
	require.NoError(t, err)
	require.Equal(t, "results/mine", dir)
	require.True(t, q.IsOver())
	q.Close()

	anew := head
	anew.StartOver = true
	q = leadOf(t, a, "main", anew, jetstream.Sizes{})
	require.False(t, q.IsOver())
	dir, err = q.Results(t.Context())
	require.NoError(t, err)
	require.Empty(t, dir)
	require.Zero(t, messages(t, q))
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

// TestNothingIsLeft checks that nothing of a removed coordination remains.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	a := served(t).Access
	q, looker := lead(t, a, jetstream.Sizes{}), leadOf(t, a, "other", head, jetstream.Sizes{})
	w := join(t, a, "w")
	doOne(t, q, w, workqueue.Unit{Kind: "x"})
	count := func() (n int) {
		for range jetstream.RawOf(looker).JS.StreamNames(t.Context()).Name() {
			n++
		}
		return n
	}
	require.Equal(t, 6, count())
	w.Close()
	require.NoError(t, q.End(t.Context()))
	require.Equal(t, 3, count(), "of the other alone")
}

// TestACoordinatorThatWasReplacedEndsNothing checks that a replaced coordinator cannot end a later coordination of the
// same name.
func TestACoordinatorThatWasReplacedEndsNothing(t *testing.T) {
	t.Parallel()
	a := served(t).Access
	first, w := lead(t, a, jetstream.Sizes{}), join(t, a, "w")
	require.NoError(t, jetstream.FallSilent(first))
	second := lead(t, a, jetstream.Sizes{})
	u := workqueue.Unit{Kind: "x"}
	doOne(t, second, w, u)
	require.Equal(t, "r", string(outcome(t, first, u).Body), "both have the result")
	require.ErrorContains(t, w.End(t.Context()), "w does not coordinate main")
	w.Close()
	require.NoError(t, second.End(t.Context()))
	_, err := first.Await(t.Context(), "none")
	require.ErrorIs(t, err, workqueue.ErrOver)
	third := lead(t, a, jetstream.Sizes{})
	oneLineWith(t, first.End(t.Context()), jetstream.ErrTaken, "main has ended and was begun again")
	doOne(t, third, join(t, a, "x"), u)
}

// TestAWorkerThatComesBackAfterTheEnd checks that a worker learns of the end at once, whatever it asks first.
func TestAWorkerThatComesBackAfterTheEnd(t *testing.T) {
	t.Parallel()
	comesBackAfterTheEnd(t, served(t).Access)
}

func comesBackAfterTheEnd(t *testing.T, a jetstream.Access) {
	t.Helper()
	q, w := lead(t, a, jetstream.Sizes{}), join(t, a, "w")
	jobs := take(t, q, a, "away", 5)
	require.NoError(t, jetstream.FallSilent(w))
	require.NoError(t, q.End(t.Context()))
	began := time.Now()
	require.ErrorIs(t, jobs[0].Done(t.Context(), workqueue.Result{Body: []byte("r"), Claim: "x"}), workqueue.ErrOver)
	require.ErrorIs(t, jobs[1].Done(t.Context(), workqueue.Result{Claim: "x"}), workqueue.ErrOver)
	require.ErrorIs(t, jobs[2].Fail(t.Context(), "x"), workqueue.ErrOver)
	require.ErrorIs(t, jobs[3].GiveBack(t.Context(), 0), workqueue.ErrOver)
	require.ErrorIs(t, jobs[4].Renew(t.Context()), workqueue.ErrOver)
	_, err := w.Take(t.Context())
	require.ErrorIs(t, err, workqueue.ErrOver)
	require.Less(t, time.Since(began), a.Patience/2)
}
