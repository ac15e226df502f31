package experiments

import (
	"cmp"
	"time"
)

// Takes is how many trials a repetition of the experiment has, over all its conditions, and about how long they take.
func (e Experiment) Takes(how Repetition) (trials int, length time.Duration) {
	each := cmp.Or(how.Trials, e.trials)
	for _, a := range e.arms {
		one, err := a.plan.Takes()
		if err != nil { // Check says why it cannot be repeated
			continue
		}
		length += time.Duration(each) * one
	}
	return each * len(e.arms), length / time.Duration(max(1, how.Parallel))
}
