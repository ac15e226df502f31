package checkers

import (
	"math"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// forever is the end of what has no end of its own.
const forever = time.Duration(math.MaxInt64)

// moment writes a time on the run's clock for a note, to the microsecond.
func moment(t time.Duration) string {
	switch {
	case t == forever:
		return "the end"
	case t > time.Millisecond:
		t = t.Round(time.Microsecond)
	}
	return t.String()
}

// leaseEnd is the earliest time at which a lease or window of ttl, asked for at call, can be over on a clock that is
// wrong by at most the fraction drift of it. The server starts it when it executes the request, never before call, so no
// delay of a message can bring the end forward. A ttl of 0 never ends. Source: soundness rule 1.
func leaseEnd(call, ttl time.Duration, drift float64) time.Duration {
	if ttl == 0 || ttl > forever-call {
		return forever
	}
	return call + ttl - time.Duration(math.Ceil(float64(ttl)*drift))
}

// certainUntil is when the hold that an ok acquire began stops being certain if nobody releases it: at the end of its
// lease, or at the end that the variant itself promised (Until), whichever comes first.
func certainUntil(acquire harness.Op, drift float64) time.Duration {
	end := leaseEnd(acquire.Call, acquire.TTL, drift)
	if acquire.Until > 0 {
		end = min(end, acquire.Until)
	}
	return end
}

// owner is who holds a lock: a worker under one token. The client id alone would not do, since a worker changes it after
// an operation that ended in Info; nor would the token, since some locks use one token for all.
type owner struct {
	worker int
	token  string
}

func ownerOf(op harness.Op, meta harness.Meta) owner {
	return owner{worker: meta.Worker(op.Client), token: op.Arg}
}
