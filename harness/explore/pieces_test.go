package explore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// This file tests that a search in pieces, or one that goes on from checkpoints, comes to the same as one that nothing cuts.

// randomSpecs lists kinds of random programs, and what may happen to them.
var randomSpecs = []struct {
	name     string
	menu     []string
	programs int
	clients  int
	commands int
	spec     func(*Spec)
}{
	{"commands", []string{"GET $k", "SET $k $v", "INCR $k", "DEL $k", "SETNX $k $v"}, 6, 2, 4, nil},
	{"three clients", []string{"GET $k", "SET $k $v", "INCR $k"}, 3, 3, 2, nil},
	{"crash and expiry", []string{"GET $k", "INCR $k", "SET $k $v EX 10", "SET $k $v PX 1000", "PTTL $k"}, 3, 2, 3, func(s *Spec) { s.Crashes, s.Expiries = 1, 1 }},
	{"every part", []string{"GET $k", "SET $k $v EX 10", "INCR $k"}, 3, 2, 2, func(s *Spec) { s.Crashes, s.Expiries, s.LostAnswers = 1, 1, 0 }},
	{"transactions and watched keys", []string{"CAS $k $v", "TX GET $k / INCR $k", "SET $k $v", "MGET a b"}, 3, 2, 2, nil},
	{"late commands", []string{"GET $k", "SET $k $v", "INCR $k"}, 3, 2, 3, func(s *Spec) { s.Late = 1 }},
	{"really run", []string{"GET $k", "SET $k $v", "INCR $k"}, 3, 2, 3, func(s *Spec) { s.Unremembered, s.Crashes = true, 1 }},
	{"waits", []string{"LPUSH $k $v", "BLPOP $k 0", "BLPOP $k 5", "LLEN $k"}, 3, 2, 3, nil},
	{"observed", []string{"GET $k", "SET $k $v", "INCR $k"}, 2, 2, 2, func(s *Spec) {
		s.Program.Observe = func(ctx context.Context, s *harness.Session, r redis.UniversalClient, _ harness.Op) { dump(ctx, s, r) }
	}},
	{"failover", []string{"GET $k", "SET $k $v"}, 1, 2, 2, func(s *Spec) { s.Failovers = 1 }},
	{"at random", []string{"GET $k", "SET $k $v", "INCR $k"}, 3, 4, 3, func(s *Spec) { s.Random = &Random{Schedules: 150, Seed: 5}; s.Crashes = 1 }},
}

// eachRandomSpec calls f with the specs of random programs, whose checker finds two classes.
func eachRandomSpec(t *testing.T, f func(t *testing.T, s Spec, seed uint64, what string)) {
	for _, group := range randomSpecs {
		t.Run(group.name, func(t *testing.T) {
			for seed := range uint64(group.programs) {
				spec, what := randomSpec(seed, 11, group.clients, group.commands, group.menu, group.spec)
				spec.Checkers = []harness.Checker{finder(func(op harness.Op) bool { return op.Client == 2 && len(op.Result) > 3 }), earlySecond{}}
				f(t, spec, seed, what)
			}
		})
	}
}

// earlySecond finds an anomaly if client 2 ends an operation before client 1 does.
type earlySecond struct{}

func (earlySecond) Name() string { return "early second" }

func (earlySecond) Check(_ context.Context, h harness.History, found func(harness.Anomaly)) harness.Judgement {
	j := harness.Judgement{Absent: true}
	for op := range h.Ops {
		j.Situations = append(j.Situations, harness.Situation{Name: harness.DrawsAtOnce, Count: 1, Example: []harness.Op{op}})
		if op.Client == 2 {
			found(harness.Anomaly{Class: harness.Regression, Ops: []harness.Op{op}, From: op.Call, To: op.Return})
		}
		break
	}
	return j
}

// came is what a search came to.
type came struct {
	tally   string // as JSON
	parts   []interleave.Part
	stopped string
}

// cameTo runs a search in a world of the test's own.
func cameTo(t *testing.T, ctx context.Context, spec Spec, w *world) (came, *Checkpoint) {
	t.Helper()
	var last *Checkpoint
	keep := spec.OnCheckpoint
	spec.OnCheckpoint = func(c *Checkpoint) error {
		last = c
		if keep != nil {
			return keep(c)
		}
		return nil
	}
	spec, err := spec.withDefaults()
	require.NoError(t, err)
	s := newSearch(&spec)
	s.resume(spec.Resume)
	require.NoError(t, s.run(ctx, []*world{w}))
	s.save([]*world{w})
	require.NoError(t, s.failure)
	text, err := json.Marshal(s.tally(0))
	require.NoError(t, err)
	return came{string(text), s.parts, s.stopped}, throughJSON(t, last)
}

// throughJSON returns what another process would read.
func throughJSON[T any](t *testing.T, v *T) *T {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	again := new(T)
	require.NoError(t, json.Unmarshal(text, again))
	return again
}

func TestASearchThatGoesOnFromCheckpointsComesToTheSame(t *testing.T) {
	stops := 0
	var w *world
	eachRandomSpec(t, func(t *testing.T, spec Spec, seed uint64, what string) {
		if seed == 0 {
			w = newScheduler(t, spec).w
		}
		if int(seed) >= usually(3) { // each needs a second
			return
		}
		whole, done := cameTo(t, t.Context(), spec, w)
		require.True(t, done.Done(), what)
		rng := rand.New(rand.NewPCG(seed, 13))
		var c *Checkpoint
		for _, limit := range []int{1, 17, 0, 64, 0, 100, 1, 0, 0} {
			spec := spec
			spec.Resume = c
			ctx, cancel := context.WithCancel(t.Context())
			if limit == 0 || spec.Random != nil { // it is interrupted
				spec.Checkers = append(slices.Clone(spec.Checkers), interrupter{cancel: cancel, left: &atomic.Int64{}})
				spec.Checkers[2].(interrupter).left.Store(1 + rng.Int64N(60))
			} else {
				spec.MaxSchedules = limit
			}
			before := c
			_, c = cameTo(t, ctx, spec, w)
			cancel()
			if before != nil && !before.Done() {
				require.Greater(t, c.Schedules()+c.c.Tally.Pruned, before.Schedules()+before.c.Tally.Pruned, "it gets on: %s", what)
			}
			if !c.Done() {
				stops++
			}
		}
		spec.Resume = c
		resumed, done := cameTo(t, t.Context(), spec, w)
		require.Equal(t, whole, resumed, what)
		require.True(t, done.Done())
		spec.Resume = done
		again, _ := cameTo(t, t.Context(), spec, w)
		require.Equal(t, whole.tally, again.tally, "nothing is left to be done")
	})
	t.Logf("%d stops", stops)
	require.Greater(t, stops, 25*usually(3), "or nothing was shown")
}

// interrupter is a checker that interrupts the search after some looks.
type interrupter struct {
	cancel func()
	left   *atomic.Int64
}

func (interrupter) Name() string { return "interrupter" }

func (i interrupter) Check(context.Context, harness.History, func(harness.Anomaly)) harness.Judgement {
	if i.left.Add(-1) == 0 {
		i.cancel()
	}
	return harness.Judgement{Absent: true}
}

// pool does pieces in worlds of this process.
type pool struct {
	t       *testing.T
	runners chan *PieceRunner
	mortal  bool // workers die, before and after a piece, each piece's at most twice
	mu      sync.Mutex
	deaths  map[string]int // by piece
	done    atomic.Int64
	died    atomic.Int64
}

func newPool(t *testing.T, spec Spec, size int) *pool {
	t.Helper()
	p := &pool{t: t, runners: make(chan *PieceRunner, size), deaths: map[string]int{}}
	for range size {
		r, err := StartPieceRunner(t.Context(), spec)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, r.Stop()) })
		p.runners <- r
	}
	return p
}

// dies reports whether a worker dies before or after the piece.
func (p *pool) dies(piece Piece, when int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	id := piece.ID()
	if !p.mortal || p.deaths[id] == triesOfPiece-1 || (int(id[0])+p.deaths[id]+when)%3 > 0 {
		return false
	}
	p.deaths[id]++
	p.died.Add(1)
	return true
}

// take makes the pool's runners those of another spec that needs the same servers.
func (p *pool) take(spec Spec) {
	p.t.Helper()
	spec, err := spec.withDefaults()
	require.NoError(p.t, err)
	p.done.Store(0)
	p.died.Store(0)
	for range cap(p.runners) {
		r := <-p.runners
		r.spec = spec
		p.runners <- r
	}
}

func (p *pool) run(ctx context.Context, piece Piece) (PieceResult, error) {
	if p.dies(piece, 0) {
		return PieceResult{}, fmt.Errorf("%w: before", ErrWorker)
	}
	r := <-p.runners
	defer func() { p.runners <- r }()
	res, err := r.Run(ctx, *throughJSON(p.t, &piece))
	if err != nil {
		return res, err
	}
	p.done.Add(1)
	if p.dies(piece, 1) {
		return PieceResult{}, fmt.Errorf("%w: after", ErrWorker)
	}
	return *throughJSON(p.t, &res), nil
}

// smallPieces cuts small programs into many pieces.
var smallPieces = pieceSizes{10, 50}

func TestASearchInPiecesComesToTheSameWhoeverDoesThem(t *testing.T) {
	var pieces, died int64
	var p *pool
	var w *world
	eachRandomSpec(t, func(t *testing.T, spec Spec, seed uint64, what string) {
		if seed == 0 { // of a group: their programs need the same servers
			p, w = newPool(t, spec, 4), newScheduler(t, spec).w
		}
		if int(seed) >= usually(2) { // each needs seconds
			return
		}
		p.take(spec)
		plain, _ := cameTo(t, t.Context(), spec, w)
		var one came
		for _, workers := range []int{1, 2, 4}[:1+usually(2)] {
			p.mortal = workers > 1
			spec.Pieces = &Pieces{Workers: workers, Run: p.run, sizes: smallPieces}
			got, done := cameTo(t, t.Context(), spec, w)
			require.True(t, done.Done(), what)
			if workers == 1 {
				one = got
			}
			require.Equal(t, one, got, "%d workers: %s", workers, what)
		}
		comparePlain(t, spec, plain, one, what)
		pieces, died = pieces+p.done.Load(), died+p.died.Load()
	})
	t.Logf("%d pieces, %d lost workers", pieces, died)
	require.Greater(t, pieces, int64(150*usually(2)), "or nothing was shown")
	require.Greater(t, died, int64(30*usually(2)), "or nothing was shown")
}

// comparePlain compares a search in pieces with one that is not.
func comparePlain(t *testing.T, spec Spec, plain, pieces came, what string) {
	t.Helper()
	require.Equal(t, plain.stopped, pieces.stopped, what)
	var a, b tally
	require.NoError(t, json.Unmarshal([]byte(plain.tally), &a))
	require.NoError(t, json.Unmarshal([]byte(pieces.tally), &b))
	if spec.Random != nil || spec.Unremembered {
		require.Equal(t, a, b, "where no state is known the counts are the same as well: %s", what)
		return
	}
	require.Equal(t, len(a.Found), len(b.Found), what)
	for i := range a.Found {
		require.Equal(t, a.Found[i].Class, b.Found[i].Class, what)
		require.Equal(t, a.Found[i].Length, b.Found[i].Length, what)
		require.Equal(t, faultsIn(a.Found[i].Schedule), faultsIn(b.Found[i].Schedule), what)
	}
	require.GreaterOrEqual(t, b.Schedules, a.Schedules, what)
}

func TestASearchInPiecesGoesOnFromACheckpoint(t *testing.T) {
	eachRandomSpec(t, func(t *testing.T, spec Spec, seed uint64, what string) {
		if seed > 0 {
			return
		}
		p := newPool(t, spec, 2)
		w := newScheduler(t, spec).w
		spec.Pieces = &Pieces{Workers: 2, Run: p.run, sizes: smallPieces}
		whole, _ := cameTo(t, t.Context(), spec, w)
		var c *Checkpoint
		for stop := 1; c == nil || !c.Done(); stop++ {
			require.Less(t, stop, 500, what)
			spec := spec
			spec.Resume = c
			ctx, cancel := context.WithCancel(t.Context())
			var n atomic.Int64
			spec.Pieces = &Pieces{Workers: 1 + stop%3, sizes: smallPieces, Run: func(ctx context.Context, piece Piece) (PieceResult, error) {
				if n.Add(1) > int64(1+stop%4) {
					cancel()
					<-ctx.Done()
					return PieceResult{}, ctx.Err()
				}
				return p.run(ctx, piece)
			}}
			var got came
			if got, c = cameTo(t, ctx, spec, w); c.Done() {
				require.Equal(t, whole, got, what)
			}
			cancel()
		}
	})
}

func TestAPieceOfAnotherSearchIsRefusedAndALostOneIsToldOf(t *testing.T) {
	spec := quiet(program(sends("INCR a", "GET a"), sends("INCR a", "GET a")))
	p := newPool(t, spec, 1)
	r := <-p.runners
	p.runners <- r
	_, err := r.Run(t.Context(), Piece{Plan: "x", Budget: interleave.Budget{Clients: 2}})
	require.ErrorIs(t, err, ErrSpec)

	spec.Pieces = &Pieces{Workers: 2, Run: func(context.Context, Piece) (PieceResult, error) {
		p.died.Add(1)
		return PieceResult{}, fmt.Errorf("%w: worker 7 was killed", ErrWorker)
	}}
	res, err := Search(t.Context(), spec)
	require.NoError(t, err)
	require.Equal(t, harness.Unknown, res.Verdict())
	require.Contains(t, res.Stopped, "was given to a worker 3 times: a worker was lost: worker 7 was killed")
	require.EqualValues(t, 3, p.died.Load())

	broken := errors.New("out of order")
	spec.Pieces.Run = func(context.Context, Piece) (PieceResult, error) { return PieceResult{}, broken }
	_, err = Search(t.Context(), spec)
	require.ErrorIs(t, err, broken)

	spec.Pieces.Run = func(ctx context.Context, piece Piece) (PieceResult, error) { // it answers with a piece of before
		res, err := p.run(ctx, piece)
		res.Piece = "another"
		return res, err
	}
	res, err = Search(t.Context(), spec)
	require.NoError(t, err)
	require.Contains(t, res.Stopped, "it answered with another piece")
}

func TestACheckpointOfAnotherSearchIsRefused(t *testing.T) {
	spec := quiet(program(sends("INCR a", "GET a")))
	spec.MaxSchedules = 1
	_, c := cameTo(t, t.Context(), spec, newScheduler(t, spec).w)
	for want, change := range map[string]func(*Spec){
		"of another program": func(s *Spec) { s.Program.Name = "other" },
		"or of other":        func(s *Spec) { s.Crashes = 1 },
		"as it began":        func(s *Spec) { s.Pieces = &Pieces{Workers: 1, Run: newPool(t, spec, 1).run} },
		"say how many":       func(s *Spec) { s.Random = &Random{} },
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
	require.Error(t, json.Unmarshal([]byte(`{"part":{"budget":{"clients":2},"queue":[{"prefix":[5]}]}}`), &Checkpoint{}))
	require.Error(t, json.Unmarshal([]byte(`{"part":{"budget":{"clients":2},"known":"AAAA"}}`), &Checkpoint{}))
}
