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

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// This file tests that a search in pieces, or one that goes on from checkpoints, comes to the same as one that nothing cuts.

// cutKinds lists the kinds of random programs whose searches are cut.
var cutKinds = []kind{
	{"commands", with(plain, "INCR $k"), 0, 6, 2, 4, nil},
	{"three clients", []string{"GET $k", "SET $k $v", "INCR $k"}, 0, 3, 3, 2, nil},
	{"crash and expiry", []string{"GET $k", "INCR $k", "SET $k $v EX 10", "SET $k $v PX 1000", "PTTL $k"}, 0, 3, 2, 3, mayCrashOrExpire},
	{"every part", []string{"GET $k", "SET $k $v EX 10", "INCR $k"}, 0, 3, 2, 2, func(s *Spec) { s.Crashes, s.Expiries, s.LostAnswers = 1, 1, 0 }},
	{"transactions and watched keys", []string{"CAS $k $v", "TX GET $k / INCR $k", "SET $k $v", "MGET a b"}, 0, 3, 2, 2, nil},
	{"late commands", []string{"GET $k", "SET $k $v", "INCR $k"}, 0, 3, 2, 3, mayBeLate},
	{"really run", []string{"GET $k", "SET $k $v", "INCR $k"}, 0, 3, 2, 3, func(s *Spec) { s.Unremembered, s.Crashes = true, 1 }},
	{"waits", []string{"LPUSH $k $v", "BLPOP $k 0", "BLPOP $k 5", "LLEN $k"}, 0, 3, 2, 3, nil},
	{"observed", []string{"GET $k", "SET $k $v", "INCR $k"}, 0, 2, 2, 2, observed},
	{"failover", []string{"GET $k", "SET $k $v"}, 0, 1, 2, 2, mayFailOver},
	{"at random", []string{"GET $k", "SET $k $v", "INCR $k"}, 0, 3, 4, 3, func(s *Spec) { s.Random, s.Crashes = &Random{Schedules: 150, Seed: 5}, 1 }},
}

// tryCut calls f with random programs of some kinds, whose checker finds two classes, and with a function that makes workers for them:
// with long of all kinds.
func tryCut(t *testing.T, some []string, long bool, f func(s *scheduler, spec Spec, workers func(n int) *pool, what string)) {
	kinds := slices.Clone(cutKinds)
	if !long {
		kinds = slices.DeleteFunc(kinds, func(k kind) bool { return !slices.Contains(some, k.name) })
		require.Len(t, kinds, len(some))
	}
	pools := map[int]*pool{} // by failovers
	tryRandom(t, kinds, 11, long, func(s *scheduler, spec Spec, what string) {
		spec.Checkers = []harness.Checker{finder(func(op harness.Op) bool { return op.Client == 2 && len(op.Result) > 3 }), earlySecond{}}
		f(s, spec, func(n int) *pool {
			if pools[spec.Failovers] == nil {
				pools[spec.Failovers] = newPool(t, s.spec, n)
			}
			pools[spec.Failovers].take(s.t, spec)
			return pools[spec.Failovers]
		}, what)
	})
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

// cameTo runs a search in the scheduler's world.
func (s *scheduler) cameTo(ctx context.Context, spec Spec) (came, *Checkpoint) {
	t, w := s.t, s.w
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
	se := newSearch(&spec)
	se.resume(spec.Resume)
	require.NoError(t, se.run(ctx, []*world{w}))
	se.save([]*world{w})
	require.NoError(t, se.failure)
	text, err := json.Marshal(se.tally(0))
	require.NoError(t, err)
	return came{string(text), se.parts, se.stopped}, throughJSON(t, last)
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
	goesOnFromCheckpoints(t, false, "commands", "crash and expiry", "every part", "waits", "failover", "at random")
}

func goesOnFromCheckpoints(t *testing.T, long bool, kinds ...string) {
	stops, programs := 0, 0
	rng := rand.New(rand.NewPCG(1, 13))
	tryCut(t, kinds, long, func(s *scheduler, spec Spec, _ func(int) *pool, what string) {
		whole, done := s.cameTo(s.t.Context(), spec)
		require.True(s.t, done.Done(), what)
		var c *Checkpoint
		for _, limit := range []int{1, 17, 0, 64, 0, 100, 1, 0, 0} {
			spec := spec
			spec.Resume = c
			ctx, cancel := context.WithCancel(s.t.Context())
			if limit == 0 || spec.Random != nil { // it is interrupted
				i := interrupter{cancel: cancel, left: &atomic.Int64{}}
				i.left.Store(1 + rng.Int64N(60))
				spec.Checkers = append(slices.Clone(spec.Checkers), i)
			} else {
				spec.MaxSchedules = limit
			}
			before := c
			_, c = s.cameTo(ctx, spec)
			cancel()
			if before != nil && !c.Done() { // or the last schedule was run before, and nobody knew that it was
				require.Greater(s.t, c.Schedules()+c.c.Tally.Pruned, before.Schedules()+before.c.Tally.Pruned, "it gets on: %s", what)
			}
			if !c.Done() {
				stops++
			}
		}
		spec.Resume = c
		resumed, done := s.cameTo(s.t.Context(), spec)
		require.Equal(s.t, whole, resumed, what)
		require.True(s.t, done.Done())
		spec.Resume = done
		again, _ := s.cameTo(s.t.Context(), spec)
		require.Equal(s.t, whole.tally, again.tally, "nothing is left to be done")
		programs++
	})
	t.Logf("%d stops", stops)
	require.Greater(t, stops, 2*programs, "or nothing was shown")
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

// take makes the pool's runners those of another spec that needs the same servers, in a part of the test.
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
	inPiecesComesToTheSame(t, false, 2, "three clients", "every part", "really run", "at random")
}

func inPiecesComesToTheSame(t *testing.T, long bool, most int, kinds ...string) {
	var pieces, died, programs int64
	tryCut(t, kinds, long, func(s *scheduler, spec Spec, workers func(int) *pool, what string) {
		p := workers(most)
		plain, _ := s.cameTo(s.t.Context(), spec)
		var one came
		for n := 1; n <= most; n *= 2 {
			p.mortal = n > 1
			spec.Pieces = &Pieces{Workers: n, Run: p.run, sizes: smallPieces}
			got, done := s.cameTo(s.t.Context(), spec)
			require.True(s.t, done.Done(), what)
			if n == 1 {
				one = got
			}
			require.Equal(s.t, one, got, "%d workers: %s", n, what)
		}
		comparePlain(s.t, spec, plain, one, what)
		pieces, died, programs = pieces+p.done.Swap(0), died+p.died.Swap(0), programs+1
	})
	t.Logf("%d pieces, %d lost workers", pieces, died)
	require.Greater(t, pieces, 10*programs, "or nothing was shown")
	require.Greater(t, died, 2*programs, "or nothing was shown")
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

func TestRacedASearchInPiecesGoesOnFromACheckpoint(t *testing.T) {
	inPiecesGoesOn(t, false, "three clients", "at random")
}

func inPiecesGoesOn(t *testing.T, long bool, kinds ...string) {
	tryCut(t, kinds, long, func(s *scheduler, spec Spec, workers func(int) *pool, what string) {
		p := workers(2)
		spec.Pieces = &Pieces{Workers: 2, Run: p.run, sizes: smallPieces}
		whole, _ := s.cameTo(s.t.Context(), spec)
		var c *Checkpoint
		for stop := 1; c == nil || !c.Done(); stop++ {
			require.Less(s.t, stop, 500, what)
			spec.Resume = c
			ctx, cancel := context.WithCancel(s.t.Context())
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
			if got, c = s.cameTo(ctx, spec); c.Done() {
				require.Equal(s.t, whole, got, what)
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
	_, c := newScheduler(t, spec).cameTo(t.Context(), spec)
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
