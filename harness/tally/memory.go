package tally

import (
	"slices"
	"time"
)

// Sample holds what the harness's process used at one time. A zero means that the value was not measured.
type Sample struct {
	At         time.Duration `json:"at"`  // since the start of the suite
	RSS        int64         `json:"rss"` // resident memory in bytes
	Goroutines int           `json:"goroutines"`
	Files      int           `json:"files"` // number of open files
}

// Memory follows the memory that the harness uses over a suite. The number of samples kept is bounded, however long the
// suite is. The zero value has no samples.
type Memory struct {
	Runs Curve `json:"runs"` // measured after each run, when its clients are gone
	Load Curve `json:"load"` // measured while clients load the system
	// end of the warm-up: the constant WarmUp after the process began, or the end of the first pass if that is earlier
	WarmUp time.Duration `json:"warmUp"`
	Max    int64         `json:"max"` // largest resident memory in any sample, in bytes

	from time.Duration // when this process began, counted from the start of the suite
}

// Curve is a series of samples, evenly thinned out when there are many.
type Curve struct {
	All []Sample `json:"all"`

	every, seen int // one in this many samples is kept (every); number of all samples (seen)
}

// WarmUp is the time in which the harness's process may grow without any growth being counted.
const WarmUp = 5 * time.Minute

// maxSamples bounds the samples of a curve.
const maxSamples = 480

// Restart drops all samples but keeps the maximum. It is called when another process resumes the suite, since growth is
// measured within one process. The parameter at is the time since the start of the suite.
func (m *Memory) Restart(at time.Duration) { *m = Memory{Max: m.Max, WarmUp: at + WarmUp, from: at} }

// AfterRun adds a sample taken after a run of the given pass, counted from 1.
func (m *Memory) AfterRun(pass int, s Sample) {
	if pass == 1 {
		m.WarmUp = m.from + min(WarmUp, s.At-m.from)
	}
	m.Max = max(m.Max, s.RSS)
	m.Runs.add(s)
}

// UnderLoad adds a sample taken during a run.
func (m *Memory) UnderLoad(s Sample) {
	m.Max = max(m.Max, s.RSS)
	m.Load.add(s)
}

// add stores a sample. When the curve is full, it drops every second sample, and stores only half as many from that
// time on.
func (c *Curve) add(s Sample) {
	c.every = max(1, c.every)
	if c.seen++; c.seen%c.every != 0 {
		return
	}
	if c.All = append(c.All, s); len(c.All) < maxSamples {
		return
	}
	for i := range maxSamples / 2 {
		c.All[i] = c.All[2*i+1]
	}
	c.All, c.every = c.All[:maxSamples/2], 2*c.every
}

// Growth says how resident memory grew after the warm-up, in bytes. The first result is the median of the first quarter
// of the samples after the warm-up; the second is the median of the last quarter. A median depends less than a single
// sample on when the garbage collector last ran. The result ok is false if fewer than eight samples follow the warm-up.
func (c Curve) Growth(warmUp time.Duration) (from, to int64, ok bool) {
	var after []int64
	for _, s := range c.All {
		if s.At > warmUp && s.RSS > 0 {
			after = append(after, s.RSS)
		}
	}
	quarter := len(after) / 4
	if quarter < 2 {
		return 0, 0, false
	}
	return median(after[:quarter]), median(after[len(after)-quarter:]), true
}

func median(values []int64) int64 {
	s := slices.Sorted(slices.Values(values))
	return s[len(s)/2]
}

// Soaked reports whether either curve has enough samples to measure growth.
func (m Memory) Soaked() bool {
	_, _, runs := m.Runs.Growth(m.WarmUp)
	_, _, load := m.Load.Growth(m.WarmUp)
	return runs || load
}
