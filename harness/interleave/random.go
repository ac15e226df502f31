package interleave

import (
	"fmt"
	"math"
)

// Random sums up a random search and says what it promises. For PCT the promise is a bound times the probability of
// drawing the right faults. The bound is by Burckhardt, Kothari, Musuvathi and Nagarakatte, "A Randomized Scheduler
// with Probabilistic Guarantees of Finding Bugs", ASPLOS 2010. Other strategies promise nothing here.
//
// The depth of a bug is the number of pairs of steps that have to be in the right order for the bug to show.
type Random struct {
	Seed      uint64 `json:"seed"`               // equal seeds draw equal schedules
	Strategy  string `json:"strategy,omitempty"` // see explore.Strategies; empty: PCT
	Depth     int    `json:"depth"`              // greatest depth of a bug that the promise is about; 0: no promise
	Schedules int    `json:"schedules"`          // schedules that were drawn
	Counted   int    `json:"judged"`             // schedules that the promise counts: those drawn when Steps was known
	Clients   int    `json:"clients"`            // n of the promise: the clients, or their threads if there are more
	Steps     int    `json:"steps"`              // k of the promise: steps of the longest schedule
	Faults    int    `json:"faults"`             // faults in the budget of one schedule
	// the largest number of instants that were possible for one kind of fault at one point of a schedule
	Instants int `json:"instants"`

	// Probability is a lower bound of the probability that one schedule finds a bug of Depth that needs no fault.
	Probability float64 `json:"probability"`
	// WithFault is the same as Probability, but for a bug that needs one fault at one place. 0: the budget has no
	// faults.
	WithFault float64 `json:"withFault,omitempty"`
	// Needed is how many schedules it takes to find, with a probability of 99 %, a bug of Depth that needs no fault.
	Needed float64 `json:"needed"`
}

// DrawnAtRandom is the [Result.Stopped] of a random search that drew all its schedules.
const DrawnAtRandom = "its schedules were drawn at random"

// Promise returns r with the promise computed from its other fields.
func (r Random) Promise() Random {
	if r.Clients == 0 || r.Steps == 0 || r.Depth == 0 {
		return r
	}
	// PCT's bound, times the probability that no fault is drawn. The number of faults is drawn uniformly from 0 to
	// Faults.
	pct := 1 / (float64(r.Clients) * math.Pow(float64(r.Steps), float64(r.Depth-1)))
	r.Probability = pct / float64(r.Faults+1)
	// times the probabilities of one fault, this fault, its place, and the instant to which time passes
	if r.Faults > 0 {
		r.WithFault = pct / float64(r.Faults+1) / float64(r.Faults) / float64(r.Steps) / float64(max(1, r.Instants))
	}
	r.Needed = triesNeeded(r.Probability)
	return r
}

// triesNeeded returns how many tries it takes until an event has happened at least once with a probability of 99 %. The
// argument is the event's probability in one try.
func triesNeeded(probability float64) float64 {
	return math.Ceil(math.Log(0.01) / math.Log1p(-probability))
}

// Odds returns a lower bound of the probability, 0 to 1, that the schedules so far would have found a bug of Depth that
// needs no fault.
func (r Random) Odds() float64 {
	return -math.Expm1(float64(r.Counted) * math.Log1p(-r.Probability))
}

// Guarantee writes the promise in a sentence or two: "One schedule finds a bug of depth 3 that needs no fault with a
// probability of 1 in 4,800 at least ...".
func (r Random) Guarantee() string {
	if r.Depth == 0 {
		return "They were drawn by " + r.Strategy + ", which guarantees nothing about a depth."
	}
	if r.Probability == 0 {
		return "Too few schedules were run to guarantee anything."
	}
	need := "that needs no fault "
	if r.Faults == 0 {
		need = ""
	}
	s := fmt.Sprintf("One schedule finds a bug of depth %d or less %swith a probability of at least 1 in %s (%d "+
		"clients, %d steps); %s find it with 99 %%, and these have found it with %s at least.",
		r.Depth, need, roundedUpCount(1/r.Probability), r.Clients, r.Steps, roundedUpCount(r.Needed),
		percentRoundedDown(r.Odds()))
	if r.WithFault > 0 {
		s += fmt.Sprintf(" If it needs one fault, at one place, 1 in %s.", roundedUpCount(1/r.WithFault))
	}
	return s + " Nothing is claimed about deeper bugs."
}

// percentRoundedDown writes a probability, rounded down so that it promises no more than is true.
func percentRoundedDown(p float64) string {
	switch {
	case p < 0.0001:
		return "less than 0.01 %"
	case p < 0.1:
		return fmt.Sprintf("%.2f %%", math.Floor(p*1e4)/100)
	}
	return fmt.Sprintf("%d %%", int(p*100))
}

// roundedUpCount writes a count, rounded up: "4,800", and from a million on "2.4 million" or "3.1e+12".
func roundedUpCount(n float64) string {
	switch n = math.Ceil(n - 1e-6); {
	case n >= 1e9:
		return fmt.Sprintf("%.1e", n)
	case n >= 1e6:
		return fmt.Sprintf("%.1f million", n/1e6)
	case n >= 1000:
		return fmt.Sprintf("%d,%03d", int(n)/1000, int(n)%1000)
	}
	return fmt.Sprint(int(n))
}

// Shrunk says how large a counterexample was before it was shrunk, and how it was shrunk.
type Shrunk struct {
	Schedule int `json:"schedule"` // number, from 1, of the schedule that first found this class
	Clients  int `json:"clients"`  // number of clients before shrinking
	Steps    int `json:"steps"`    // number of steps before shrinking
	Runs     int `json:"runs"`     // schedules that were run to shrink it
	// every schedule of the remaining clients and faults was run, and none shows the violation in fewer steps
	Smallest bool `json:"smallest"`
}

// String describes the counterexample before it was shrunk, and how it was shrunk.
func (s Shrunk) String() string {
	text := fmt.Sprintf("first found by schedule %s; shrunk from %d steps of %d clients by running %s schedules",
		roundedUpCount(float64(s.Schedule)), s.Steps, s.Clients, roundedUpCount(float64(s.Runs)))
	if s.Smallest {
		text += "; a search of these clients and faults found no shorter one"
	}
	return text
}
