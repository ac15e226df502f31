package experiments

import (
	"cmp"
	"time"
)

// Estimate returns the number of trials of a repetition, over all arms, and an estimate of their total duration.
func (e Experiment) Estimate(how Repetition) (trials int, length time.Duration) {
	each := cmp.Or(how.Trials, e.Details.Trials)
	for _, a := range e.Details.Arms {
		one, err := a.Plan.Estimate()
		if err != nil { // Check reports this error
			continue
		}
		length += time.Duration(each) * one
	}
	return each * len(e.Details.Arms), length / time.Duration(max(1, how.Parallel))
}
