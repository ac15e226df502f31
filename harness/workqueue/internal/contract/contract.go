// Package contract has the tests that every queue has to pass.
package contract

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/workqueue"
)

// Open makes an empty queue for one test. It returns a function that gives the named worker access to the queue. A
// worker that says nothing for the lease loses its unit.
type Open func(t *testing.T, lease time.Duration) func(worker string) workqueue.Queue

// InRealTime runs a test in real time, for a queue with a server. A queue inside one process uses synctest.Test.
func InRealTime(t *testing.T, test func(*testing.T)) { test(t) }

// Test runs the tests of a queue, or only those with the given names. The parameter in, InRealTime or synctest.Test, is
// the function that runs each test.
func Test(t *testing.T, in func(*testing.T, func(*testing.T)), open Open, names ...string) {
	all := map[string]func(*testing.T, Open){
		"each unit has one outcome":                  eachUnitHasOneOutcome,
		"a unit is named by its content":             aUnitIsNamedByItsContent,
		"a lease ends":                               aLeaseEnds,
		"a lease is renewed":                         aLeaseIsRenewed,
		"the first result wins over an equal one":    theFirstResultWins(result("x"), false),
		"the first result wins over a different one": theFirstResultWins(result("y"), true),
		"the first result wins over one that claims nothing": theFirstResultWins(
			workqueue.Result{Body: []byte("y")}, false),
		"three tries":                                threeTries,
		"a worker that never answers":                aWorkerThatNeverAnswers,
		"a unit given back is not a try":             aUnitGivenBackIsNotATry,
		"the end":                                    theEnd,
		"large bodies":                               largeBodies,
		"whatever workers do":                        whateverWorkersDo,
		"a canceled wait ends":                       aCanceledWaitEnds,
		"a late result of a unit given up":           aLateResultOfAUnitGivenUp,
		"a late fail":                                aLateFail,
		"a late give back":                           aLateGiveBack,
		"given back after a late result":             givenBackAfterALateResult,
		"a worker that fails where another does not": aWorkerThatFailsWhereAnotherDoesNot,
		"a unit that fails everywhere":               aUnitThatFailsEverywhere,
		"a worker that fails and is alone":           aWorkerThatFailsAndIsAlone,
		"a worker that failed once":                  aWorkerThatFailedOnce,
		"what a coordinator sees":                    whatACoordinatorSees,
	}
	if len(names) == 0 {
		names = slices.Collect(maps.Keys(all))
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in(t, func(t *testing.T) { all[name](t, open) })
		})
	}
}

const (
	longLease  = time.Minute
	shortLease = 300 * time.Millisecond // lease for tests in which leases end
	someLease  = 3 * time.Second        // lease for tests that renew it, and that watch units for two leases
)

func unit(body string) workqueue.Unit {
	return workqueue.Unit{Kind: "test", Program: "v1", Server: "Redis 7", Body: []byte(body)}
}

func result(body string) workqueue.Result { return workqueue.Result{Body: []byte(body), Claim: body} }

func take(t *testing.T, q workqueue.Queue) workqueue.Job {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	job, err := q.Take(ctx)
	require.NoError(t, err)
	return job
}

func outcome(t *testing.T, q workqueue.Queue, u workqueue.Unit) workqueue.Outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	o, err := q.Await(ctx, u.ID())
	require.NoError(t, err)
	return o
}

// nothingToTake checks that no unit can be taken during the time of two leases.
func nothingToTake(t *testing.T, q workqueue.Queue, lease time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*lease)
	defer cancel()
	_, err := q.Take(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func eachUnitHasOneOutcome(t *testing.T, open Open) {
	as, q := begin(t, open, longLease, "1", "2")
	a, b := as("a"), as("b")
	first, second := take(t, a), take(t, b)
	require.NotEqual(t, first.Unit(), second.Unit())
	require.NoError(t, first.Done(t.Context(), result("of "+string(first.Unit().Body))))
	require.NoError(t, second.Done(t.Context(), result("of "+string(second.Unit().Body))))
	for _, u := range []workqueue.Unit{unit("1"), unit("2")} {
		require.Equal(t, result("of "+string(u.Body)), outcome(t, q, u).Result)
	}
	require.Equal(t, "a", outcome(t, q, first.Unit()).Worker)
	require.Empty(t, disputed(t, q))
}

func aUnitIsNamedByItsContent(t *testing.T, open Open) {
	_, q := begin(t, open, someLease, "1", "1")
	require.NoError(t, take(t, q).Done(t.Context(), result("x")))
	require.NoError(t, q.Put(t.Context(), unit("1")), "it has an outcome")
	nothingToTake(t, q, someLease)
}

func aLeaseEnds(t *testing.T, open Open) {
	as, q := begin(t, open, shortLease, "1")
	take(t, as("lost"))
	again := take(t, as("next"))
	require.Equal(t, unit("1"), again.Unit())
	require.NoError(t, again.Done(t.Context(), result("x")))
	require.Equal(t, "next", outcome(t, q, unit("1")).Worker)
}

func aLeaseIsRenewed(t *testing.T, open Open) {
	as, q := begin(t, open, someLease, "1")
	job := take(t, q)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var saying sync.WaitGroup
	saying.Go(func() {
		for ctx.Err() == nil {
			_ = job.Renew(ctx) // the error does not matter here
			select {
			case <-ctx.Done():
			case <-time.After(someLease / 6):
			}
		}
	})
	nothingToTake(t, as("other"), someLease)
	cancel()
	saying.Wait()
	require.NoError(t, job.Done(t.Context(), result("x")))
}

// theFirstResultWins returns a test in which a worker that lost its lease hands in a second result. The parameter
// contradicts says whether the second result contradicts the first.
func theFirstResultWins(second workqueue.Result, contradicts bool) func(*testing.T, Open) {
	return func(t *testing.T, open Open) {
		as, q, late := cutOff(t, open, "cut off")
		next := take(t, as("next"))
		require.NoError(t, next.Done(t.Context(), result("x")))
		require.NoError(t, late.Done(t.Context(), second))
		o := outcome(t, q, unit("1"))
		require.Equal(t, result("x"), o.Result)
		require.Equal(t, "next", o.Worker)
		require.Len(t, o.Failed, 1)
		require.Contains(t, o.Failed[0], "cut off was silent")
		if contradicts {
			require.Equal(t, []string{unit("1").ID()}, disputed(t, q))
		} else {
			require.Empty(t, disputed(t, q))
		}
		nothingToTake(t, q, shortLease)
	}
}

func threeTries(t *testing.T, open Open) {
	as, q := begin(t, open, someLease, "1")
	workers := []string{"a", "b", "c"}
	for _, worker := range workers {
		require.NoError(t, take(t, as(worker)).Fail(t.Context(), "broken by "+worker))
	}
	o := outcome(t, q, unit("1"))
	require.True(t, o.GivenUp())
	require.Len(t, o.Failed, workqueue.Tries)
	for i, worker := range workers { // in order, each with its worker and reason
		require.Contains(t, o.Failed[i], worker+":")
		require.Contains(t, o.Failed[i], "broken by "+worker)
	}
	nothingToTake(t, q, someLease)
}

func aWorkerThatNeverAnswers(t *testing.T, open Open) {
	as, q := begin(t, open, shortLease, "1")
	for range workqueue.Tries {
		take(t, as("deadly"))
	}
	nothingToTake(t, q, shortLease)
	o := outcome(t, q, unit("1"))
	require.Len(t, o.Failed, workqueue.Tries)
	require.Contains(t, o.Why(), "deadly was silent")
}

func aUnitGivenBackIsNotATry(t *testing.T, open Open) {
	_, q := begin(t, open, longLease, "1")
	for range 2 * workqueue.Tries {
		require.NoError(t, take(t, q).GiveBack(t.Context(), 0))
	}
	require.NoError(t, take(t, q).Done(t.Context(), result("x")))
	require.False(t, outcome(t, q, unit("1")).GivenUp())
}

func theEnd(t *testing.T, open Open) {
	as, q := begin(t, open, longLease, "1", "2")
	worker := as("worker")
	job := take(t, worker)
	require.NoError(t, q.End(t.Context()))
	require.ErrorIs(t, job.Renew(t.Context()), workqueue.ErrOver)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := worker.Take(ctx)
	require.ErrorIs(t, err, workqueue.ErrOver, "though a unit waits")
}

func largeBodies(t *testing.T, open Open) {
	_, q := begin(t, open, longLease)
	large := bytes.Repeat([]byte("0123456789abcdef"), 3<<20/16)
	u := unit(string(large))
	require.NoError(t, q.Put(t.Context(), u))
	job := take(t, q)
	require.Equal(t, u.ID(), job.Unit().ID())
	require.NoError(t, job.Done(t.Context(), workqueue.Result{Body: large, Claim: "all"}))
	require.True(t, bytes.Equal(large, outcome(t, q, u).Body))
}

func aCanceledWaitEnds(t *testing.T, open Open) {
	as := open(t, longLease)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := as("q").Take(ctx)
	require.ErrorIs(t, err, context.Canceled)
	_, err = as("q").Await(ctx, unit("1").ID())
	require.ErrorIs(t, err, context.Canceled)
}

func aLateResultOfAUnitGivenUp(t *testing.T, open Open) {
	as, q, late := cutOff(t, open, "a")
	require.NoError(t, take(t, as("b")).Fail(t.Context(), "x"))
	require.NoError(t, take(t, as("c")).Fail(t.Context(), "y"))
	require.True(t, outcome(t, q, unit("1")).GivenUp())
	require.NoError(t, late.Done(t.Context(), result("z")))
	require.True(t, outcome(t, q, unit("1")).GivenUp(), "the first outcome stays")
}

// cutOff opens a queue with one unit. The worker takes the unit and then falls silent, so the next worker gets it when
// the lease ends. The result called late is the silent worker's job.
func cutOff(t *testing.T, open Open,
	worker string) (as func(string) workqueue.Queue, q workqueue.Queue, late workqueue.Job) {
	t.Helper()
	as, q = begin(t, open, shortLease, "1")
	return as, q, take(t, as(worker))
}

// aLateFail has a worker that fails a unit after its lease has ended. This must not end the try that another worker has
// begun since.
func aLateFail(t *testing.T, open Open) {
	as, q, late := cutOff(t, open, "a")
	require.NoError(t, take(t, as("b")).Fail(t.Context(), "x"))
	last := take(t, as("c"))
	require.NoError(t, late.Fail(t.Context(), "late"))
	require.NoError(t, last.Done(t.Context(), result("y")))
	require.Equal(t, result("y"), outcome(t, q, unit("1")).Result)
}

// aLateGiveBack has a worker that gives its unit back after the lease has ended. Its try counts as failed all the same.
func aLateGiveBack(t *testing.T, open Open) {
	as, q, late := cutOff(t, open, "a")
	next := take(t, as("b"))
	require.NoError(t, late.GiveBack(t.Context(), 0))
	require.NoError(t, next.Fail(t.Context(), "x"))
	require.NoError(t, take(t, as("c")).Fail(t.Context(), "y"))
	o := outcome(t, q, unit("1"))
	require.Len(t, o.Failed, workqueue.Tries)
	require.Contains(t, o.Failed[0], "a was silent")
}

func givenBackAfterALateResult(t *testing.T, open Open) {
	as, q, late := cutOff(t, open, "a")
	next := take(t, as("b"))
	require.NoError(t, late.Done(t.Context(), result("x")))
	require.NoError(t, next.GiveBack(t.Context(), 0))
	nothingToTake(t, q, shortLease)
}

// whateverWorkersDo makes workers succeed, fail, give back, vanish and return late, in random order. It checks that
// each unit has a right outcome in the end.
func whateverWorkersDo(t *testing.T, open Open) {
	const units, workers = 40, 4
	as, q := begin(t, open, shortLease)
	for i := range units {
		require.NoError(t, q.Put(t.Context(), unit(fmt.Sprint(i))))
	}
	var working sync.WaitGroup
	var late sync.WaitGroup
	for w := range workers {
		worker := as(fmt.Sprint("worker ", w))
		chance := rand.New(rand.NewPCG(uint64(w), 7))
		working.Go(func() {
			for {
				job, err := worker.Take(t.Context())
				if err != nil {
					return
				}
				right := result("of " + string(job.Unit().Body))
				switch chance.IntN(10) {
				case 0:
					_ = job.Fail(t.Context(), "by chance")
				case 1:
					_ = job.GiveBack(t.Context(), 0)
				case 2: // the worker vanishes
				case 3:
					late.Go(func() {
						time.Sleep(2 * shortLease) // longer than its lease
						_ = job.Done(t.Context(), right)
					})
				default:
					_ = job.Done(t.Context(), right)
				}
			}
		})
	}
	for i := range units {
		u := unit(fmt.Sprint(i))
		if o := outcome(t, q, u); o.GivenUp() {
			require.Len(t, o.Failed, workqueue.Tries)
		} else {
			require.Equal(t, result("of "+string(u.Body)), o.Result)
		}
	}
	late.Wait()
	require.Empty(t, disputed(t, q))
	require.NoError(t, q.End(t.Context()))
	working.Wait()
}

// begin opens a queue and puts units with these bodies into it. The first result returns the queue for a worker, by its
// name. The second is the queue for the coordinator.
func begin(t *testing.T, open Open, lease time.Duration,
	bodies ...string) (as func(string) workqueue.Queue, q workqueue.Queue) {
	t.Helper()
	as = open(t, lease)
	q = as("q")
	for _, b := range bodies {
		require.NoError(t, q.Put(t.Context(), unit(b)))
	}
	return as, q
}

func disputed(t *testing.T, q workqueue.Queue) []string {
	t.Helper()
	ids, err := q.Disputed(t.Context())
	require.NoError(t, err)
	return ids
}
