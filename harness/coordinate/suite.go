package coordinate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/doublegrant/doublegrant/harness/suite"
	"github.com/doublegrant/doublegrant/harness/tally"
	"github.com/doublegrant/doublegrant/harness/workqueue"
)

// SuiteOptions says how a suite is coordinated.
type SuiteOptions struct {
	Results string // folder for results folders; default "results"
	Version string // version of this program
	// Server is the version of Redis that all runs need. If it is empty, the first repetition on each platform sets the
	// version for that platform.
	Server string
	Work   *Work // is told the names of the units; may be nil

	// End is called for each repetition that has ended, in the order of the suite; may be nil.
	End func(EndedRun)

	// Ready is called when the results are complete, just before their folder dir gets its final name; may be nil.
	Ready func(dir string) error
}

// EndedRun is a repetition of a run that has ended.
type EndedRun struct {
	Done, Of int // number of repetitions that have ended, and number of all repetitions
	Run      tally.Run
	Why      string   // why there is no Run; empty: Run is set
	Failed   []string // the outcomes of the earlier attempts
}

// ErrHere marks a failure of the coordinator's own machine, such as a full disk. The workers' results are kept.
var ErrHere = errors.New("the coordinator cannot go on")

// Suite lets the workers of a queue run a suite, each repetition of each run as a unit. It returns what suite.Run
// returns.
//
// A repetition that was given up counts as not run. The suite is incomplete if results of two workers contradict each
// other, if ctx ends, or if the queue can no longer be used. In these cases repetitions without a result count as not
// run. Suite returns the results so far and, unless ctx has ended, the queue's error. If the error wraps ErrHere,
// workqueue.ErrFull or workqueue.ErrOver, there is no results folder.
func Suite(
	ctx context.Context, q workqueue.Queue, s suite.Suite, o SuiteOptions,
) (out tally.Suite, dir string, err error) {
	c := &coordinated{SuiteOptions: o, queue: q, all: s.Repetitions()}
	if c.Work == nil {
		c.Work = &Work{}
	}
	if err := c.plan(s); err != nil {
		return out, "", err
	}
	if c.results, err = s.Collect(o.Results, o.Version); err != nil {
		return out, "", coordinatorError(err)
	}
	defer func() { err = errors.Join(err, c.results.Close()) }()
	var queueErr error
	for i := 0; i < len(c.units) && queueErr == nil; i++ {
		queueErr = q.Put(ctx, c.units[i])
	}
	for i := range c.all {
		if queueErr == nil {
			queueErr = c.await(ctx, i)
		}
		if endsWithoutResults(queueErr) {
			return out, "", queueErr
		}
		if queueErr != nil {
			c.results.MarkIncomplete(whyEnded(ctx, queueErr))
			break
		}
	}
	if queueErr == nil {
		queueErr = c.noteDisputed(ctx)
	}
	ready := o.Ready
	if queueErr != nil { // the results are incomplete: the same command continues
		ready = nil
	}
	if out, dir, err = c.results.Finish(ready); err != nil && dir == "" {
		return out, "", coordinatorError(err)
	}
	if ctx.Err() == nil {
		err = errors.Join(err, queueErr)
	}
	return out, dir, err
}

// endsWithoutResults reports whether err ends a suite without a results folder. After workqueue.ErrOver the suite is
// over, since somebody else has ended it. After the other errors the same command continues the suite later.
func endsWithoutResults(err error) bool {
	return errors.Is(err, ErrHere) || errors.Is(err, workqueue.ErrFull) || errors.Is(err, workqueue.ErrOver)
}

// whyEnded returns why a suite ended early: because ctx ended, or else because of err, the queue's error.
func whyEnded(ctx context.Context, err error) string {
	switch cause := context.Cause(ctx); {
	case cause == nil:
		return oneLine(err)
	case errors.Is(cause, context.Canceled):
		return "interrupted"
	default:
		return oneLine(cause)
	}
}

func coordinatorError(err error) error { return fmt.Errorf("%w: %w", ErrHere, err) }

// coordinated is a suite under way.
type coordinated struct {
	SuiteOptions
	queue   workqueue.Queue
	all     []suite.Repetition
	units   []workqueue.Unit
	results *suite.Collection
}

// plan makes a unit of each repetition.
func (c *coordinated) plan(s suite.Suite) error {
	each, _ := s.Estimate()
	takes := map[string]int{}
	for i, r := range s.Runs {
		takes[r.Title] = i
	}
	for _, r := range c.all {
		text, err := r.Encode()
		if err != nil {
			return err
		}
		u, err := newUnit(KindRun, c.Version, c.Server, runUnit{string(text), r.Turn})
		if err != nil {
			return err
		}
		c.units = append(c.units, u)
		c.Work.add(u.ID(), r.Title, each[takes[r.Title]])
	}
	return nil
}

// await waits for the outcome of the unit with index i and adds it to the results. It returns an error of the queue, or
// one that wraps ErrHere.
func (c *coordinated) await(ctx context.Context, i int) error {
	o, err := c.queue.Await(ctx, c.units[i].ID())
	if err != nil {
		return err
	}
	e := EndedRun{Done: i + 1, Of: len(c.units), Failed: o.Failed}
	if o.GivenUp() {
		e.Why = fmt.Sprintf("given up after %d tries: %s", len(o.Failed), o.Why())
	} else if made, err := c.read(i, o); err != nil { // a bad result does not stop the others
		if errors.Is(err, ErrHere) {
			return err
		}
		e.Why = fmt.Sprintf("the result of %s is unusable: %s", o.Worker, oneLine(err))
		if err := os.RemoveAll(c.results.Folder(i)); err != nil {
			return coordinatorError(err)
		}
	} else {
		e.Run = c.results.Add(i, made, o.Worker)
	}
	if e.Why != "" {
		e.Run = c.results.Missing(i, e.Why)
	}
	if c.End != nil {
		c.End(e)
	}
	return nil
}

// read unpacks the results folder in o into the folder of repetition i, and returns the outcome of the run.
func (c *coordinated) read(i int, o workqueue.Outcome) (made suite.RemoteResult, err error) {
	folder := c.results.Folder(i)
	if err := unpack(o.Body, folder); err != nil {
		return made, err
	}
	path := filepath.Join(folder, outcomeFile)
	text, err := os.ReadFile(path)
	if err != nil {
		return made, err
	}
	if err := decode(text, &made); err != nil {
		return made, err
	}
	if err := os.Remove(path); err != nil {
		return made, coordinatorError(err)
	}
	return made, c.results.Check(i, made, o.Worker)
}

// noteDisputed marks the suite as incomplete if workers returned contradictory results for a run.
func (c *coordinated) noteDisputed(ctx context.Context) error {
	ids, err := c.queue.Disputed(ctx)
	if err != nil {
		return err
	}
	if err := disputeError("runs", ids); err != nil {
		c.results.MarkIncomplete(err.Error())
	}
	return nil
}

// oneLine returns the text of an error without line breaks.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
