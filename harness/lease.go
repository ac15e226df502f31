package harness

import (
	"math"
	"time"
)

// EarliestEnd returns the earliest time on the run's clock at which a lease or window can have ended. The parameter
// call is the time when it was requested, and ttl is its length. A ttl of 0 never ends.
//
// The server counts the ttl from when it executes the request, which is not before it was requested. The server's clock
// runs too fast or too slow by at most the fraction drift. If drift is not 0, the server may also count in whole
// milliseconds, rounded down, as Redis does. In that case a ttl of a millisecond or more is shortened by at least one
// millisecond.
func EarliestEnd(call, ttl time.Duration, drift float64) time.Duration {
	if ttl == 0 || ttl > Forever-call {
		return Forever
	}
	short := time.Duration(math.Ceil(float64(ttl) * drift))
	if drift > 0 && ttl >= time.Millisecond {
		short = max(short, time.Millisecond)
	}
	return call + ttl - short
}

// HeldUntil returns the earliest time at which the lease of o, an acquire or extend, can have ended without a release.
// That is the earliest end of o's TTL (see EarliestEnd), or o.Until if o.Until is earlier. For a lease without an end
// it is Forever.
func (o Op) HeldUntil(drift float64) time.Duration {
	end := EarliestEnd(o.Call, o.TTL, drift)
	if o.Until > 0 {
		end = min(end, o.Until)
	}
	return end
}
