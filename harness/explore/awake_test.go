package explore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/await"
	"github.com/doublegrant/doublegrant/harness/explore/internal/frontier"
	"github.com/doublegrant/doublegrant/harness/explore/internal/server"
	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/doublegrant/doublegrant/harness/internal/awake"
)

// stopRedis stops a world's Redis. It resumes Redis when clients have waited for a reply in vain, spells times for half
// a second.
func stopRedis(t *testing.T, w *world, spells int) {
	name := w.Names[server.FirstPrimary]
	before := w.Silence.Count()
	if err := w.Cluster.Pause(context.Background(), name); err != nil {
		t.Error(err)
		return
	}
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		err := await.Until(ctx, time.Millisecond, func() error {
			if w.Silence.Count() < before+spells {
				return errors.New("nobody waits for Redis")
			}
			return nil
		})
		if err = errors.Join(err, w.Cluster.Resume(name)); err != nil {
			t.Error(err)
		}
	}()
}

// stopThisProcess stops this process for twice as long as it takes to count as a standstill.
func stopThisProcess(t *testing.T) {
	script := fmt.Sprintf("kill -STOP %d; sleep %f; kill -CONT %[1]d", os.Getpid(), 2*awake.Standstill.Seconds())
	if out, err := exec.Command("sh", "-c", script).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// After its Redis stood still, a client gets the full time for its next command again, but only once.
func TestAClientIsNotBlamedForARedisThatStandsStill(t *testing.T) {
	defer func(usual time.Duration) { parkWithin = usual }(parkWithin)
	parkWithin = time.Millisecond
	s := newScheduler(t, quiet(program(idle)))
	g := s.w.newGrace()
	overdue := func() bool {
		for g.remaining() > 0 {
			time.Sleep(g.remaining())
		}
		over, err := g.checkOver()
		require.NoError(t, err)
		return over
	}
	stopRedis(t, s.w, 2)
	require.False(t, overdue())
	for !overdue() { // a busy machine may stand still as well
		require.Positive(t, g.w.standstills())
	}
}

// disturbed returns a search whose first client calls stop, which halts Redis or this process, in one of its
// operations: number says in which, from 1; 0: in none. It then sends more commands, like a library that has stopped
// waiting.
func disturbed(number int64, stop func()) Spec {
	var times atomic.Int64
	s := quiet(program(func(ctx context.Context, s *harness.Session, r redis.UniversalClient) {
		op(s, "a", func() (string, error) {
			still := times.Add(1) == number
			if still {
				stop()
			}
			_, err := r.TxPipelined(ctx, func(p redis.Pipeliner) error {
				p.Incr(ctx, "a")
				return nil
			})
			for range interleave.MaxThreads {
				if still { // more commands than a schedule allows
					_ = r.Incr(ctx, "other").Err()
					harness.Go(ctx, func(context.Context) {})
				}
			}
			return "1", err
		})
		sends("GET a")(ctx, s, r)
	}, sends("INCR a", "GET a", "GET other")))
	s.Program.NoBackgroundWork = true
	return s
}

// A search has the same result if Redis or this process stands still for a while, whatever its clients do then.
func TestASearchComesToTheSameIfSomethingStandsStill(t *testing.T) {
	defer func(usual time.Duration) { parkWithin = usual }(parkWithin)
	spec := disturbed(0, nil)
	s := newScheduler(t, spec)
	cameTo := func(spec Spec) any {
		se := s.until(t.Context(), spec)
		return []any{se.stopped, se.seen.Tally(0), se.memory == nil || se.memory.Works(), se.parts}
	}
	for number, unremembered := range map[int64]bool{1: false, 5: true} {
		spec.WithoutMemory = unremembered
		want := cameTo(spec)
		for what, stop := range map[string]func(){
			"Redis":        func() { stopRedis(t, s.w, 3) },
			"this process": func() { stopThisProcess(t) },
		} {
			parkWithin = 2 * awake.Standstill // shorter than the standstill of Redis
			spec := disturbed(number, stop)
			spec.WithoutMemory = unremembered
			require.Equal(t, want, cameTo(spec), what)
		}
	}
}

// A piece has the same result, byte for byte, if Redis or this process stands still for a while.
func TestAPieceHasTheSameResultIfSomethingStandsStill(t *testing.T) {
	resultOfPiece := func(number int64) string {
		var r *PieceRunner
		spec := disturbed(number, func() { stopRedis(t, r.w, 1) })
		r, err := StartPieceRunner(t.Context(), spec)
		require.NoError(t, err)
		defer func() { require.NoError(t, r.Stop()) }()
		b := r.spec.budgets()[0]
		res, err := r.Run(t.Context(),
			Piece{Plan: planOf(&r.spec), Budget: b, Items: []frontier.Saved{{}}, Most: 10, Remember: true})
		require.NoError(t, err)
		claim, err := res.Claim()
		require.NoError(t, err)
		require.Empty(t, res.Stopped)
		return claim
	}
	want := resultOfPiece(0)
	require.Equal(t, want, resultOfPiece(2))
	require.Equal(t, want, resultOfPiece(7))
}

// A client that never sends a command is found, even if this process stood still before.
func TestAClientThatBlocksIsFoundAfterAStandstill(t *testing.T) {
	b := newBlockade()
	first := true
	s := quiet(program(func(context.Context, *harness.Session, redis.UniversalClient) {
		if first {
			first = false
			stopThisProcess(t)
		}
		b.block()
	}))
	s.stuck = b.stuck
	want := fmt.Sprintf("client 1 neither sent a command nor finished within %v: it never sent any", parkWithin)
	require.Equal(t, want, fruitless(t, s, b.free))
}
