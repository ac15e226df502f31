package harness

import (
	"math"
	"time"
)

// EarliestEnd returns the earliest time on the run's clock at which a lease or window of ttl, asked for at call, can be over. The
// server counts it from when it executes the request, so not from before call. Its clock is wrong by at most the fraction drift. One that is
// wrong at all may count in whole milliseconds, rounded down, as Redis does: a ttl of a millisecond or more is then shorter by one at least.
// A ttl of 0 never ends.
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

// HeldUntil returns the earliest time at which what o was granted, an acquire or extend, can be over if nobody gives it up: when its
// lease ends on a clock that is wrong by at most the fraction drift, or when o.Until has come, whichever is first. Forever: never.
func (o Op) HeldUntil(drift float64) time.Duration {
	end := EarliestEnd(o.Call, o.TTL, drift)
	if o.Until > 0 {
		end = min(end, o.Until)
	}
	return end
}
