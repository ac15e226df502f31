package checkers

import (
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// watermarkEvery is the least number of operations between two looks for the slowest worker, and before the first.
const watermarkEvery = 1024

// watermark keeps a time before which no operation of a worker to come was called. A worker does one thing after the
// other, so its next call is not before its last Return, whatever the operation; of a worker that has not spoken yet nothing
// is known. The harness is not one of the workers: it may stay silent for the whole load. So its operations may be called before
// the watermark, and whoever relies on that has to notice them. With ours the watermark heeds the harness from its first
// operation on, and with among it waits for it as for a worker.
type watermark struct {
	workers  int  // of the run; 0: unknown, and with it everything else
	ours     bool // the harness counts from its first operation on
	among    bool // the harness counts as a worker does
	widened  bool // times were widened: a worker's next call is not before its last Call
	n        int
	returned []time.Duration // by worker: the last Return
	harness  time.Duration   // the last Return of the harness; 0: it has said nothing
	low      time.Duration   // no operation of a worker to come was called before this
}

// hear notes x, an operation of whatever kind.
func (w *watermark) hear(x harness.Op) {
	if x.Client < 0 && (w.ours || w.among) {
		w.harness = x.Return
		w.low = min(w.low, x.Return)
	}
	if w.n++; w.n <= watermarkEvery || w.workers == 0 || x.Client < 0 {
		return
	}
	if w.returned == nil {
		w.returned = make([]time.Duration, w.workers)
	}
	w.returned[x.Client%w.workers] = x.Return
	if w.widened {
		w.returned[x.Client%w.workers] = x.Call
	}
	if w.n%max(watermarkEvery, len(w.returned)) == 0 {
		w.low = slices.Min(w.returned)
		if w.among || w.harness > 0 {
			w.low = min(w.low, w.harness)
		}
	}
}
