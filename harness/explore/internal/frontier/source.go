// Package frontier keeps the schedules that a search has planned and not run yet: it hands them out, and writes them
// down.
//
// To add another way to go through the schedules of a program, write a [Source]. It decides which schedule comes next,
// and each of its jobs learns by its own strategy what that schedule has come upon. Workers, limits and judging are the
// same for all.
package frontier

import (
	"github.com/doublegrant/doublegrant/harness/explore/internal/findings"
	"github.com/doublegrant/doublegrant/harness/explore/internal/strategy"
)

// Source hands out the schedules of a part of a search. Whoever calls it, or a method of its jobs, holds the search's
// lock.
type Source interface {
	// Next takes the schedule that comes next. ok is false if none is planned now. One that is under way may plan more.
	Next() (j Job, ok bool)

	// Planned counts the schedules that Next can hand out now.
	Planned() int
}

// Job is a schedule that is to be run. Done or PutBack ends it.
type Job interface {
	// Strategy returns the strategy for an attempt to run it. Each attempt has its own.
	Strategy() strategy.Strategy

	// Done notes that the last attempt has run the schedule, and plans those that leave it.
	Done()

	// PutBack plans the schedule again, since no attempt could run it.
	PutBack()

	// Draw says how the last attempt was drawn at random. It is zero if it was not.
	Draw() findings.Draw
}
