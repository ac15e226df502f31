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

// This file plans a search in pieces, and puts their results together.
//
// A part begins with one piece of all its branches, which ends after some schedules and leaves the others. These are
// dealt out to piecesAtOnce pieces, neighbours to one piece, since they come to the same states: a round. When all are
// done, the branches that they left are dealt out again. A piece knows the states to which pieces of earlier rounds
// have come, and no state of its own round, so nobody waits for anybody within a round.
//
// The counts, prunings and counterexamples of a search in pieces do not depend on the number of workers, or on which of
// them dies. A piece's result follows from the piece alone. Results are put together in the order of the pieces, and
// nothing else decides what the pieces of the next round are: neither the workers, nor their number, nor time. A piece
// that is done twice counts once.
//
// Nothing is lost. A branch is gone through by the piece that has it, or left to a piece of the next round. A state is
// known when some schedule has come to it, and then what follows is planned: by that schedule's piece, or in what it
// left.

const (
	piecesAtOnce = 8    // of a round: as many workers can be busy
	mostBranches = 1000 // branches of one piece
	drawnInPiece = 32   // schedules at random of one piece

	checkpointEvery = 2 * time.Second
)

// Pieces says how a search works in pieces.
type Pieces struct {
	Workers int // pieces that are done at one time; 1 to MaxWorkers

	// Run does a piece as PieceRunner.Run does, somewhere. It is called for several pieces at one time. If the error
	// wraps ErrWorker, workers were lost and nothing is said about the piece: the search ends, and says so in
	// Result.Stopped. Any other is an error of the search. When ctx is canceled the result is not wanted any more.
	Run func(ctx context.Context, p Piece) (PieceResult, error)

	// Settled is called when the last piece is done; may be nil. An error says that results of pieces cannot be relied
	// on: the search ends early then, with the error in Result.Stopped. Counterexamples stay, since Search runs them
	// again itself.
	Settled func(ctx context.Context) error

	sizes     pieceSizes    // the zero value means the usual ones
	saveEvery time.Duration // between two checkpoints; 0: checkpointEvery
}

// pieceSizes bounds the schedules of the first piece of a part, and of later ones.
type pieceSizes struct{ first, later int }

// Where every schedule is really run, a piece takes a second or some. Where schedules are run from memory each piece
// begins to learn anew, and has to be worth it.
var (
	piecesReallyRun  = pieceSizes{100, 500}
	piecesFromMemory = pieceSizes{2000, 4000}
)

// MaxWorkers is the most workers that a search in pieces keeps busy.
const MaxWorkers = piecesAtOnce

// ErrWorker marks the loss of a worker that had a piece to do.
var ErrWorker = errors.New("a worker was lost")

// round is a round under way.
type round struct {
	// that are to be done, or whose results are not added yet. They are kept without the states that are known
	pieces []Piece
	fresh  []visited.ID
}

// runPieces runs the part under way in pieces, until nothing is left or the search is over.
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
		s.states.Know(s.round.fresh)
		s.round = nil
	}
}

// planRound deals the planned branches out to pieces, those that come next first.
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
		slices.Reverse(items) // the last of a cost comes first
		r.pieces = append(r.pieces, Piece{
			Plan: planOf(s.spec), Budget: s.budget, First: s.spec.First, Unlike: s.unlike != "", Items: items,
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

// doPieces does pieces, up to Pieces.Workers at one time, and hands their results to add in their order. It returns
// when all are done, or the search is over: results that are not added by then are dropped.
func (s *search) doPieces(ctx context.Context, pieces []Piece, known []byte, add func(PieceResult)) {
	ctx, cancel := context.WithCancel(ctx)
	defer s.cancelWhenOver(cancel)()
	pieces = slices.Clone(pieces)
	var mu sync.Mutex // of all below
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

// cancelWhenOver calls cancel when the search is over, or when the caller calls stop.
func (s *search) cancelWhenOver(cancel func()) (stop func()) {
	ended, left := false, make(chan struct{})
	go func() {
		defer close(left)
		s.mu.Lock()
		defer s.mu.Unlock()
		for !s.ends() && !ended {
			s.wake.Wait()
		}
		cancel()
	}()
	return func() {
		s.mu.Lock()
		ended = true
		s.wake.Broadcast()
		s.mu.Unlock()
		<-left
	}
}

// doPiece does one piece.
func (s *search) doPiece(ctx context.Context, p Piece) (res PieceResult, err error) {
	err = catchPanics(func() (err error) {
		res, err = s.spec.Pieces.Run(ctx, p)
		return err
	})
	if err == nil && res.Piece != p.ID() {
		err = fmt.Errorf("%w: it answered with another piece", ErrWorker)
	}
	if err != nil && ctx.Err() == nil && errors.Is(err, ErrWorker) {
		err = schedule.Stopped("a piece of it came back from no worker: %v", err)
	}
	return res, err
}

// addPiece adds the result of the first piece of the round.
func (s *search) addPiece(res PieceResult) {
	if err := errors.Join(visited.Check(res.Fresh), frontier.CheckSaved(res.Left, s.budget)); err != nil {
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
	s.plan(func() { s.branches.PlanSaved(res.Left) })
	s.afterPiece(res)
}

// afterPiece ends the search if the piece, or a limit, says so.
func (s *search) afterPiece(res PieceResult) {
	if res.Stopped != "" {
		s.stop(res.Stopped)
	}
	s.mu.Lock()
	s.added++
	s.endAtLimit()
	s.mu.Unlock()
	if time.Since(s.savedAt) >= cmp.Or(s.spec.Pieces.saveEvery, checkpointEvery) {
		s.save(nil)
	}
}

// noPieceDone says that not a single piece is done, if that is so: as often as a search goes on for so short a time, it
// comes no further. The caller holds s.mu.
func (s *search) noPieceDone() string {
	if s.spec.Pieces == nil || s.added > 0 {
		return ""
	}
	why := ": not one piece of it was done, and a piece that is cut off counts for nothing; give --for more"
	if s.spec.Resume == nil { // one that goes on stays in pieces
		why += ", or use explore without --workers"
	}
	return why
}

// noteFirst notes when the first counterexample was found. The caller holds s.mu.
func (s *search) noteFirst() {
	if s.untilFirst == 0 && len(s.seen.Found) > 0 {
		s.untilFirst = time.Since(s.began)
	}
}

// drawPieces runs the rest of a round of schedules at random in pieces.
func (s *search) drawPieces(ctx context.Context) {
	var pieces []Piece
	for _, part := range s.draws.Split(drawnInPiece) {
		pieces = append(pieces, Piece{Plan: planOf(s.spec), Budget: s.budget, First: s.spec.First,
			Unlike: s.unlike != "", Drawing: &part})
	}
	n := 0
	s.doPieces(ctx, pieces, nil, func(res PieceResult) {
		s.mu.Lock()
		err := s.draws.Ran(*pieces[n].Drawing, res.Undrawn)
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

// ranInPart returns the number of schedules that were run, or given up, in the part under way. The caller holds s.mu.
func (s *search) ranInPart() int {
	ran, pruned := s.before()
	return s.seen.Schedules - ran + s.seen.Pruned - pruned
}

// before returns the counts of the parts before the one under way. The caller holds s.mu, or nobody works.
func (s *search) before() (schedules, pruned int) {
	for _, p := range s.parts {
		schedules, pruned = schedules+p.Schedules, pruned+p.Pruned
	}
	return schedules, pruned
}

// beginPart plans the first branch of a part, or those that a checkpoint left of it.
func (s *search) beginPart() {
	s.mu.Lock()
	s.branches = frontier.NewBranches(s.spec.Unreduced)
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
	} else { // its last piece was added just then
		s.states.Know(fresh)
	}
}

// save hands a checkpoint to those who keep it.
func (s *search) save(worlds []*world) {
	if s.spec.OnCheckpoint == nil {
		return
	}
	if err := s.spec.OnCheckpoint(s.checkpoint(worlds)); err != nil {
		s.fail(fmt.Errorf("explore: keep a checkpoint: %w", err))
	}
	s.savedAt = time.Now()
}
