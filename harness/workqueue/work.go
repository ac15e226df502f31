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

// Worker takes units from a queue and does them one at a time.
//
// A worker that has failed a unit leaves that unit to other workers, if there are any. It takes no new unit until
// another worker has tried the failed one. If that worker fails too, the unit is to blame. A worker is barred if it
// fails two units in a row that others do afterwards.
type Worker struct {
	// Do does a unit. Its ctx is canceled when the unit is no longer needed. An error that wraps ErrRefused ends the
	// worker, and the unit goes to another. After any other error the try counts as failed.
	Do func(ctx context.Context, u Unit) (Result, error)

	// AliveEvery is how often to renew the lease; default 1s. A lease has to be several times as long.
	AliveEvery time.Duration

	End func(Unit, time.Duration, error) // called after each unit; may be nil
}

// Work does units until none are needed, and then returns nil. If ctx is canceled, it gives its unit back and returns
// the error of ctx. The name has to be unique in the queue. The error wraps ErrBarred if the worker fails where others
// succeed.
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
		leaves, after, err := p.shouldLeave(ctx, job)
		switch {
		case err != nil:
			err = errors.Join(err, giveBack(ctx, job))
		case leaves:
			err = cmp.Or(job.GiveBack(ctx, after), wait(ctx, leavePause))
		default:
			err = w.doUnit(ctx, job, &p)
		}
		if err != nil && !errors.Is(err, ErrOver) {
			return err
		}
	}
}

// wait waits for d, or returns the error of ctx if that ends first.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// doUnit does one unit. An error ends the worker.
func (w Worker) doUnit(ctx context.Context, job Job, p *probation) error {
	began := time.Now()
	res, err := w.do(ctx, job)
	why, err := w.handIn(ctx, job, res, err, p)
	if w.End != nil {
		w.End(job.Unit(), time.Since(began), cmp.Or(err, why))
	}
	return err
}

// handIn hands in the result, or reports to the queue why there is none. The first value it returns is the reason for
// having no result, or nil if there is one. The second is an error if the worker has to end.
func (w Worker) handIn(ctx context.Context, job Job, res Result, why error, p *probation) (_, err error) {
	if why == nil {
		if why = job.Done(ctx, res); why == nil {
			p.failures = 0
		}
	}
	switch {
	case why == nil || errors.Is(why, ErrOver): // Take returns the same
		return why, nil
	case ctx.Err() != nil:
		return why, errors.Join(ctx.Err(), giveBack(ctx, job))
	case errors.Is(why, ErrUnreachable):
		return why, why
	case errors.Is(why, ErrRefused):
		ctx, cancel := context.WithTimeout(ctx, giveBackTime)
		defer cancel()
		return why, errors.Join(why, p.queue.Withdraw(ctx, oneLine(why)), job.GiveBack(ctx, 0))
	// these errors do not show that the worker is at fault
	case !errors.Is(why, errStoodStill) && !errors.Is(why, ErrFull):
		p.noteFailure(job.Unit().ID(), oneLine(why))
	}
	return why, job.Fail(ctx, oneLine(why))
}

// giveBackTime is how long a worker that ends tries to give its unit back. If that fails, others get the unit when its
// lease ends.
const giveBackTime = 5 * time.Second

// giveBack gives a unit back, even if ctx is canceled.
func giveBack(ctx context.Context, job Job) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveBackTime)
	defer cancel()
	return job.GiveBack(ctx, 0)
}

// stoodStill is the shortest time of a standstill that makes a unit fail. Measurements and time-outs of a process that
// was suspended for this long tell nothing about Redis.
const stoodStill = 2 * time.Second

// errStoodStill marks a failure during a standstill of the process.
var errStoodStill = errors.New("this machine stood still")

// do does a unit, and renews its lease meanwhile. If the process stood still, the standstill may be the reason for an
// error, or for a result without a claim. The try then counts as failed.
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
		err = fmt.Errorf("its result has %d bytes, more than the limit of %d", len(res.Body), MostBytes)
	}
	return res, err
}

// afterStandstill returns the error of a try during which the process may have stood still, for the time in the
// parameter still. It returns err, or an error that wraps errStoodStill if the standstill is long enough to be the
// reason.
func afterStandstill(still time.Duration, res Result, err error) error {
	if still < stoodStill || err == nil && res.Claim != "" || errors.Is(err, ErrRefused) {
		return err
	}
	return fmt.Errorf("%w for %v during the unit: %w", errStoodStill, still.Round(time.Second/10),
		cmp.Or(err, errors.New("its result is empty")))
}

// sayAlive renews the lease until ctx is canceled. It cancels the work when the unit is no longer needed.
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
			if errors.Is(job.Renew(ctx), ErrOver) {
				cancel(ErrOver)
				return
			}
		}
	}
}

// mostWords is the length limit, in characters, of the text about a try, since one line may contain several such texts.
const mostWords = 300

// oneLine returns the text of an error, shortened, without line breaks.
func oneLine(err error) string {
	return fmt.Sprintf("%.*s", mostWords, strings.ReplaceAll(err.Error(), "\n", "; "))
}
