package suite

import "fmt"

// Check tells whether an experiment could be repeated so, without repeating it. The error wraps ErrUsage.
func (e Experiment) Check(how Repetition) error {
	switch {
	case how.Trials < 0 || how.Trials > maxTimes:
		return usage("--trials %d: ask for 1 to %d", how.Trials, maxTimes)
	case how.Parallel < 0 || how.Parallel > maxParallel:
		return usage("--parallel %d: ask for 1 to %d", how.Parallel, maxParallel)
	}
	for _, a := range e.arms {
		if err := how.of(a.plan, 0).Check(); err != nil {
			return fmt.Errorf("%s, %s: %w", e.Name, a.name, err)
		}
	}
	return nil
}
