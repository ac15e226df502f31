package workqueue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness/internal/awake"
)

// Worker takes units from a queue and does them, one at a time.
//
// A worker that has failed a unit leaves it to the other workers that are there, and takes no new unit until one of
// them has done it, or has failed it, too: then the unit is to blame. When others have done mostFailures units in a row
// that the worker had failed, it is barred.
type Worker struct {
	// Do does a unit. Its ctx is canceled when the unit is not wanted any more. An error that wraps ErrRefused ends the
	// worker, and the unit goes to another. After any other the try counts as failed.
	Do func(ctx context.Context, u Unit) (Result, error)

	// how often the worker says that it is at work; default 1s. A lease has to be several times as long
	AliveEvery time.Duration

	End func(Unit, time.Duration, error) // called after a unit was done; may be nil
}

// Work does units until no more are wanted, and returns nil then, or until ctx is canceled: it gives its unit back and
// returns the error of ctx. name is the worker's own in the queue. The error wraps ErrBarred if the worker fails where
// others do not.
func (w Worker) Work(ctx context.Context, q Queue, name string) error {
	p := probation{queue: q, name: name, failed: map[string]string{}}
	for {
		err := p.judge(ctx)
		var job Job
		if err == nil {
			job, err = q.Take(ctx)
		}
		if errors.Is(err, ErrOver) {
			return nil
		}
		if err != nil {
			return err
		}
		leaves, after, err := p.leaves(ctx, job)
		switch {
		case err != nil:
			err = errors.Join(err, giveBack(ctx, job))
		case leaves:
			err = cmp.Or(job.GiveBack(ctx, after), wait(ctx, leaveFor))
		default:
			err = w.one(ctx, job, &p)
		}
		if err != nil && !errors.Is(err, ErrOver) {
			return err
		}
	}
}

// wait waits, and returns the error of ctx if that ends first.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// one does one unit. The error ends the worker.
func (w Worker) one(ctx context.Context, job Job, p *probation) error {
	began := time.Now()
	res, err := w.do(ctx, job)
	why, err := w.handIn(ctx, job, res, err, p)
	if w.End != nil {
		w.End(job.Unit(), time.Since(began), cmp.Or(err, why))
	}
	return err
}

// handIn hands the result of a unit in, or says what became of it instead. why says why there is no result; err ends
// the worker.
func (w Worker) handIn(ctx context.Context, job Job, res Result, why error, p *probation) (_, err error) {
	if why == nil {
		if why = job.Done(ctx, res); why == nil {
			p.failures = 0
		}
	}
	switch {
	case why == nil || errors.Is(why, ErrOver): // Take tells the same
		return why, nil
	case ctx.Err() != nil:
		return why, errors.Join(ctx.Err(), giveBack(ctx, job))
	case errors.Is(why, ErrUnreachable):
		return why, why
	case errors.Is(why, ErrRefused):
		ctx, cancel := context.WithTimeout(ctx, giveBackTime)
		defer cancel()
		return why, errors.Join(why, p.queue.Bar(ctx, oneLine(why)), job.GiveBack(ctx, 0))
	case !errors.Is(why, errStill) && !errors.Is(why, ErrFull): // they say nothing of this worker beside others
		p.fails(job.Unit().ID(), oneLine(why))
	}
	return why, job.Fail(ctx, oneLine(why))
}

// giveBackTime bounds how long a worker that ends tries to give its unit back. Without that the lease ends.
const giveBackTime = 5 * time.Second

// giveBack gives a unit back, also when the worker is interrupted.
func giveBack(ctx context.Context, job Job) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveBackTime)
	defer cancel()
	return job.GiveBack(ctx, 0)
}

// stoodStill is the time for which a process stands still from which on what it has measured and timed meanwhile tells
// nothing of others.
const stoodStill = 2 * time.Second

// errStill marks what went wrong while the process stood still.
var errStill = errors.New("this machine stood still")

// do does a unit while the queue is told, again and again, that it is at work. If the process stood still meanwhile, an
// error or a result that tells nothing may be due to that: the try came to nothing then.
func (w Worker) do(ctx context.Context, job Job) (res Result, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	clock := awake.New()
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.sayAlive(ctx, cancel, job)
	}()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
		over := errors.Is(context.Cause(ctx), ErrOver)
		cancel(nil)
		<-done
		still := clock.Longest()
		clock.Close()
		if err = afterStandstill(still, res, err); over {
			err = ErrOver
		}
	}()
	if res, err = w.Do(ctx, job.Unit()); err == nil && len(res.Body) > MostBytes {
		err = fmt.Errorf("its result has %d bytes, and %d are the most", len(res.Body), MostBytes)
	}
	return res, err
}

// afterStandstill returns the error of a unit during which the process stood still for so long.
func afterStandstill(still time.Duration, res Result, err error) error {
	if still < stoodStill || err == nil && res.Claim != "" || errors.Is(err, ErrRefused) {
		return err
	}
	return fmt.Errorf("%w for %v meanwhile: %w", errStill, still.Round(time.Second/10),
		cmp.Or(err, errors.New("its result tells nothing")))
}

// sayAlive renews the lease until ctx is canceled. It cancels the work when the unit is not wanted any more.
func (w Worker) sayAlive(ctx context.Context, cancel context.CancelCauseFunc, job Job) {
	every := w.AliveEvery
	if every <= 0 {
		every = time.Second
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if errors.Is(job.Alive(ctx), ErrOver) {
				cancel(ErrOver)
				return
			}
		}
	}
}

// mostWords bounds the characters of what became of a try: all of them may stand in one line.
const mostWords = 300

// oneLine returns the text of an error, shortened, without line breaks.
func oneLine(err error) string {
	return fmt.Sprintf("%.*s", mostWords, strings.ReplaceAll(err.Error(), "\n", "; "))
}
