package adapter

import (
	"context"
	"fmt"
	"time"

	"github.com/doublegrant/doublegrant/workloads"
)

// errNothingDone is the error of an operation that the program answered with "fail".
var errNothingDone = workloads.ErrNoEffect

// operations are the operations of one client. Each is a request to its process.
type operations struct {
	ask func(context.Context, request) (answer, error)
}

var _ workloads.Operations = operations{}

// Acquire tries once to take the lock.
func (o operations) Acquire(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	return o.yes(ctx, request{Do: workloads.DoAcquire, Key: key, Owner: owner, TTL: milliseconds(ttl)})
}

func (o operations) Extend(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	return o.yes(ctx, request{Do: workloads.DoExtend, Key: key, Owner: owner, TTL: milliseconds(ttl)})
}

func (o operations) Release(ctx context.Context, key, owner string) (bool, error) {
	return o.yes(ctx, request{Do: workloads.DoRelease, Key: key, Owner: owner})
}

func (o operations) First(ctx context.Context, id string, window time.Duration) (bool, error) {
	return o.yes(ctx, request{Do: workloads.DoClaim, Key: id, TTL: milliseconds(window)})
}

// Confirm marks a message as delivered.
func (o operations) Confirm(ctx context.Context, id string, window time.Duration) (bool, error) {
	return o.yes(ctx, request{Do: workloads.DoConfirm, Key: id, TTL: milliseconds(window)})
}

func (o operations) Next(ctx context.Context, key, proposed string) (string, error) {
	a, err := o.ask(ctx, request{Do: workloads.DoNext, Key: key, Proposed: proposed})
	if err != nil {
		return "", err
	}
	switch yes, err := a.result(); {
	case err != nil:
		return "", err
	case !yes:
		return "", fmt.Errorf("%w: no number was drawn", errNothingDone)
	case a.Number == "":
		return "", fmt.Errorf("it drew a number and did not say which: an answer to next has a number, %s", page)
	}
	return string(a.Number), nil
}

func (o operations) yes(ctx context.Context, r request) (bool, error) {
	a, err := o.ask(ctx, r)
	if err != nil {
		return false, err
	}
	return a.result()
}

// milliseconds rounds d up, since a lease may not end early.
func milliseconds(d time.Duration) int64 { return (d + time.Millisecond - 1).Milliseconds() }
