package experiments

import (
	"fmt"

	"github.com/doublegrant/doublegrant/harness/plan"
)

// Check returns an error if the experiment cannot be repeated in this way. It runs nothing. The error wraps
// plan.ErrUsage.
func (e Experiment) Check(how Repetition) error {
	switch {
	case how.Trials < 0 || how.Trials > plan.MostTimes:
		return plan.Usagef("--trials %d: ask for 1 to %d", how.Trials, plan.MostTimes)
	case how.Parallel < 0 || how.Parallel > maxParallel:
		return plan.Usagef("--parallel %d: ask for 1 to %d", how.Parallel, maxParallel)
	}
	for _, a := range e.Details.Arms {
		if err := how.planOfTrial(a.Plan, 0).Check(); err != nil {
			return fmt.Errorf("%s, %s: %w", e.Name, a.Name, err)
		}
	}
	return nil
}
