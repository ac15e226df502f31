package workloads

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
)

// waitArguments holds the arguments of the WAIT after a write.
type waitArguments struct {
	acks   int           // number of replicas that have to acknowledge the write; 0: no WAIT is sent
	within time.Duration // timeout, in whole milliseconds
}

// The defaults of every variant with a WAIT: one replica, within a few round trips.
const (
	waitAcks    = 1
	waitTimeout = 20 * time.Millisecond
)

// waitFor returns a WAIT for acks replicas with the default timeout.
func waitFor(acks int) waitArguments { return waitArguments{acks, waitTimeout} }

// errFewAcks is the error of a write that too few replicas acknowledged in time.
var errFewAcks = errors.New(harness.FewAcks)

// write sends one write and a WAIT for replicas, both in one pipeline, since WAIT concerns the writes of its own
// connection. It returns the error of the WAIT, or errFewAcks. The write's command has its own error.
func (w waitArguments) write(ctx context.Context, r redis.UniversalClient, write func(redis.Cmdable)) error {
	if w.acks == 0 {
		write(r)
		return nil
	}
	pipe := r.Pipeline()
	write(pipe)
	wait := pipe.Do(ctx, "WAIT", w.acks, w.within.Milliseconds())
	_, _ = pipe.Exec(ctx) // each command has its own error
	acks, err := wait.Int()
	if err == nil && acks < w.acks {
		return errFewAcks
	}
	return err
}
