package harness

import (
	"context"
	"time"
)

// ClientTime is the time of one client: its own clock, which may be wrong, and its own sleep.
type ClientTime interface {
	Now() time.Time
	// Sleep returns after d, or with ctx's error when ctx ends first.
	Sleep(ctx context.Context, d time.Duration) error
}

// MillisTime is a [ClientTime] with a separate reading in whole milliseconds. The explorer has one: all readings in one
// millisecond are the same, so it need not try them in every order.
type MillisTime interface {
	ClientTime
	NowMillis() int64
}

type clientTimeKey struct{}

// WithTime returns a context in which Now and Sleep use t.
func WithTime(ctx context.Context, t ClientTime) context.Context {
	return context.WithValue(ctx, clientTimeKey{}, t)
}

// Now returns the time on the clock of the client that ctx belongs to: the machine's, unless WithTime set another. An
// algorithm under test has to read this clock, so that the explorer and clock faults can move it.
func Now(ctx context.Context) time.Time {
	if t, ok := ctx.Value(clientTimeKey{}).(ClientTime); ok {
		return t.Now()
	}
	return time.Now()
}

// NowMillis returns Now in whole milliseconds since 1970, rounded down. An algorithm that needs no finer time should
// use it, since that makes its search smaller.
func NowMillis(ctx context.Context) int64 {
	if t, ok := ctx.Value(clientTimeKey{}).(MillisTime); ok {
		return t.NowMillis()
	}
	return Now(ctx).UnixMilli()
}

// Sleep waits for d on the clock of the client that ctx belongs to. It returns ctx's error when ctx ends first. An
// algorithm under test has to wait with this function.
func Sleep(ctx context.Context, d time.Duration) error {
	if t, ok := ctx.Value(clientTimeKey{}).(ClientTime); ok {
		return t.Sleep(ctx, d)
	}
	return sleep(ctx, d)
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
