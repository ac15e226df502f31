package workqueue_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/workqueue"
)

// deafJob is a unit of a queue that never answers.
type deafJob struct{ workqueue.Job }

func (deafJob) Unit() workqueue.Unit { return workqueue.Unit{Kind: "x"} }

func (deafJob) Tries() []workqueue.Try { return nil }

func (deafJob) Alive(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func (j deafJob) GiveBack(ctx context.Context, _ time.Duration) error { return j.Alive(ctx) }

// deafQueue hands out a deafJob, and then never answers.
type deafQueue struct{ workqueue.Queue }

func (deafQueue) Withdraw(ctx context.Context, _ string) error {
	<-ctx.Done()
	return ctx.Err()
}

func (deafQueue) Take(context.Context) (workqueue.Job, error) { return deafJob{}, nil }

// TestAWorkerThatEndsWaitsForNoDeafQueue ends a worker whose queue does not answer, by an interruption or a refusal.
func TestAWorkerThatEndsWaitsForNoDeafQueue(t *testing.T) {
	t.Parallel()
	for name, does := range map[string]func(ctx context.Context, interrupt func()) error{
		"interrupted": func(ctx context.Context, interrupt func()) error {
			interrupt()
			return ctx.Err()
		},
		"refuses": func(context.Context, func()) error { return workqueue.ErrRefused },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, interrupt := context.WithCancel(t.Context())
				defer interrupt()
				began := time.Now()
				err := workqueue.Worker{Do: func(ctx context.Context, _ workqueue.Unit) (workqueue.Result, error) {
					return workqueue.Result{}, does(ctx, interrupt)
				}}.Work(ctx, deafQueue{}, "w")
				require.True(t, errors.Is(err, context.Canceled) || errors.Is(err, workqueue.ErrRefused), err)
				require.Equal(t, 5*time.Second, time.Since(began))
			})
		})
	}
}
