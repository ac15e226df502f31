package explore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/doublegrant/doublegrant/harness/explore/internal/findings"
	"github.com/doublegrant/doublegrant/harness/explore/internal/frontier"
	"github.com/doublegrant/doublegrant/harness/explore/internal/visited"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// Piece is a part of a search that any machine can do. It holds the branches to go through, and everything else on
// which the result depends, except the program: the machine has to have an equal Spec. Doing a piece twice gives equal
// results. A Piece is encoded as JSON.
type Piece struct {
	Plan   string            `json:"plan"` // hash of the search; a PieceRunner refuses pieces of another search
	Budget interleave.Budget `json:"budget"`
	First  bool              `json:"first,omitempty"` // the piece ends at its first counterexample
	// clients are not interchangeable, though the program promises it
	Asymmetric bool `json:"unlike,omitempty"`

	// For a search that runs every schedule.
	Items    []frontier.Saved `json:"items,omitempty"`
	Most     int              `json:"most,omitempty"`     // schedules after which the piece ends, including pruned ones
	Remember bool             `json:"remember,omitempty"` // schedules are run from memory where possible
	Known    []byte           `json:"known,omitempty"`    // states that need not be explored again

	// For random schedules: a part of a round.
	Drawing *frontier.Round `json:"drawing,omitempty"`
}

// PieceResult is the result of a piece. It is encoded as JSON.
type PieceResult struct {
	Piece     string           `json:"piece"` // the piece's ID
	Tally     findings.Tally   `json:"tally"`
	Remaining []frontier.Saved `json:"left,omitempty"`    // branches that remain
	Undrawn   []int            `json:"undrawn,omitempty"` // numbers of random schedules that were not run
	Fresh     []byte           `json:"fresh,omitempty"`   // states that were not known before
	// why schedules could no longer be run from memory; empty: memory went on working
	Memory  string `json:"memory,omitempty"`
	Stopped string `json:"stopped,omitempty"` // why the whole search has to end; empty: the search can go on
}

// ID names a piece by its content. Pieces with equal IDs have equal results.
func (p Piece) ID() string {
	known := sha256.Sum256(p.Known)
	p.Known = known[:]
	b, err := json.Marshal(p)
	if err != nil {
		panic(fmt.Sprintf("explore: the piece cannot be written as JSON: "+
			"%v", err)) // it contains only numbers and texts
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}

// Claim returns a digest that is the same whichever worker has searched the piece, so that two results can be compared.
// It leaves out what may differ: the wording of texts, which may name a machine, and Tally.OutOfTurn.
func (r PieceResult) Claim() (string, error) {
	some := func(text string) string { return text[:min(1, len(text))] }
	r.Tally.OutOfTurn, r.Tally.Doubt, r.Memory, r.Stopped = 0, some(r.Tally.Doubt), some(r.Memory), some(r.Stopped)
	b, err := json.Marshal(r)
	if err != nil {
		return "", fmt.Errorf("explore: the result of a piece: %w", err)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), nil
}

// PieceRunner does pieces one after the other, on its own Redis.
type PieceRunner struct {
	spec Spec
	w    *world
}

// StartPieceRunner starts a Redis for the pieces of a spec's search. Call Stop to end it. Its errors are those of
// Search.
func StartPieceRunner(ctx context.Context, spec Spec) (*PieceRunner, error) {
	spec, err := spec.withDefaults()
	if err != nil {
		return nil, err
	}
	spec.Workers, spec.MaxSchedules, spec.For, spec.OnProgress = 1, 0, 0, nil
	spec.Pieces, spec.Resume, spec.OnCheckpoint = nil, nil, nil
	w, err := newWorld(ctx, &spec)
	if err != nil {
		return nil, err
	}
	return &PieceRunner{spec, w}, nil
}

// Stop ends the runner's Redis.
func (r *PieceRunner) Stop() error { return r.w.stop() }

// Run does a piece. Memory starts empty each time, so the result does not depend on earlier pieces. It returns the
// error of ctx if ctx is canceled, and an error that wraps ErrSpec if the piece belongs to another search. Any other
// error says that the harness or its environment failed, or that the program or a checker panicked.
func (r *PieceRunner) Run(ctx context.Context, p Piece) (PieceResult, error) {
	res, err := r.run(ctx, p)
	if !errors.Is(err, errAwaitsReplicas) {
		return res, err
	}
	r.spec.Program.Replicas = true
	if err := r.w.replace(ctx, &r.spec, &r.w); err != nil {
		return PieceResult{}, err
	}
	return r.run(ctx, p)
}

func (r *PieceRunner) run(ctx context.Context, p Piece) (PieceResult, error) {
	spec := r.spec
	if p.Asymmetric {
		spec.Program.Symmetric = false
	}
	if plan := planOf(&spec); p.Plan != plan {
		return PieceResult{}, fmt.Errorf("%w: the piece belongs to another search", ErrSpec)
	}
	err := errors.Join(visited.Check(p.Known), frontier.CheckSaved(p.Items, p.Budget))
	if p.Drawing != nil {
		err = errors.Join(err, p.Drawing.Check())
	}
	if err != nil || p.Budget.Clients > r.spec.Clients {
		return PieceResult{}, errors.Join(fmt.Errorf("%w: the piece contains work that no search has "+
			"planned", ErrSpec), err)
	}
	spec.First = p.First
	s := newSearch(&spec)
	end := context.AfterFunc(ctx, func() { s.stop("interrupted") })
	strays := r.w.outOfTurn
	if p.Drawing != nil {
		s.budget = p.Budget
		s.draws.Round = p.Drawing.Clone()
		s.source = &s.draws
		s.runSource(ctx, []*world{r.w})
	} else {
		if !p.Remember {
			s.whyForgotten = "the search has given this up"
		}
		s.mostRuns = p.Most
		s.resumed = &savedPart{Budget: p.Budget, Queue: p.Items, Known: p.Known}
		s.runPart(ctx, p.Budget, []*world{r.w})
	}
	if !end() { // ctx was canceled, and s may just be learning of it
		return PieceResult{}, ctx.Err()
	}
	if s.failure != nil {
		return PieceResult{}, s.failure
	}
	res := PieceResult{Piece: p.ID(), Tally: s.seen.Tally(r.w.outOfTurn - strays)}
	if s.stopped != pieceOver && !s.stoppedAtFirst() {
		res.Stopped = s.stopped
	}
	if s.memory != nil {
		res.Memory = s.memory.Broken
	}
	if p.Drawing != nil {
		res.Undrawn = s.draws.Numbers()
	} else {
		res.Remaining, res.Fresh = s.branches.Save(), visited.Encode(s.states.Fresh())
	}
	return res, nil
}

// pieceOver is the reason for ending a piece that reached its number of schedules.
const pieceOver = "the piece is over"

// stoppedAtFirst reports whether the search ended at its first counterexample because its spec asks for that.
func (s *search) stoppedAtFirst() bool { return s.spec.First && len(s.seen.Counterexamples) > 0 }
