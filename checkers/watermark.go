package checkers

import (
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// watermarkEvery is the least number of operations before the first search for the slowest worker, and between two
// searches.
const watermarkEvery = 1024

// watermark keeps a time, its field low: no later operation of a worker is called before it. A worker does one thing
// after the other, so its next Call is not before its last Return. Until every worker has had an operation, low is 0.
//
// The harness is not one of the workers. It may stay silent for the whole load, so its operations may be called before
// that time. A checker has to allow for this, unless it sets heedsHarness or awaitsHarness.
type watermark struct {
	workers       int  // number of workers of the run; 0: unknown, so low stays 0
	heedsHarness  bool // the harness counts as a worker from its first operation on
	awaitsHarness bool // the harness counts as a worker from the start
	widened       bool // times were widened, so only a worker's last Call bounds its next Call
	count         int
	returned      []time.Duration // by worker: its last Return, or its last Call if widened is set
	harness       time.Duration   // last Return of the harness; 0: none
	low           time.Duration   // no later operation of a worker is called before this
}

// note takes the times of x, an operation of any kind, into account. It updates low from time to time.
func (w *watermark) note(x harness.Op) {
	if x.Client < 0 && (w.heedsHarness || w.awaitsHarness) {
		w.harness = x.Return
		w.low = min(w.low, x.Return)
	}
	if w.count++; w.count <= watermarkEvery || w.workers == 0 || x.Client < 0 {
		return
	}
	if w.returned == nil {
		w.returned = make([]time.Duration, w.workers)
	}
	w.returned[x.Client%w.workers] = x.Return
	if w.widened {
		w.returned[x.Client%w.workers] = x.Call
	}
	if w.count%max(watermarkEvery, len(w.returned)) == 0 {
		w.low = slices.Min(w.returned)
		if w.awaitsHarness || w.harness > 0 {
			w.low = min(w.low, w.harness)
		}
	}
}
