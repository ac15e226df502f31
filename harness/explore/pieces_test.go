package explore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// pool does pieces in worlds of this process.
type pool struct {
	t       *testing.T
	runners chan *PieceRunner
	mortal  bool // workers die after some pieces, which are done again
	done    atomic.Int64
	died    atomic.Int64
}

func newPool(t *testing.T, spec Spec, size int) *pool {
	t.Helper()
	p := &pool{t: t, runners: make(chan *PieceRunner, size)}
	for range size {
		r, err := StartPieceRunner(t.Context(), spec)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, r.Stop()) })
		p.runners <- r
	}
	return p
}

// take gives the pool's runners another spec, which needs the same servers.
func (p *pool) take(t *testing.T, spec Spec) {
	t.Helper()
	p.t = t
	spec, err := spec.withDefaults()
	require.NoError(t, err)
	for range cap(p.runners) {
		r := <-p.runners
		r.spec = spec
		p.runners <- r
	}
}

func (p *pool) run(ctx context.Context, piece Piece) (PieceResult, error) {
	r := <-p.runners
	defer func() { p.runners <- r }()
	res, err := r.Run(ctx, *throughJSON(p.t, &piece))
	if err != nil {
		return res, err
	}
	p.done.Add(1)
	if p.mortal && piece.ID()[0]%2 == 0 {
		p.died.Add(1)
		if res, err = r.Run(ctx, *throughJSON(p.t, &piece)); err != nil {
			return res, err
		}
	}
	return *throughJSON(p.t, &res), nil
}

// fromEachCheckpoint searches in pieces, and then resumes the search from a selection of its checkpoints. These include
// the end of each round.
func fromEachCheckpoint(x *trial) came {
	spec := x.pieces(2, x.pool(2).run)
	whole := x.cameTo(x.t.Context(), spec)
	tried := 0
	for i, c := range whole.saved {
		part, round := c.c.Part, c.c.Drawing
		ended := part != nil && len(part.Round) == 0 && len(part.Fresh) > 0 || round != nil && round.Remaining() == 0
		if every := 1 + len(whole.saved)/4; i%every > 0 && (!ended || tried == x.most*4) {
			continue
		}
		tried++
		spec.Resume = c
		resumed := x.cameTo(x.t.Context(), spec)
		require.Equal(x.t, whole.tally, resumed.tally, "%s: from checkpoint %d of %d", x.what, i+1, len(whole.saved))
	}
	return whole
}

func TestAPieceOfAnotherSearchIsRefusedAndALostOneIsToldOf(t *testing.T) {
	spec := quiet(program(sends("INCR a", "GET a"), sends("INCR a", "GET a")))
	p := newPool(t, spec, 1)
	r := <-p.runners
	p.runners <- r
	_, err := r.Run(t.Context(), Piece{Plan: "x", Budget: interleave.Budget{Clients: 2}})
	require.ErrorIs(t, err, ErrSpec)

	spec.Pieces = &Pieces{Workers: 2, Run: func(context.Context, Piece) (PieceResult, error) {
		return PieceResult{}, fmt.Errorf("%w: worker 7 was killed", ErrWorker)
	}}
	res := resultOf(t, spec)
	require.Equal(t, harness.Unknown, res.Verdict())
	require.Contains(t, res.Stopped, "came back from no worker: a worker was lost: worker 7 was killed")

	broken := errors.New("out of order")
	spec.Pieces.Run = func(context.Context, Piece) (PieceResult, error) { return PieceResult{}, broken }
	_, err = Search(t.Context(), spec)
	require.ErrorIs(t, err, broken)

	spec.Pieces.Run = func(ctx context.Context, piece Piece) (PieceResult, error) { // it answers with an earlier piece
		res, err := p.run(ctx, piece)
		res.Piece = "another"
		return res, err
	}
	require.Contains(t, resultOf(t, spec).Stopped, "it returned another piece")
}

func TestASearchWithoutTimeForAPieceSaysSo(t *testing.T) {
	spec := quiet(program(sends("INCR a", "GET a"), sends("INCR a", "GET a")))
	spec.For = 50 * time.Millisecond
	spec.Pieces = &Pieces{Workers: 2, Run: func(ctx context.Context, _ Piece) (PieceResult, error) {
		<-ctx.Done()
		return PieceResult{}, ctx.Err()
	}}
	spec.OnCheckpoint = func(c *Checkpoint) error {
		spec.Resume = throughJSON(t, c)
		return nil
	}
	const none = "the time is up (50ms: no piece was completed, and an incomplete piece does not count; give --for more"
	require.Equal(t, none+", or use explore without --workers)", resultOf(t, spec).Stopped)
	require.NotNil(t, spec.Resume)
	require.Equal(t, none+")", resultOf(t, spec).Stopped)

	spec.Pieces.Run, spec.Resume, spec.OnCheckpoint, spec.For = newPool(t, spec, 2).run, nil, nil, 0
	s := newScheduler(t, spec).until(t.Context(), spec)
	s.stopInTime() // with a finished piece
	require.Equal(t, "the time is up (0s)", s.stopped)
}

// If a piece of random schedules ends early, its result lists the schedules that were not run. A resumed search runs
// them.
func TestSchedulesAtRandomThatAPieceLeavesAreRunLater(t *testing.T) {
	var steps atomic.Int64
	rarely := does("a", func(ctx context.Context, r redis.UniversalClient) (string, error) {
		if steps.Add(1) == 50 { // the search ends there, since MONITOR cannot be explored
			return say(ctx, r, "MONITOR")
		}
		return say(ctx, r, "INCR a")
	})
	spec := quiet(program(rarely, sends("INCR a", "GET a")))
	spec.Random = &Random{Schedules: 100, Seed: 5}
	s := newScheduler(t, spec)
	spec.Pieces = &Pieces{Workers: 1, Run: newPool(t, spec, 1).run}
	var left *Checkpoint
	spec.OnCheckpoint = func(c *Checkpoint) error {
		left = throughJSON(t, c)
		return nil
	}
	whole := func() string {
		se := s.until(t.Context(), spec)
		se.save(nil)
		text, err := json.Marshal(se.seen.Tally(0))
		require.NoError(t, err)
		return string(text)
	}
	whole()
	require.Equal(t, []int{50}, left.c.Drawing.Retry[:1], "and those after it: %v", left.c.Drawing)
	require.Greater(t, len(left.c.Drawing.Retry), 1)
	spec.Resume = left
	resumed := whole()
	require.True(t, left.Done())
	spec.Resume = nil
	require.Equal(t, whole(), resumed)
}

func TestACheckpointOfAnotherSearchIsRefused(t *testing.T) {
	spec := quiet(program(sends("INCR a", "GET a")))
	spec.MaxSchedules = 1
	c := (&trial{scheduler: newScheduler(t, spec)}).cameTo(t.Context(), spec).left
	for want, change := range map[string]func(*Spec){
		"belongs to another program": func(s *Spec) { s.Program.Name = "other" },
		"or to other":                func(s *Spec) { s.Crashes = 1 },
		"as it began":                func(s *Spec) { s.Pieces = &Pieces{Workers: 1, Run: newPool(t, spec, 1).run} },
		"say how many":               func(s *Spec) { s.Random = &Random{} },
	} {
		other := spec
		other.Resume = c
		change(&other)
		if other.Random != nil {
			other.MaxSchedules = 0
		}
		_, err := Search(t.Context(), other)
		require.ErrorIs(t, err, ErrSpec)
		require.ErrorContains(t, err, want)
	}
	require.Error(t, json.Unmarshal([]byte(`{"part":{"budget":{"clients":2},"queue":[{"prefix":[5]}]}}`),
		&Checkpoint{}))
	require.Error(t, json.Unmarshal([]byte(`{"part":{"budget":{"clients":2},"known":"AAAA"}}`), &Checkpoint{}))
	require.Error(t, json.Unmarshal([]byte(`{"drawn":{"next":5,"to":3}}`), &Checkpoint{}))
}
