package workloads

import (
	"strconv"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// Share is the part of a load that one of several generators has. The zero value is the whole load.
type Share struct {
	Number, Of int     // the generator's number, from 0, and the number of generators; Of is 0 for the whole load
	Rate       float64 // steps per second of all generators together; 0: as many as they can do
	Clients    int     // number of clients of all generators together; 0: enough for Rate

	// Ahead returns roughly how far the run's clock is ahead of this generator's. Generators use it to give out the
	// same message at the same time. It does not affect what is recorded.
	Ahead func() time.Duration
}

// isPart reports whether there are other generators.
func (s Share) isPart() bool { return s.Of > 1 }

// nth returns this generator's n-th unique number. No two generators have a number in common.
func (s Share) nth(n int64) int64 {
	if !s.isPart() {
		return n
	}
	return n*int64(s.Of) + int64(s.Number)
}

// has reports whether the n-th of several things belongs to this generator.
func (s Share) has(n int) bool { return !s.isPart() || n%s.Of == s.Number }

// part returns how many of n places belong to this generator.
func (s Share) part(n int) int {
	if !s.isPart() {
		return n
	}
	return n*(s.Number+1)/s.Of - n*s.Number/s.Of
}

// assumedRate is how many steps a second are assumed for a load without a limit. maxClientRate is the largest number of
// steps a second that a client is expected to do. If messages came faster than clients take them, few messages would go
// to several clients.
const (
	assumedRate   = 20000
	maxClientRate = 300
)

// message returns the number of the message to give out at the given time of this generator's clock. All generators
// give out the same message at about the same time, so that about fanOut workers get it, counted over all generators.
// For that they correct their clocks by s.Ahead.
func (s Share) message(now time.Duration, fanOut int) int64 {
	rate := s.Rate
	if rate <= 0 {
		rate = assumedRate
	}
	if s.Clients > 0 {
		rate = min(rate, maxClientRate*float64(s.Clients))
	}
	return int64((now + s.Ahead()).Seconds() * rate / float64(fanOut))
}

// Observe takes the operations of all generators' clients, in order of Return. It learns from them which messages
// Finish has to claim.
func (d *dedups) Observe(op harness.Op) {
	_, text, ok := strings.Cut(op.Key, messagePrefix)
	number, err := strconv.ParseInt(text, 10, 64)
	if !ok || err != nil {
		return
	}
	switch {
	case op.Kind == harness.Claim && (op.Outcome == harness.Info || op.Result == harness.ResultFirst):
		d.claimed.add(number)
	case op.Kind == harness.Deliver:
		d.claimed.remove(number)
	}
	if fanOut := int64(d.opts.FanOut); op.Kind == harness.Claim && number*fanOut >= d.delivered.Load() {
		d.received.add(number, op.Call)
		d.delivered.Store((number + 1) * fanOut)
	}
}
