package suite

import "time"

// aSearch is the estimate for one search. How long it takes is not known before; most take less.
const aSearch = 2 * time.Second

// Takes estimates how long each run of the suite takes, in their order, and how long a pass takes, in which every run counts as
// often as its Times says.
func (s Suite) Takes() (each []time.Duration, all time.Duration) {
	for _, r := range s.Runs {
		length := time.Duration(0)
		if r.Explore != nil {
			length = aSearch * time.Duration(len(r.searches()))
		} else if takes, err := r.Plan.Takes(); err == nil { // Check reports what is wrong with it
			length = takes
		}
		each, all = append(each, length), all+length*time.Duration(max(1, r.Times))
	}
	return each, all
}
