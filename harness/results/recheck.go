package results

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/analysis"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/history"
	"github.com/doublegrant/doublegrant/harness/plan"
	"github.com/doublegrant/doublegrant/reports"
)

// Recheck judges the stored run in a results folder again. It writes nothing.
func Recheck(ctx context.Context, dir string) (Outcome, error) {
	if err := ofRun(dir); err != nil {
		return Outcome{}, err
	}
	p, err := plan.ReadFolder(dir)
	if err != nil {
		return Outcome{}, err
	}
	r, err := p.Resolve()
	if err != nil {
		return Outcome{}, fmt.Errorf("%s: %w", dir, err)
	}
	out := Outcome{Plan: p, Dir: dir, Expectation: r.Expectation()}
	h, err := history.Open(filepath.Join(dir, historyDir))
	if err != nil {
		return out, err
	}
	return out, out.addVerdict(h, harness.Judge(ctx, h, r.Checkers()))
}

// ReportRun judges the stored run in a results folder again and writes its reports. A killed run has no reports until
// ReportRun writes them.
func ReportRun(ctx context.Context, dir string) (Outcome, error) {
	out, err := Recheck(ctx, dir)
	if err != nil {
		return out, err
	}
	return out, out.write()
}

// OpenHistory opens the history in a results folder. The error wraps plan.ErrUsage if dir is not a results folder.
func OpenHistory(dir string) (harness.History, error) {
	if err := ofRun(dir); err != nil {
		return harness.History{}, err
	}
	if _, err := plan.ReadFolder(dir); err != nil {
		return harness.History{}, err
	}
	return history.Open(filepath.Join(dir, historyDir))
}

// Text is a history in the text form of package history, which another program recorded.
type Text struct {
	From  io.Reader
	Name  string // path of the file, for error messages
	Again string // command line that checks it again; empty: none, as for standard input
	Model Model
}

// CheckText judges a history that another program recorded. It writes the same reports as for a run, into a new folder
// within root. The error wraps plan.ErrUsage if the model is unknown, a line is impossible, or root cannot be written
// to. After such an error dir is empty. The caller cannot read the operations of rep.History, since CheckText removes
// their file.
func CheckText(ctx context.Context, t Text, root string) (rep reports.Report, dir string, err error) {
	if err := checkRoot(root); err != nil {
		return rep, "", err
	}
	temp, remove, err := cluster.TempFolder()
	if err != nil {
		return rep, "", fmt.Errorf("results: %w", err)
	}
	defer func() { err = errors.Join(err, remove()) }()
	if rep, err = judgeText(ctx, t, temp); err != nil {
		return rep, "", err
	}
	rep.Command = t.Again
	if dir, err = NewFolder(root, "check-"+string(t.Model)); err != nil {
		return rep, "", err
	}
	return rep, dir, writeReports(dir, &rep)
}

// judgeText stores the history in dir and judges it.
func judgeText(ctx context.Context, t Text, dir string) (rep reports.Report, err error) {
	if !slices.Contains(Models(), t.Model) {
		return rep, plan.Usagef("unknown model %q: choose one of %s", t.Model, ModelNames())
	}
	text := readUntil(ctx, t.From)
	defer func() { err = errors.Join(err, text.Close()) }() // ends a read that is still waiting
	seen := newWitness(t.Model)
	h, err := history.ParseEach(text, t.Name, filepath.Join(dir, historyDir), seen.op)
	if errors.Is(err, history.ErrText) {
		return rep, plan.Usagef("%w", err)
	}
	if err != nil {
		return rep, err
	}
	if err := seen.checkMeta(h.Meta); err != nil {
		return rep, plan.Usagef("%s: %w", t.Name, err)
	}
	h.Meta = seen.meta(h.Meta)
	rep, err = reports.New(h, harness.Judge(ctx, h, seen.checkers()))
	rep.Notes = append(doubtUnits(rep.Stats), seen.unjudgedNotes()...)
	return rep, err
}

// fastest is the shortest plausible time between operations: no Redis does ten million operations a second.
const fastest = 100 * time.Nanosecond

// doubtUnits returns a note if operations follow each other so fast that their times can hardly be in nanoseconds. If a
// recorder wrote milliseconds by mistake, each lease, which is in nanoseconds, outlasts the whole history.
func doubtUnits(s analysis.Stats) []string {
	n, span := s.Totals.All(), s.Last-s.First
	if n < 100 || span > time.Duration(n)*fastest {
		return nil
	}
	return []string{fmt.Sprintf("%d operations within %v are more than any Redis can do: check that all times are "+
		"in nanoseconds",
		n, span)}
}

// readUntil returns a reader of r that fails with the cause of ctx when ctx ends. Otherwise a read from a terminal or a
// pipe could wait for ever.
func readUntil(ctx context.Context, r io.Reader) io.ReadCloser {
	out, in := io.Pipe()
	context.AfterFunc(ctx, func() { _ = in.CloseWithError(context.Cause(ctx)) })
	go func() {
		// The struct hides r's other methods, which would make CopyBuffer copy less at once.
		_, err := io.CopyBuffer(in, struct{ io.Reader }{r}, make([]byte, copied))
		_ = in.CloseWithError(err)
	}()
	return out
}

// copied is the number of bytes of a history that are read at once.
const copied = 256 << 10
