// Package frontier keeps the planned schedules of a search: it hands them out and writes them down.
//
// To add another way to go through a program's schedules, write a [Source]. It decides which schedule comes next. When
// a schedule is done ([Job.Done]), its job can ask its strategy what the schedule has met, and plan more. Workers,
// limits and judging are the same for all sources.
package frontier

import (
	"github.com/doublegrant/doublegrant/harness/explore/internal/findings"
	"github.com/doublegrant/doublegrant/harness/explore/internal/strategy"
)

// Source hands out the schedules of a part of a search. Callers of it and of its jobs hold the search's lock.
type Source interface {
	// Next takes the next schedule. ok is false if none is planned now; a schedule under way may plan more.
	Next() (j Job, ok bool)

	// Planned counts the schedules that Next can hand out now.
	Planned() int
}

// Job is a schedule to be run. Done or PutBack ends it.
type Job interface {
	// Strategy returns the strategy for one attempt to run the schedule. Each attempt needs its own.
	Strategy() strategy.Strategy

	// Done says that the last attempt has run the schedule. It plans the branches that the strategy has found on the way.
	Done()

	// PutBack plans the schedule again, since every attempt failed.
	PutBack()

	// Draw says how the last attempt was drawn at random; zero: the schedule was not drawn.
	Draw() findings.Draw
}
