package suite

import (
	"cmp"
	"time"
)

// searchEstimate is the assumed time of a search, since the real one is not known in advance. Most searches need less.
const searchEstimate = 2 * time.Second

// Estimate estimates how long each run of the suite takes, in order. It also returns the time of a whole pass, with
// repetitions. Every machine comes to the same estimates.
func (s Suite) Estimate() (each []time.Duration, all time.Duration) {
	for _, r := range s.Runs {
		length := r.estimate()
		each, all = append(each, length), all+length*time.Duration(len(r.repetitions()))
	}
	return each, all
}

// estimate returns how long one repetition of the run should take; 0 if it cannot run, which Check reports.
func (r Entry) estimate() time.Duration {
	if e := r.Explore; e != nil {
		one := searchEstimate
		if e.For > 0 {
			one = min(one, e.For)
		}
		return one * time.Duration(len(r.Searches()))
	}
	p := r.Plan
	p.Seed = cmp.Or(p.Seed, 1) // a random seed would draw other faults each time
	length, err := p.Estimate()
	if err != nil {
		return 0
	}
	return length
}
