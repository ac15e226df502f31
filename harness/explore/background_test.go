package explore

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

// logged keeps what a client logs, so that the compiler does not remove the allocation.
var logged string

// A program with background work is not judged, and the reason names the place.
func TestWhatClientsDoByThemselves(t *testing.T) {
	before := sends("SET k 1 EX 10")
	for _, c := range []struct {
		name string
		does client
		want string // part of the reason; empty: the program is judged
	}{
		{"a ticker", func(context.Context, *harness.Session, redis.UniversalClient) {
			time.NewTicker(time.Hour).Stop()
		}, "time.NewTicker at background_test.go:27"},
		{"a sleep", func(context.Context, *harness.Session, redis.UniversalClient) { time.Sleep(time.Microsecond) },
			"time.Sleep at background_test.go:29"},
		{"a goroutine", func(ctx context.Context, s *harness.Session, r redis.UniversalClient) {
			stop := make(chan struct{})
			go func() { <-stop }()
			sends("GET k")(ctx, s, r)
			close(stop)
		}, "a goroutine started at background_test.go:33"},
		{"a goroutine for each command, which is waited for",
			func(ctx context.Context, s *harness.Session, r redis.UniversalClient) {
				op(s, "k", func() (string, error) {
					var sending sync.WaitGroup
					var err error
					sending.Go(func() { err = r.Get(ctx, "k").Err() })
					sending.Wait()
					return "", err
				})
			}, ""},
		{"a time-out for a command", func(ctx context.Context, s *harness.Session, r redis.UniversalClient) {
			ctx, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			sends("GET k")(ctx, s, r)
		}, ""},
		{"a line of a log, with the time", func(ctx context.Context, s *harness.Session, r redis.UniversalClient) {
			logged = time.Now().Format(time.RFC3339Nano) + ": it begins"
			sends("GET k")(ctx, s, r)
		}, ""},
		{"a nap in the schedule's time", func(ctx context.Context, s *harness.Session, r redis.UniversalClient) {
			require.NoError(t, harness.Sleep(ctx, time.Second))
			sends("GET k")(ctx, s, r)
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			res := resultOf(t, quiet(program(inTurn(before, c.does, sends("GET k")), idle)))
			if c.want == "" {
				require.True(t, res.Exhausted, res.Stopped)
				return
			}
			require.Equal(t, harness.Unknown, res.Verdict())
			require.Contains(t, res.Stopped, "it does something by itself")
			require.Contains(t, res.Stopped, c.want)
		})
	}
	timer := func(ctx context.Context, s *harness.Session, r redis.UniversalClient) {
		before(ctx, s, r)
		time.NewTimer(time.Hour).Stop()
	}
	spec := quiet(program(timer, before))
	spec.MaxSchedules = 1
	// A search that ends early says so as well.
	require.Contains(t, resultOf(t, spec).Stopped,
		"1 schedules were run (it does something by itself: time.NewTimer at background_test.go:")
}

// A command outside of its client's operations is noticed.
func TestACommandOutOfTurn(t *testing.T) {
	var late sync.WaitGroup
	over := make(chan struct{})
	strays := func(ctx context.Context, s *harness.Session, r redis.UniversalClient) {
		sends("SET k 1")(ctx, s, r)
		late.Go(func() {
			<-over
			_ = r.Del(context.Background(), "k").Err()
		})
	}
	spec := quiet(program(strays, idle))
	spec.Program.NoBackgroundWork = true
	s := newScheduler(t, spec)
	s.run()
	close(over)
	s.w.turn.Unlock()
	late.Wait()
	s.w.turn.Lock()
	require.EqualValues(t, 1, s.w.outOfTurn)
}
