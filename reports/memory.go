package reports

import (
	"fmt"
	"time"
)

// Sample is what the harness's process held at one time. Zero values were not measured.
type Sample struct {
	At         time.Duration `json:"at"`  // since the start of the suite
	RSS        int64         `json:"rss"` // resident memory, bytes
	Goroutines int           `json:"goroutines"`
	Files      int           `json:"files"` // open
}

// Memory follows the memory of the harness over a suite, in room that does not grow. The zero value has seen nothing.
type Memory struct {
	Runs Span     `json:"runs"` // measured after each run, when its clients are gone
	Load Span     `json:"load"` // measured while clients load the system
	Max  int64    `json:"max"`  // bytes, at any time
	All  []Sample `json:"curve"`

	every, seen int // one sample of so many is kept in All
}

// Span is a series of samples by its ends.
type Span struct {
	Warm Sample `json:"warm"` // the first after WarmUp; until there is one, the last of the first pass
	End  Sample `json:"end"`  // the last
}

// WarmUp is after how long a program has as much memory as it will need.
const WarmUp = 5 * time.Minute

// maxSamples is how many points a curve of memory has at most.
const maxSamples = 480

// AfterRun takes a sample after a run of a pass.
func (m *Memory) AfterRun(pass int, s Sample) {
	m.Runs.add(pass, s)
	m.keep(s)
}

// UnderLoad takes a sample during a run of a pass.
func (m *Memory) UnderLoad(pass int, s Sample) {
	m.Load.add(pass, s)
	m.keep(s)
}

func (p *Span) add(pass int, s Sample) {
	if pass <= 1 && s.At < WarmUp || p.Warm == (Sample{}) || p.Warm.At < WarmUp && s.At >= WarmUp {
		p.Warm = s
	}
	p.End = s
}

// keep adds a sample to the curve. When that has grown too long every second sample is left out, now and from here on.
func (m *Memory) keep(s Sample) {
	m.Max = max(m.Max, s.RSS)
	m.every = max(1, m.every)
	if m.seen++; m.seen%m.every != 0 {
		return
	}
	if m.All = append(m.All, s); len(m.All) < maxSamples {
		return
	}
	for i := range maxSamples / 2 {
		m.All[i] = m.All[2*i+1]
	}
	m.All, m.every = m.All[:maxSamples/2], 2*m.every
}

// String says how memory grew from the warm-up to the end.
func (p Span) String() string {
	if p.Warm.RSS == 0 {
		return "not measured"
	}
	if p.End.At <= p.Warm.At {
		return size(p.Warm.RSS)
	}
	grown := 100 * (float64(p.End.RSS)/float64(p.Warm.RSS) - 1)
	return fmt.Sprintf("%s after %s, %s after %s (%+.0f %%)", size(p.Warm.RSS), dur(p.Warm.At.Round(time.Second)),
		size(p.End.RSS), dur(p.End.At.Round(time.Second)), grown)
}

// facts are the lines about memory, for people.
func (m Memory) facts() []fact {
	if m.Max == 0 {
		return nil
	}
	end := m.Runs.End
	return []fact{
		{"memory between runs", m.Runs.String()}, {"memory under load", m.Load.String()}, {"memory at most", size(m.Max)},
		{"left after a run", fmt.Sprintf("%s and %s; after %s %s and %s",
			plural(int64(m.Runs.Warm.Goroutines), "goroutine", "goroutines"), plural(int64(m.Runs.Warm.Files), "open file", "open files"),
			dur(end.At.Round(time.Second)), plural(int64(end.Goroutines), "goroutine", "goroutines"), plural(int64(end.Files), "open file", "open files"))},
	}
}

// size writes bytes in the unit that suits them.
func size(bytes int64) string {
	if bytes >= 10<<30 {
		return digits(float64(bytes)/(1<<30)) + " GiB"
	}
	return whole(float64(bytes)/(1<<20)) + " MiB"
}
