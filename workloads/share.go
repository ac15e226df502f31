package workloads

import (
	"strconv"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// Share is the part of a load that one of several generators has. The zero value is the whole load.
type Share struct {
	Number, Of int     // of the generators, from 0; Of is 0 for the whole
	Rate       float64 // steps a second of all generators together; 0: as fast as they can
	Clients    int     // of all generators together; 0: many

	// Ahead returns by about how much the run's clock is ahead of this generator's. It decides which messages the clients of different
	// generators get at one time, and nothing of what is recorded.
	Ahead func() time.Duration
}

// isPart reports whether there are others.
func (s Share) isPart() bool { return s.Of > 1 }

// nth returns the n-th of the numbers that no other generator has.
func (s Share) nth(n int64) int64 {
	if !s.isPart() {
		return n
	}
	return n*int64(s.Of) + int64(s.Number)
}

// has reports whether the n-th of some things is this generator's.
func (s Share) has(n int) bool { return !s.isPart() || n%s.Of == s.Number }

// part returns how many of n places are this generator's.
func (s Share) part(n int) int {
	if !s.isPart() {
		return n
	}
	return n*(s.Number+1)/s.Of - n*s.Number/s.Of
}

// usualRate is taken for the rate of a load without a limit, and clientRate for the most that one client does in a second, so that a message
// comes to several clients even where a rate cannot be reached.
const (
	usualRate  = 20000
	clientRate = 300
)

// message returns the number of the message that comes at a time on this generator's clock, to fanOut workers of all generators together.
// Every generator comes to the same, as far as it knows the run's clock.
func (s Share) message(now time.Duration, fanOut int) int64 {
	rate := s.Rate
	if rate <= 0 {
		rate = usualRate
	}
	if s.Clients > 0 {
		rate = min(rate, clientRate*float64(s.Clients))
	}
	return int64((now + s.Ahead()).Seconds() * rate / float64(fanOut))
}

// Observe takes notice of what the clients of generators did, so that Finish knows what to ask for. Operations come in order of Return.
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
