package workloads

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
)

// waiting is what a write asks of replicas with WAIT.
type waiting struct {
	acks   int           // replicas that have to say that they have it; 0: no WAIT is sent
	within time.Duration // whole milliseconds
}

// What every variant with a WAIT asks for unless told otherwise: the word of one replica, within a few round trips.
const (
	waitAcks    = 1
	waitTimeout = 20 * time.Millisecond
)

// waitFor is a usual WAIT for so many replicas.
func waitFor(acks int) waiting { return waiting{acks, waitTimeout} }

// errFewAcks says that a write was made, and that too few replicas said in time that they have it.
var errFewAcks = errors.New(harness.FewAcks)

// write sends one write, and WAIT for replicas to have it. Both are in one pipeline, since WAIT speaks of the writes of
// its own connection. It returns the error of the WAIT, or errFewAcks; the write has its own.
func (w waiting) write(ctx context.Context, r redis.UniversalClient, write func(redis.Cmdable)) error {
	if w.acks == 0 {
		write(r)
		return nil
	}
	pipe := r.Pipeline()
	write(pipe)
	wait := pipe.Do(ctx, "WAIT", w.acks, w.within.Milliseconds())
	_, _ = pipe.Exec(ctx) // the error of each command is its own
	acks, err := wait.Int()
	if err == nil && acks < w.acks {
		return errFewAcks
	}
	return err
}
