package jetstream_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/workqueue"
	"github.com/doublegrant/doublegrant/harness/workqueue/jetstream"
)

// tried waits until a try of a unit is recorded.
func tried(t *testing.T, q *jetstream.Queue, u workqueue.Unit) {
	t.Helper()
	require.Eventually(t, func() bool {
		_, err := jetstream.RawOf(q).Keys.Get(t.Context(), "tries."+u.ID())
		return err == nil
	}, time.Minute, time.Millisecond)
}

// bodies lists the bodies in the object store.
func bodies(t *testing.T, q *jetstream.Queue) (names []string) {
	t.Helper()
	all, err := jetstream.RawOf(q).Objects.List(t.Context())
	if len(all) > 0 {
		require.NoError(t, err)
	}
	for _, o := range all {
		names = append(names, o.Name)
	}
	return names
}

func messages(t *testing.T, q *jetstream.Queue) uint64 {
	t.Helper()
	s, err := jetstream.RawOf(q).JS.Stream(t.Context(), "DOUBLEGRANT_main")
	require.NoError(t, err)
	return s.CachedInfo().State.Msgs
}

// A coordinator that takes over puts all its units again. A unit that is waiting, handed out or done is not added a
// second time.
func TestAUnitIsInTheStreamOnce(t *testing.T) {
	t.Parallel()
	a := served(t).Access
	q := lead(t, a, jetstream.Sizes{})
	u := workqueue.Unit{Kind: "x", Body: []byte("1")}
	put := func(u workqueue.Unit, are int, when string) {
		require.NoError(t, q.Put(t.Context(), u), when)
		require.EqualValues(t, are, messages(t, q), when)
	}
	put(u, 1, "at first")
	put(u, 1, "again")
	job := one(t, join(t, a, "w"))
	put(u, 1, "while it is handed out")
	put(workqueue.Unit{Kind: "x", Body: []byte("2")}, 2, "another has room")
	require.NoError(t, job.Done(t.Context(), workqueue.Result{Body: []byte("r"), Claim: "x"}))
	put(u, 1, "when it has an outcome")
}

// A unit's body is removed when the unit has an outcome. A result's body stays, for a coordinator that takes over.
func TestTheBodyOfAUnitGoesWithItsOutcome(t *testing.T) {
	t.Parallel()
	a := served(t).Access
	q := lead(t, a, jetstream.Sizes{})
	large := bytes.Repeat([]byte("1"), 100<<10) // too large for its message
	done, failed := workqueue.Unit{Kind: "x", Body: large}, workqueue.Unit{Kind: "y", Body: large}
	w := join(t, a, "w")
	for range workqueue.Tries { // until it is given up
		require.NoError(t, q.Put(t.Context(), failed))
		require.Equal(t, []string{"unit." + failed.ID()}, bodies(t, q))
		job := one(t, w)
		require.NoError(t, job.Fail(t.Context(), "x"))
	}
	require.Empty(t, bodies(t, q))
	require.NoError(t, q.Put(t.Context(), done))
	job := one(t, w)
	require.NoError(t, job.Done(t.Context(), workqueue.Result{Body: []byte("r"), Claim: "x"}))
	left := bodies(t, q)
	require.Len(t, left, 1)
	require.True(t, strings.HasPrefix(left[0], "result."+done.ID()), left)
	q.Close()
	require.Equal(t, "r", string(outcome(t, lead(t, a, jetstream.Sizes{}), done).Body))
	began := time.Now()
	settled, err := jetstream.FetchSettled(t.Context(), w, done.ID())
	require.True(t, settled, err)
	require.Less(t, time.Since(began), a.Patience/2, "who misses the body does not wait for it")
}

// A dispute is recorded before the second result is removed, so that it survives if the worker is killed in between.
func TestADisputeIsNotedFirst(t *testing.T) {
	t.Parallel()
	a := served(t).Access
	q := lead(t, a, jetstream.Sizes{Lease: 300 * time.Millisecond})
	u := workqueue.Unit{Kind: "x"}
	require.NoError(t, q.Put(t.Context(), u))
	late, next := one(t, join(t, a, "late")), one(t, join(t, a, "next"))
	require.NoError(t, next.Done(t.Context(), workqueue.Result{Body: []byte("1"), Claim: "1"}))
	// one channel for both, since each subscription with a function has its own goroutine
	come := make(chan *nats.Msg, 100)
	for _, subject := range []string{"$KV.doublegrant-main.disputed", "$O.doublegrant-main.M.>"} {
		_, err := jetstream.RawOf(q).NC.ChanSubscribe(subject, come)
		require.NoError(t, err)
	}
	seen := func() string {
		for m := range come {
			if strings.HasPrefix(m.Subject, "$KV.") {
				return "noted"
			}
			var o struct{ Deleted bool }
			if json.Unmarshal(m.Data, &o) == nil && o.Deleted {
				return "removed"
			}
		}
		return ""
	}
	require.NoError(t, jetstream.RawOf(q).NC.Flush())
	require.NoError(t, late.Done(t.Context(), workqueue.Result{Body: []byte("2"), Claim: "2"}))
	require.Equal(t, "noted", seen())
	require.Equal(t, "removed", seen())
	require.Equal(t, []string{u.ID()}, disputed(t, q))
}

// A key is read at the leader of its replicas, since another replica may be out of date.
func TestKeysAreReadAtTheirLeader(t *testing.T) {
	t.Parallel()
	q := lead(t, served(t).Access, jetstream.Sizes{})
	s, err := jetstream.RawOf(q).JS.Stream(t.Context(), "KV_doublegrant-main")
	require.NoError(t, err)
	require.False(t, s.CachedInfo().Config.AllowDirect)
}

// Concurrent disputes are all recorded, though they share a key.
func TestDisputesDoNotOverwriteEachOther(t *testing.T) {
	t.Parallel()
	a := served(t).Access
	const units = 8
	q := lead(t, a, jetstream.Sizes{Lease: 3 * time.Second})
	late := take(t, q, a, "late", units)
	next := take(t, q, a, "next", units) // when the lease is over
	for _, job := range next {
		require.NoError(t, job.Done(t.Context(), workqueue.Result{Claim: "1"}))
	}
	errs := make(chan error, units)
	for _, job := range late {
		go func() { errs <- job.Done(t.Context(), workqueue.Result{Claim: "2"}) }()
	}
	for range late {
		require.NoError(t, <-errs)
	}
	require.Len(t, disputed(t, q), units)
}

// take puts that many units and lets a worker take all of them.
func take(t *testing.T, q *jetstream.Queue, a jetstream.Access, worker string, units int) (jobs []workqueue.Job) {
	t.Helper()
	w := join(t, a, worker)
	for i := range units {
		require.NoError(t, q.Put(t.Context(), workqueue.Unit{Kind: "x", Body: []byte{byte(i)}}))
	}
	for range units {
		jobs = append(jobs, one(t, w))
	}
	return jobs
}
