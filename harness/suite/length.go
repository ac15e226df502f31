package suite

import (
	"cmp"
	"time"
)

// searchEstimate is the time that a search is taken to need. Its real time is not known before; most need less.
const searchEstimate = 2 * time.Second

// Takes estimates how long each run of the suite takes, in their order, and how long a pass takes, in which every run counts as
// often as it is repeated. Each machine estimates the same.
func (s Suite) Takes() (each []time.Duration, all time.Duration) {
	for _, r := range s.Runs {
		length := r.estimate()
		each, all = append(each, length), all+length*time.Duration(len(r.repetitions()))
	}
	return each, all
}

// estimate estimates how long one repetition of the run takes; 0 if it cannot be run, which Check reports.
func (r Entry) estimate() time.Duration {
	if e := r.Explore; e != nil {
		one := searchEstimate
		if e.For > 0 {
			one = min(one, e.For)
		}
		return one * time.Duration(len(r.searches()))
	}
	p := r.Plan
	p.Seed = cmp.Or(p.Seed, 1) // a seed drawn by chance would draw other faults each time
	length, err := p.Takes()
	if err != nil {
		return 0
	}
	return length
}
