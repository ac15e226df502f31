package contract

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/workqueue"
)

// This file tests a queue whose workers fail in different ways.

// works starts the workers in a map by name. The returned function waits until the queue is over, and returns the error
// with which each worker ended.
func works(t *testing.T, as func(string) workqueue.Queue,
	workers map[string]func(workqueue.Unit) error) func() map[string]error {
	var mu sync.Mutex
	var working sync.WaitGroup
	ended := map[string]error{}
	for name, does := range workers {
		q := as(name)
		working.Go(func() {
			err := workqueue.Worker{AliveEvery: time.Second / 4,
				Do: func(_ context.Context, u workqueue.Unit) (workqueue.Result, error) {
					return workqueue.Result{Body: []byte(name), Claim: "x"}, does(u)
				}}.Work(t.Context(), q, name)
			mu.Lock()
			defer mu.Unlock()
			ended[name] = err
		})
	}
	return func() map[string]error { working.Wait(); return ended }
}

// aWorkerThatFailsWhereAnotherDoesNot runs two workers. The faster one fails every unit, and without precautions would
// use up all tries.
func aWorkerThatFailsWhereAnotherDoesNot(t *testing.T, open Open) {
	as, q := begin(t, open, someLease)
	failed := make(chan struct{}, 1000)
	ended := works(t, as, map[string]func(workqueue.Unit) error{
		"good": func(workqueue.Unit) error {
			select {
			case <-failed: // the other is faster while it has work
			case <-time.After(time.Second):
			}
			return nil
		},
		"bad": func(workqueue.Unit) error {
			failed <- struct{}{}
			return errors.New("no space left")
		},
	})
	for i := 0; i < 100 && len(q.Watch().Withdrawn) == 0; i++ {
		pair := []workqueue.Unit{unit(fmt.Sprint(i, "a")), unit(fmt.Sprint(i, "b"))}
		for _, u := range pair {
			require.NoError(t, q.Put(t.Context(), u))
		}
		for _, u := range pair {
			o := outcome(t, q, u)
			require.Equal(t, "good", o.Worker, o.Why())
			require.LessOrEqual(t, len(o.Failed), 1)
		}
	}
	require.Contains(t, q.Watch().Withdrawn["bad"],
		"it failed 2 units in a row that other workers completed; the last: no space left, which good then completed")
	require.NoError(t, q.End(t.Context()))
	come := ended()
	require.NoError(t, come["good"])
	require.ErrorIs(t, come["bad"], workqueue.ErrBarred)
}

func aUnitThatFailsEverywhere(t *testing.T, open Open) {
	as, q := begin(t, open, someLease)
	for i := range 3 {
		require.NoError(t, q.Put(t.Context(), unit(fmt.Sprint(i))))
	}
	fails := func(u workqueue.Unit) error {
		if string(u.Body) == "1" {
			return nil
		}
		return errors.New("it is the unit's fault")
	}
	ended := works(t, as, map[string]func(workqueue.Unit) error{"a": fails, "b": fails})
	for _, u := range []string{"0", "2"} {
		o := outcome(t, q, unit(u))
		require.True(t, o.GivenUp())
		require.Contains(t, o.Why(), "a: it is")
		require.Contains(t, o.Why(), "b: it is", "another had a try")
	}
	require.False(t, outcome(t, q, unit("1")).GivenUp())
	require.NoError(t, q.End(t.Context()))
	require.Equal(t, map[string]error{"a": nil, "b": nil}, ended(), "nobody is barred")
}

func aWorkerThatFailsAndIsAlone(t *testing.T, open Open) {
	as, q := begin(t, open, someLease, "1", "2")
	ended := works(t, as, map[string]func(workqueue.Unit) error{"a": func(u workqueue.Unit) error {
		if string(u.Body) == "2" {
			return nil
		}
		return errors.New("it cannot be done")
	}})
	require.Len(t, outcome(t, q, unit("1")).Failed, workqueue.Tries)
	require.False(t, outcome(t, q, unit("2")).GivenUp())
	require.NoError(t, q.End(t.Context()))
	require.Equal(t, map[string]error{"a": nil}, ended())
}

// aWorkerThatFailedOnce checks that a worker goes on working after others have done the unit that it failed.
func aWorkerThatFailedOnce(t *testing.T, open Open) {
	as, q := begin(t, open, someLease)
	var failed atomic.Bool
	ended := works(t, as, map[string]func(workqueue.Unit) error{"good": func(workqueue.Unit) error {
		time.Sleep(time.Second / 20) // leave some units to the other
		return nil
	}, "once": func(workqueue.Unit) error {
		if failed.CompareAndSwap(false, true) {
			return errors.New("by chance")
		}
		return nil
	}})
	by := map[string]bool{}
	for i := 0; i < 1000 && !(failed.Load() && by["once"]); i++ {
		require.NoError(t, q.Put(t.Context(), unit(fmt.Sprint(i, "a"))))
		require.NoError(t, q.Put(t.Context(), unit(fmt.Sprint(i, "b"))))
		by[outcome(t, q, unit(fmt.Sprint(i, "a"))).Worker] = true
		by[outcome(t, q, unit(fmt.Sprint(i, "b"))).Worker] = true
	}
	require.True(t, by["once"], by)
	require.Empty(t, q.Watch().Withdrawn)
	require.NoError(t, q.End(t.Context()))
	require.Equal(t, map[string]error{"good": nil, "once": nil}, ended())
}

func whatACoordinatorSees(t *testing.T, open Open) {
	as, q := begin(t, open, longLease)
	require.Empty(t, q.Watch().Begun)
	require.NoError(t, q.Put(t.Context(), unit("1")))
	sees := func(what string, is func([]workqueue.OpenUnit) bool) {
		t.Helper()
		require.Eventually(t, func() bool { return is(q.Watch().Begun) }, time.Minute, time.Millisecond, what)
	}
	require.NoError(t, take(t, as("a")).Fail(t.Context(), "broken"))
	sees("a try that failed", func(all []workqueue.OpenUnit) bool {
		return len(all) == 1 && all[0].ID == unit("1").ID() && all[0].Worker == "" && len(all[0].Failed) == 1 &&
			all[0].Failed[0] == "a: broken"
	})
	job := take(t, as("b"))
	sees("who has it", func(all []workqueue.OpenUnit) bool {
		return len(all) == 1 && all[0].Worker == "b" && len(all[0].Failed) == 1
	})
	require.NoError(t, job.Done(t.Context(), result("x")))
	sees("that it is done", func(all []workqueue.OpenUnit) bool { return len(all) == 0 })
}
