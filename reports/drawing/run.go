package drawing

import (
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/analysis"
)

// Run holds the data of the charts over time of a run.
type Run struct {
	Stats  analysis.Stats
	Faults []harness.Fault // faults in order of Start, in which they are numbered
	Groups int             // number of client groups; 0 counts as 1
}

// horizon returns the end of the time axis.
func (r Run) horizon() time.Duration {
	end := r.Stats.Last
	if n := len(r.Stats.Buckets); n > 0 {
		end = r.Stats.Buckets[n-1].Start + r.Stats.Width
	}
	for _, f := range r.Faults {
		end = max(end, f.Start, f.Heal, f.End)
	}
	return max(end, time.Second)
}

// origin returns the start of the time axis: the full second before the first operation or fault.
func (r Run) origin() time.Duration {
	start := r.Stats.First
	for _, f := range r.Faults {
		start = min(start, f.Start)
	}
	return max(0, start.Truncate(time.Second))
}
