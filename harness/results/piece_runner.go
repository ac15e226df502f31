package results

import (
	"context"

	"github.com/doublegrant/doublegrant/harness/adapter"
	"github.com/doublegrant/doublegrant/harness/explore"
	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/workloads"
)

// PieceRunner runs pieces of one search, one after the other, in this process.
type PieceRunner struct {
	*explore.PieceRunner
	v workloads.Variant
}

// StartPieceRunner starts a Redis for the pieces of a search. The caller calls Stop. The error wraps plan.ErrUsage if
// the search is impossible.
func StartPieceRunner(ctx context.Context, s plan.Search, redis string) (*PieceRunner, error) {
	v, spec, err := s.Resolve(redis)
	if err != nil {
		return nil, err
	}
	if err := adapter.Missing(v); err != nil {
		v.Close()
		return nil, err
	}
	r, err := explore.StartPieceRunner(ctx, spec)
	if err != nil {
		v.Close()
		return nil, err
	}
	return &PieceRunner{r, v}, nil
}

// Stop stops the Redis and the adapter, if there is one.
func (w *PieceRunner) Stop() error {
	err := w.PieceRunner.Stop()
	w.v.Close()
	return err
}
