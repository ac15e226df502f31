package jetstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/doublegrant/doublegrant/harness/workqueue"
)

// try calls the given function until it succeeds or the patience is over, since NATS may be away or choosing a leader.
// Each attempt has the timeout in the parameter each. The first attempts are shorter: a server that died never answers,
// and another one may answer at once. A failed attempt may have had its effect, so the function must be one that can be
// repeated.
func (q *Queue) try(ctx context.Context, what string, each time.Duration, do func(context.Context) error) error {
	return q.retry(ctx, what, each, func(ctx context.Context, allowed time.Duration) error {
		one, cancel := context.WithTimeout(ctx, allowed)
		defer cancel()
		return do(one)
	})
}

// retry does what the method try does, but does not interrupt attempts. The function attempt gets the time that it may
// take, and has to return within that time.
func (q *Queue) retry(ctx context.Context, what string, each time.Duration,
	attempt func(_ context.Context, allowed time.Duration) error) error {
	end, warned := time.Now().Add(q.access.patience()), false
	for allowed := firstTime; ; allowed = min(2*allowed, each) {
		err := attempt(ctx, min(allowed, max(pause, q.access.patience())))
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case q.access.health() != nil:
			return q.access.health()
		case isFull(err):
			return fmt.Errorf("%w: %s: %w: give it more room, and units whose results were not kept are done "+
				"again", workqueue.ErrFull,
				what, q.access.redacted(err))
		case q.mayBeRemoved(err) && q.isRemoved(ctx):
			return workqueue.ErrOver
		case q.nc.IsClosed() && q.nc.LastError() != nil && isAccess(q.nc.LastError()):
			return fmt.Errorf("%w: %s refuses the token or credentials now", ErrAccess, q.access)
		case !isTransient(err):
			return err
		case time.Now().After(end) && isMissing(err) && q.head.Format == 0:
			return fmt.Errorf("%w: %s: waited for %v: %w", ErrNoCoordination, q.access, q.access.patience(), err)
		case time.Now().After(end):
			return fmt.Errorf("%w: %s: %s: %w: given up after %v", workqueue.ErrUnreachable, q.access, what,
				q.access.redacted(err), q.access.patience())
		}
		if !warned && isMissing(err) && q.head.Format == 0 && q.access.Waiting != nil {
			q.access.Waiting(fmt.Sprintf("%s: %v: waiting for at most %v", q.access, err, q.access.patience()))
			warned = true
		}
		if rest(ctx); ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// mayBeRemoved reports whether an error may mean that the coordination was removed.
func (q *Queue) mayBeRemoved(err error) bool {
	return q.opened && (isMissing(err) || isAny(err, jetstream.ErrBucketNotFound, jetstream.ErrStreamNotFound,
		jetstream.ErrConsumerNotFound, jetstream.ErrNoStreamResponse, nats.ErrNoResponders))
}

// isRemoved reports whether the coordination was removed: NATS says that its keys, which are removed last, do not
// exist.
func (q *Queue) isRemoved(ctx context.Context) bool {
	one, cancel := context.WithTimeout(ctx, attemptTime)
	defer cancel()
	_, err := q.js.Stream(one, q.keyStream())
	return errors.Is(err, jetstream.ErrStreamNotFound)
}

// isMissing reports whether NATS says that something is not there yet.
func isMissing(err error) bool {
	_, later := errors.AsType[notYet](err)
	return later
}

// isTransient reports whether a retry may succeed.
func isTransient(err error) bool {
	if isMissing(err) || isAny(err, context.DeadlineExceeded, nats.ErrTimeout, nats.ErrNoResponders,
		nats.ErrConnectionClosed, nats.ErrDisconnected, nats.ErrConnectionReconnecting, nats.ErrReconnectBufExceeded,
		nats.ErrNoServers, nats.ErrStaleConnection, jetstream.ErrNoStreamResponse, jetstream.ErrNoHeartbeat,
		jetstream.ErrJetStreamNotEnabled, jetstream.ErrServerShutdown, syscall.ECONNRESET, syscall.EPIPE) {
		return true
	}
	api, ok := errors.AsType[*jetstream.APIError](err)
	return ok && (api.Code == 503 || api.Code == 408) && !isFull(err)
}

func isFull(err error) bool {
	full := []jetstream.ErrorCode{10002, 10023, 10028, 10047, 10122} // of the account, the server, its memory, its disk
	if api, ok := errors.AsType[*jetstream.APIError](err); ok && slices.Contains(full, api.ErrorCode) {
		return true
	}
	text := strings.ToLower(err.Error())
	return strings.Contains(text, "maximum bytes exceeded") || strings.Contains(text, "no space left")
}

func isAny(err error, others ...error) bool {
	return slices.ContainsFunc(others, func(o error) bool { return errors.Is(err, o) })
}

// rest waits for the time between two attempts, or until ctx ends.
func rest(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(pause):
	}
}
