package coordinate

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/doublegrant/doublegrant/harness/explore"
	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/harness/workqueue"
)

// Pieces returns the function for results.Options that lets a queue's workers do the pieces of a search. version is the
// version of this program. The names of the units are added to the parameter work.
//
// A search ends early if a piece is given up or has contradictory results, or if the queue can no longer be used. It
// fails if the queue is full or over. When the queue fails for the first time, the function ended is called with the
// reason. No later search uses the queue.
func Pieces(
	q workqueue.Queue, version string, work *Work, ended func(error),
) func(s plan.Search, server string) *explore.Pieces {
	var dead atomic.Pointer[error]
	return func(s plan.Search, server string) *explore.Pieces {
		mine := &pieces{q: q, version: version, search: s, server: server, work: work, ended: ended, dead: &dead}
		return &explore.Pieces{Workers: explore.MaxWorkers, Run: mine.run, CheckResults: mine.checkDisputes}
	}
}

// pieces lets the workers of a queue do the pieces of one search.
type pieces struct {
	q               workqueue.Queue
	version, server string
	search          plan.Search
	work            *Work
	ended           func(error)
	ids             sync.Map // ids of the units that were put into the queue
	number          atomic.Int64

	dead *atomic.Pointer[error] // why the queue can no longer be used; shared by all searches
}

func (p *pieces) run(ctx context.Context, piece explore.Piece) (res explore.PieceResult, err error) {
	u, err := newUnit(KindPiece, p.version, p.server, pieceUnit{p.search, piece})
	if err != nil {
		return res, err
	}
	o, err := p.outcome(ctx, u)
	switch {
	case err != nil && ctx.Err() == nil && !endsWithoutResults(err):
		return res, fmt.Errorf("%w: %w", explore.ErrWorker, err)
	case err != nil:
		return res, err
	case o.GivenUp():
		return res, fmt.Errorf("%w: a piece was given up: %s", explore.ErrWorker, o.Why())
	}
	if err := decode(o.Body, &res); err != nil {
		return res, fmt.Errorf("%w: %s returned something other than the result of a piece: "+
			"%w", explore.ErrWorker, o.Worker, err)
	}
	return res, nil
}

// outcome puts a unit into the queue and waits for the unit's outcome. If the queue has failed before, it only returns
// that failure.
func (p *pieces) outcome(ctx context.Context, u workqueue.Unit) (o workqueue.Outcome, err error) {
	if dead := p.dead.Load(); dead != nil {
		return o, *dead
	}
	p.ids.Store(u.ID(), true)
	p.work.add(u.ID(), fmt.Sprint("piece ", p.number.Add(1)), 0)
	if err = p.q.Put(ctx, u); err == nil {
		o, err = p.q.Await(ctx, u.ID())
	}
	if err != nil && ctx.Err() == nil && p.dead.CompareAndSwap(nil, &err) {
		p.ended(err)
	}
	return o, err
}

// checkDisputes returns an error if workers returned contradictory results for a piece of this search.
func (p *pieces) checkDisputes(ctx context.Context) error {
	ids, err := p.q.Disputed(ctx)
	if err != nil {
		return err
	}
	return disputeError("pieces", slices.DeleteFunc(ids, func(id string) bool { // of earlier searches
		_, mine := p.ids.Load(id)
		return !mine
	}))
}

// disputeError returns an error that names the units with contradictory results, or nil if there are none. The argument
// what is a word for the units, such as "pieces".
func disputeError(what string, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	return fmt.Errorf("%d %s were done twice with contradictory results, so none of them can be trusted: "+
		"%s", len(ids), what, strings.Join(ids, ", "))
}
