package suite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/checkers"
	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/history"
	"github.com/doublegrant/doublegrant/reports"
)

// Recheck judges the stored run in a results folder again, and writes nothing.
func Recheck(ctx context.Context, dir string) (Outcome, error) {
	p, err := readPlan(dir)
	if err != nil {
		return Outcome{}, err
	}
	r, err := p.resolve()
	if err != nil {
		return Outcome{}, fmt.Errorf("%s: %w", dir, err)
	}
	out := Outcome{Plan: p, Dir: dir, Expectation: r.expect()}
	h, err := history.Open(filepath.Join(dir, historyDir))
	if err != nil {
		return out, err
	}
	return out, out.judge(h, harness.Judge(ctx, h, r.checkers()))
}

// Stored opens the history in a results folder. The error wraps ErrUsage if dir is none.
func Stored(dir string) (harness.History, error) {
	if _, err := readPlan(dir); err != nil {
		return harness.History{}, err
	}
	return history.Open(filepath.Join(dir, historyDir))
}

// Model is what a history of somebody else's can be judged as.
type Model string

// The models. Each comes with the gates of a run. Deadlock freedom, what a message filter leaves behind and what is stored for
// a sequence are not judged: these rest on what the harness does at the end of its own runs, when it knows that no client is
// left which could still act.
const (
	LockModel     Model = "lock"     // mutual exclusion, and the order of fencing tokens if there are any
	DedupModel    Model = "dedup"    // one first in each window
	SequenceModel Model = "sequence" // unique numbers that grow
	WritesModel   Model = "writes"   // what was acknowledged is in the last read, by client -1
)

// Models lists all of them.
func Models() []Model { return []Model{LockModel, DedupModel, SequenceModel, WritesModel} }

// judges are the model's checkers, and the kinds without which there is nothing to judge.
func (m Model) judges(fenced bool) (list []harness.Checker, kinds []harness.Kind) {
	switch m {
	case LockModel:
		list, kinds = []harness.Checker{checkers.Mutex()}, []harness.Kind{harness.Acquire}
		if fenced {
			list = append(list, checkers.Fence())
		}
	case DedupModel:
		list, kinds = []harness.Checker{checkers.Dedup()}, []harness.Kind{harness.Claim}
	case SequenceModel:
		list, kinds = []harness.Checker{checkers.Sequence()}, []harness.Kind{harness.Next}
	case WritesModel:
		list, kinds = []harness.Checker{checkers.Writes()}, []harness.Kind{harness.Add, harness.Read}
	}
	return append(list, checkers.Gates()), kinds
}

// CheckText judges a history in the text form of package history, which r reads and errors call name. The error wraps
// ErrUsage if there is no such model or a line cannot be. The report's history cannot be ranged over any more.
func CheckText(ctx context.Context, r io.Reader, name string, m Model) (rep reports.Report, err error) {
	if !slices.Contains(Models(), m) {
		return rep, usage("unknown model %q: choose one of %v", m, Models())
	}
	dir, remove, err := cluster.TempFolder()
	if err != nil {
		return rep, fmt.Errorf("suite: %w", err)
	}
	defer func() { err = errors.Join(err, remove()) }()
	h, err := history.Parse(until(ctx, r), name, filepath.Join(dir, historyDir))
	if errors.Is(err, history.ErrText) {
		return rep, usage("%w", err)
	}
	if err != nil {
		return rep, err
	}
	fenced, err := hasTokens(h)
	if err != nil {
		return rep, err
	}
	list, kinds := m.judges(fenced)
	for _, k := range kinds {
		if !slices.Contains(h.Meta.Kinds, k) {
			h.Meta.Kinds = append(h.Meta.Kinds, k)
		}
	}
	rep, err = reports.New(h, harness.Judge(ctx, h, list))
	rep.Notes = doubtUnits(rep.Stats)
	return rep, err
}

// fastest is how quickly operations can follow each other at most: no Redis does ten million a second.
const fastest = 100 * time.Nanosecond

// doubtUnits notes that times are hardly in nanoseconds, as by mistake they are not where clocks tell milliseconds: leases in
// nanoseconds then outlast the whole history.
func doubtUnits(s reports.Stats) []string {
	n, span := s.Totals.All(), s.Last-s.First
	if n < 100 || span > time.Duration(n)*fastest {
		return nil
	}
	return []string{fmt.Sprintf("%d operations within %v are more than any Redis does: are all times in nanoseconds?", n, span)}
}

// until is r up to the end of ctx, whose cause then is the error: a read from a terminal or a pipe may wait for ever.
func until(ctx context.Context, r io.Reader) io.Reader {
	out, in := io.Pipe()
	context.AfterFunc(ctx, func() { _ = in.CloseWithError(context.Cause(ctx)) })
	go func() {
		_, err := io.Copy(in, r)
		_ = in.CloseWithError(err)
	}()
	return out
}

// hasTokens reports whether a grant came with a fencing token.
func hasTokens(h harness.History) (bool, error) {
	for op, err := range h.Ops {
		if err != nil {
			return false, err
		}
		if op.Kind == harness.Acquire && op.Outcome == harness.OK && op.Result != "" {
			return true, nil
		}
	}
	return false, nil
}
