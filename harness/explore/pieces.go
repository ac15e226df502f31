package explore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/doublegrant/doublegrant/harness/explore/internal/frontier"
	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
	"github.com/doublegrant/doublegrant/harness/explore/internal/strategy"
	"github.com/doublegrant/doublegrant/harness/explore/internal/visited"
)

// This file plans a search in pieces and merges their results.
//
// A part begins with one piece that has all its branches. It ends after some schedules and returns the rest. The rest
// is dealt out to piecesAtOnce pieces: a round. Neighbours go to the same piece, since they reach the same states. When
// the whole round is done, what its pieces returned is dealt out again. A piece knows the states of earlier rounds but
// not of its own, so pieces of one round do not wait for each other.
//
// Counts, prunings and counterexamples do not depend on the number of workers or on failures among them. A piece's
// result follows from the piece alone. Results are merged in the order of the pieces, and only results decide the next
// round. A piece that is done twice counts once.
//
// Nothing is lost. A branch is run by the piece that has it, or returned for the next round. A state is known once a
// schedule has reached it, and then what follows is planned: by that schedule's piece, or among the branches that it
// returned.

const (
	piecesAtOnce = 8    // pieces in a round, and so the largest number of busy workers
	mostBranches = 1000 // the largest number of branches in a piece
	drawnInPiece = 32   // the largest number of random schedules in a piece

	checkpointEvery = 2 * time.Second
)

// Pieces configures a search in pieces.
type Pieces struct {
	Workers int // pieces that are done at the same time, 1 to MaxWorkers

	// Run does a piece somewhere, as PieceRunner.Run does. It is called concurrently. An error that wraps ErrWorker
	// says that workers were lost, and nothing about the piece: the search ends with that reason in Result.Stopped. Any
	// other error means that the search itself failed. After ctx is canceled the result is not needed.
	Run func(ctx context.Context, p Piece) (PieceResult, error)

	// CheckResults is called after the last piece; may be nil. An error says that results of pieces are not reliable:
	// the search then ends early with the error in Result.Stopped. Counterexamples stay, since Search runs them again
	// itself.
	CheckResults func(ctx context.Context) error

	sizes     pieceSizes    // zero: the usual sizes
	saveEvery time.Duration // time between two checkpoints; 0: checkpointEvery
}

// pieceSizes bounds the schedules of a part's first piece, and of later ones.
type pieceSizes struct{ first, later int }

// pieceState is what a search keeps if it is done in pieces, is itself a piece, or goes on from a checkpoint.
type pieceState struct {
	resumed *savedPart // the next part's state in a checkpoint; nil: none
	// why later pieces, or a resumed search, do not use memory; empty: memory may be used
	whyForgotten string
	round        *round    // current round of pieces; nil: none
	added        int       // number of pieces whose results were merged
	mostRuns     int       // schedules after which a piece ends, including pruned ones; 0: no limit
	savedAt      time.Time // time of the last checkpoint
}

// The usual sizes of pieces. Where schedules are run live, a piece takes about a second. A piece that runs schedules
// from memory has to learn them anew, so it gets more schedules.
var (
	piecesReallyRun  = pieceSizes{100, 500}
	piecesFromMemory = pieceSizes{2000, 4000}
)

// MaxWorkers is the largest number of workers that a search in pieces keeps busy.
const MaxWorkers = piecesAtOnce

// ErrWorker marks the loss of a worker that was doing a piece.
var ErrWorker = errors.New("a worker was lost")

type round struct {
	// pieces whose results are not merged yet, finished or not. They do not contain the known states
	pieces []Piece
	fresh  []visited.ID
}

// runPieces runs the current part in pieces, until nothing is left or the search has ended.
func (s *search) runPieces(ctx context.Context, remembers bool) {
	for !s.isEnding() {
		if s.round == nil {
			s.round = s.planRound(remembers)
		}
		if len(s.round.pieces) == 0 {
			s.round = nil
			return
		}
		known := visited.Encode(s.states.Sorted())
		s.doPieces(ctx, s.round.pieces, known, s.addPiece)
		if len(s.round.pieces) > 0 {
			return
		}
		s.states.AddKnown(s.round.fresh)
		s.round = nil
	}
}

// planRound distributes the next planned branches among the pieces of a new round. Neighbouring branches get into the
// same piece.
func (s *search) planRound(remembers bool) *round {
	s.mu.Lock()
	defer s.mu.Unlock()
	remembers = remembers && s.whyForgotten == ""
	dealt := make([][]frontier.Saved, piecesAtOnce)
	first := s.ranInPart() == 0
	if first {
		dealt = dealt[:1]
	}
	taken := s.branches.TakeSaved(len(dealt) * mostBranches)
	for i, b := range taken {
		to := i * len(dealt) / len(taken)
		dealt[to] = append(dealt[to], b)
	}
	r := &round{}
	for _, items := range dealt {
		if len(items) == 0 {
			continue
		}
		slices.Reverse(items) // within a cost the last comes first
		r.pieces = append(r.pieces, Piece{
			Plan: planOf(s.spec), Budget: s.budget, First: s.spec.First, Asymmetric: s.asymmetry != "", Items: items,
			Remember: remembers, Most: s.sizeOfPiece(first, remembers),
		})
	}
	return r
}

// sizeOfPiece returns the number of schedules after which a piece ends.
func (s *search) sizeOfPiece(first, remembers bool) int {
	sizes := s.spec.Pieces.sizes
	if sizes.first == 0 {
		if sizes = piecesReallyRun; remembers {
			sizes = piecesFromMemory
		}
	}
	if first {
		return sizes.first
	}
	return sizes.later
}

// doPieces does pieces, up to Pieces.Workers at the same time, and passes their results to the function add, in the
// order of the pieces. It returns when all are done or the search has ended. It drops results that were not added by
// then.
func (s *search) doPieces(ctx context.Context, pieces []Piece, known []byte, add func(PieceResult)) {
	ctx, cancel := context.WithCancel(ctx)
	defer s.cancelWhenOver(cancel)()
	pieces = slices.Clone(pieces)
	var mu sync.Mutex // guards what follows
	next, added := 0, 0
	results := make([]*PieceResult, len(pieces))
	work := func() {
		for {
			mu.Lock()
			i := next
			next++
			mu.Unlock()
			if i >= len(pieces) || s.isEnding() {
				return
			}
			p := pieces[i]
			p.Known = known
			res, err := s.doPiece(ctx, p)
			if err != nil {
				if ctx.Err() == nil {
					s.fail(err)
				}
				return
			}
			mu.Lock()
			for results[i] = &res; added < len(pieces) && results[added] != nil && !s.isEnding(); added++ {
				add(*results[added])
			}
			mu.Unlock()
		}
	}
	var working sync.WaitGroup
	for range min(s.spec.Pieces.Workers, len(pieces)) {
		working.Go(work)
	}
	working.Wait()
}

// cancelWhenOver calls the function cancel when the part or the search ends, or when the caller calls stop.
func (s *search) cancelWhenOver(cancel func()) (stop func()) {
	ended, done := false, make(chan struct{})
	go func() {
		defer close(done)
		s.mu.Lock()
		defer s.mu.Unlock()
		for !s.isEndingLocked() && !ended {
			s.wake.Wait()
		}
		cancel()
	}()
	return func() {
		s.mu.Lock()
		ended = true
		s.wake.Broadcast()
		s.mu.Unlock()
		<-done
	}
}

func (s *search) doPiece(ctx context.Context, p Piece) (res PieceResult, err error) {
	err = catchPanics(func() (err error) {
		res, err = s.spec.Pieces.Run(ctx, p)
		return err
	})
	if err == nil && res.Piece != p.ID() {
		err = fmt.Errorf("%w: it returned another piece", ErrWorker)
	}
	if err != nil && ctx.Err() == nil && errors.Is(err, ErrWorker) {
		err = schedule.Stopped("one of its pieces came back from no worker: %v", err)
	}
	return res, err
}

// addPiece merges the result of the round's first piece.
func (s *search) addPiece(res PieceResult) {
	if err := errors.Join(visited.Check(res.Fresh), frontier.CheckSaved(res.Remaining, s.budget)); err != nil {
		s.fail(err)
		return
	}
	s.mu.Lock()
	s.seen.Add(res.Tally)
	s.noteFirst()
	s.round.pieces = s.round.pieces[1:]
	s.round.fresh = append(s.round.fresh, visited.Decode(res.Fresh)...)
	if s.whyForgotten == "" {
		s.whyForgotten = res.Memory
	}
	s.mu.Unlock()
	s.plan(func() { s.branches.PlanSaved(res.Remaining) })
	s.afterPiece(res)
}

// afterPiece ends the search if the piece's result says so or a limit is reached. From time to time it saves a
// checkpoint.
func (s *search) afterPiece(res PieceResult) {
	if res.Stopped != "" {
		s.stop(res.Stopped)
	}
	s.mu.Lock()
	s.added++
	s.endAtLimitLocked()
	s.mu.Unlock()
	if time.Since(s.savedAt) >= cmp.Or(s.spec.Pieces.saveEvery, checkpointEvery) {
		s.save(nil)
	}
}

// noPieceDone says that a search was out of time before any piece was finished, and what to do about it. It is empty if
// a piece was finished. If such a search were resumed, it would begin the same pieces again. The caller holds s.mu.
func (s *search) noPieceDone() string {
	if s.spec.Pieces == nil || s.added > 0 {
		return ""
	}
	why := ": no piece was completed, and an incomplete piece does not count; give --for more"
	if s.spec.Resume == nil { // a resumed search stays in pieces
		why += ", or use explore without --workers"
	}
	return why
}

// noteFirst records the time of the first counterexample. The caller holds s.mu.
func (s *search) noteFirst() {
	if s.untilFirst == 0 && len(s.seen.Counterexamples) > 0 {
		s.untilFirst = time.Since(s.began)
	}
}

// drawPieces runs the rest of a round of random schedules in pieces.
func (s *search) drawPieces(ctx context.Context) {
	var pieces []Piece
	for _, part := range s.draws.Split(drawnInPiece) {
		pieces = append(pieces, Piece{Plan: planOf(s.spec), Budget: s.budget, First: s.spec.First,
			Asymmetric: s.asymmetry != "", Drawing: &part})
	}
	n := 0
	s.doPieces(ctx, pieces, nil, func(res PieceResult) {
		s.mu.Lock()
		err := s.draws.MarkRun(*pieces[n].Drawing, res.Undrawn)
		if err == nil {
			s.seen.Add(res.Tally)
			s.noteFirst()
			n++
		}
		s.mu.Unlock()
		if err != nil {
			s.fail(fmt.Errorf("explore: the result of a piece: %w", err))
			return
		}
		s.afterPiece(res)
	})
}

// ranInPart returns the number of schedules that were run or pruned in the current part. The caller holds s.mu.
func (s *search) ranInPart() int {
	ran, pruned := s.earlierCounts()
	return s.seen.Schedules - ran + s.seen.Pruned - pruned
}

// earlierCounts returns the counts of the parts before the current one. The caller holds s.mu, or no worker runs.
func (s *search) earlierCounts() (schedules, pruned int) {
	for _, p := range s.parts {
		schedules, pruned = schedules+p.Schedules, pruned+p.Pruned
	}
	return schedules, pruned
}

// beginPart plans the first branch of a part, or its remaining branches if a checkpoint has saved the part.
func (s *search) beginPart() {
	s.mu.Lock()
	s.branches = frontier.NewBranches(s.spec.WithoutReduction)
	s.source = s.branches
	s.mu.Unlock()
	from := s.resumed
	if s.resumed = nil; from == nil {
		s.states = newStates(visited.NewTable(false))
		s.plan(func() { s.branches.Plan(strategy.Branch{}) })
		return
	}
	s.states = newStates(visited.NewTable(s.mostRuns > 0, visited.Decode(from.Known)...))
	s.plan(func() { s.branches.PlanSaved(from.Queue) })
	fresh := visited.Decode(from.Fresh)
	if len(from.Round) > 0 {
		s.round = &round{pieces: from.Round, fresh: fresh}
	} else { // the checkpoint was written after its last piece
		s.states.AddKnown(fresh)
	}
}

func (s *search) save(worlds []*world) {
	if s.spec.OnCheckpoint == nil {
		return
	}
	if err := s.spec.OnCheckpoint(s.checkpoint(worlds)); err != nil {
		s.fail(fmt.Errorf("explore: keep a checkpoint: %w", err))
	}
	s.savedAt = time.Now()
}
