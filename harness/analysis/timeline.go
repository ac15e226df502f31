package analysis

import (
	"cmp"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/units"
)

const (
	maxBuckets = 240 // largest number of buckets of a timeline
	maxReasons = 256 // number of distinct errors that are counted apart; the others are counted as one
	maxKinds   = 32  // number of distinct kinds of operations that are counted apart; the others are counted as one
	topReasons = 20  // largest number of errors in Stats
	longReason = 200 // largest number of runes that are kept of an error

	other = "(other)"
)

// Counts counts operations by outcome. A refused acquire is not an error: another client had the lock.
type Counts struct {
	OK      int64 `json:"ok"`
	Refused int64 `json:"refused"` // acquires that failed because the lock was held
	Failed  int64 `json:"failed"`  // operations that failed otherwise, certainly without effect
	Unknown int64 `json:"unknown"` // operations that may or may not have had an effect
}

// All returns the number of operations of any outcome.
func (c Counts) All() int64 { return c.OK + c.Refused + c.Failed + c.Unknown }

// Latency summarizes how long successful operations took.
type Latency struct {
	P50 time.Duration `json:"p50"`
	P99 time.Duration `json:"p99"`
	Max time.Duration `json:"max"`
}

// Bucket is one interval of a timeline. An operation belongs to the bucket of its Return.
type Bucket struct {
	Start time.Duration
	Counts
	Latency         // latency of successful operations; zero if there are none
	Groups  []int64 // successful operations by client group
}

// KindStats holds the totals of one kind of operation.
type KindStats struct {
	Kind harness.Kind `json:"kind"`
	Counts
	Latency Latency `json:"latency"`
}

// Reason counts the operations that ended with the same error.
type Reason struct {
	Err     string          `json:"err"`
	Outcome harness.Outcome `json:"outcome"`
	Count   int64           `json:"count"`
	First   time.Duration   `json:"first"` // Return of the first of these operations
	Last    time.Duration   `json:"last"`
}

// Stats holds the figures of a history, in total and over time.
type Stats struct {
	Totals  Counts        `json:"totals"`
	Rate    float64       `json:"rate"`    // successful operations a second, from First to Last
	Latency Latency       `json:"latency"` // latency of successful operations
	Kinds   []KindStats   `json:"kinds"`   // sorted by name
	Reasons []Reason      `json:"reasons"` // errors, the most frequent first, without refused acquires
	First   time.Duration `json:"first"`   // Call of the earliest operation
	Last    time.Duration `json:"last"`    // Return of the last operation
	Width   time.Duration `json:"-"`       // width of a bucket
	Buckets []Bucket      `json:"-"`       // contiguous buckets from the start of the run, at most 240
}

// Collect computes the figures of a history. It reads h.Ops once, and its memory does not grow with the number of
// operations. If reading fails, it returns the figures of the operations before the error.
func Collect(h harness.History) (Stats, error) {
	c := newCollector(h)
	err := eachOp(h, c.add)
	return c.stats(), err
}

type collector struct {
	meta       harness.Meta
	width      time.Duration
	cells      []cell
	total      cell
	kinds      map[harness.Kind]*cell
	reasons    map[reasonKey]*Reason
	firstCall  time.Duration
	lastReturn time.Duration
}

// cell counts the operations of a bucket, of a kind, or of the whole run.
type cell struct {
	Counts
	ok     histogram
	groups []int64
}

type reasonKey struct {
	err     string
	outcome harness.Outcome
}

func newCollector(h harness.History) *collector {
	c := &collector{
		meta: h.Meta, width: bucketWidth(0), kinds: map[harness.Kind]*cell{}, reasons: map[reasonKey]*Reason{},
	}
	if h.End != nil {
		c.width = bucketWidth(h.End.At)
	}
	return c
}

// bucketWidth returns the smallest of 100 ms, 200 ms, 500 ms, 1 s, ... that divides a run of length d into at most
// maxBuckets buckets.
func bucketWidth(d time.Duration) time.Duration {
	for unit := 100 * time.Millisecond; ; unit *= 10 {
		for _, n := range []time.Duration{1, 2, 5} {
			if d < maxBuckets*n*unit || unit > time.Hour {
				return n * unit
			}
		}
	}
}

func (c *collector) add(op harness.Op) {
	if c.total.All() == 0 || op.Call < c.firstCall {
		c.firstCall = op.Call
	}
	c.lastReturn = max(c.lastReturn, op.Return)
	c.total.count(op)
	c.kind(op.Kind).count(op)
	cell := c.bucketAt(op.Return)
	cell.count(op)
	if op.Outcome == harness.OK && op.Client >= 0 {
		cell.groups[c.meta.Group(op.Client)]++
	}
	c.reason(op)
}

func (c *cell) count(op harness.Op) {
	switch {
	case op.Outcome == harness.OK:
		c.OK++
		c.ok.add(latencyOf(op))
	case Refused(op):
		c.Refused++
	case op.Outcome == harness.Fail:
		c.Failed++
	default:
		c.Unknown++
	}
}

// Refused reports whether op is an acquire that failed because another client had the lock.
func Refused(op harness.Op) bool {
	return op.Outcome == harness.Fail && op.Kind == harness.Acquire && op.Err == harness.Held
}

// bucketAt returns the bucket of time t. If the run is longer than expected, it doubles the width of all buckets.
func (c *collector) bucketAt(t time.Duration) *cell {
	t = max(0, t)
	for t/c.width >= maxBuckets {
		c.mergePairs()
	}
	i := int(t / c.width)
	for len(c.cells) <= i {
		c.cells = append(c.cells, cell{groups: make([]int64, max(1, c.meta.Groups))})
	}
	return &c.cells[i]
}

// mergePairs halves the number of buckets.
func (c *collector) mergePairs() {
	c.width *= 2
	for i := range c.cells {
		if i%2 == 1 {
			c.cells[i/2].merge(&c.cells[i])
		} else if i > 0 {
			c.cells[i/2] = c.cells[i]
		}
	}
	c.cells = c.cells[:(len(c.cells)+1)/2]
}

func (c *cell) merge(o *cell) {
	c.OK, c.Refused, c.Failed, c.Unknown = c.OK+o.OK, c.Refused+o.Refused, c.Failed+o.Failed, c.Unknown+o.Unknown
	c.ok.merge(&o.ok)
	for g, n := range o.groups {
		c.groups[g] += n
	}
}

func (c *collector) kind(k harness.Kind) *cell {
	if c.kinds[k] == nil && len(c.kinds) >= maxKinds {
		k = other
	}
	if c.kinds[k] == nil {
		c.kinds[k] = &cell{}
	}
	return c.kinds[k]
}

func (c *collector) reason(op harness.Op) {
	if op.Outcome == harness.OK || Refused(op) {
		return
	}
	key := reasonKey{units.Clip(op.Err, longReason), op.Outcome}
	if c.reasons[key] == nil && len(c.reasons) >= maxReasons {
		key.err = other
	}
	r := c.reasons[key]
	if r == nil {
		r = &Reason{Err: key.err, Outcome: key.outcome, First: op.Return}
		c.reasons[key] = r
	}
	r.Count++
	r.Last = op.Return
}

func (c *collector) stats() Stats {
	s := Stats{
		Totals: c.total.Counts, Latency: c.total.ok.latency(), First: c.firstCall, Last: c.lastReturn, Width: c.width,
		Reasons: c.top(),
	}
	if span := s.Last - s.First; span > 0 {
		s.Rate = float64(s.Totals.OK) / span.Seconds()
	}
	for k, cell := range c.kinds {
		s.Kinds = append(s.Kinds, KindStats{Kind: k, Counts: cell.Counts, Latency: cell.ok.latency()})
	}
	slices.SortFunc(s.Kinds, func(a, b KindStats) int { return cmp.Compare(a.Kind, b.Kind) })
	for i := range c.cells {
		cell := &c.cells[i]
		s.Buckets = append(s.Buckets, Bucket{
			Start: time.Duration(i) * c.width, Counts: cell.Counts, Latency: cell.ok.latency(), Groups: cell.groups,
		})
	}
	return s
}

// top returns the most frequent errors, at most topReasons of them.
func (c *collector) top() []Reason {
	var all []Reason
	for _, r := range c.reasons {
		all = append(all, *r)
	}
	slices.SortFunc(all, func(a, b Reason) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Err, b.Err), cmp.Compare(a.Outcome, b.Outcome))
	})
	return all[:min(len(all), topReasons)]
}

// span returns the time in bucket i during which there was load, to compute rates. The first and the last bucket may be
// cut short by the start and the end of the load.
func (s Stats) span(i int) time.Duration {
	from := max(s.Buckets[i].Start, s.First)
	to := min(s.Buckets[i].Start+s.Width, s.Last)
	return max(to-from, s.Width/4)
}

// PerSecond converts n operations in bucket i to a rate per second.
func (s Stats) PerSecond(i int, n int64) float64 { return float64(n) / s.span(i).Seconds() }

// latencyOf returns how long an operation made its caller wait. In an open loop the wait begins when the operation was
// due.
func latencyOf(op harness.Op) time.Duration {
	if op.Due > 0 {
		return op.Return - op.Due
	}
	return op.Return - op.Call
}
