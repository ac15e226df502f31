package analysis

import (
	"math"
	"math/bits"
	"time"
)

// slots is the number of slots of a histogram: 16 for each doubling, from one microsecond to two minutes.
const slots = 24 * 16

// histogram counts latencies on a logarithmic scale in a fixed amount of memory. Quantiles are within about 3 % of the
// true value. The maximum is exact.
type histogram struct {
	counts [slots]uint64 // 64 bits, since days of load would overflow 32
	n      int64
	max    time.Duration
}

func (h *histogram) add(d time.Duration) {
	h.counts[slotOf(d)]++
	h.n++
	h.max = max(h.max, d)
}

func (h *histogram) merge(other *histogram) {
	for i, n := range other.counts {
		h.counts[i] += n
	}
	h.n += other.n
	h.max = max(h.max, other.max)
}

// quantile returns the latency that the share q of all operations does not exceed. It returns 0 if there are no
// operations.
func (h *histogram) quantile(q float64) time.Duration {
	rank := max(1, int64(math.Ceil(q*float64(h.n))))
	seen := int64(0)
	for i, n := range h.counts {
		if seen += int64(n); seen >= rank {
			return min(slotMiddle(i), h.max)
		}
	}
	return h.max
}

func (h *histogram) latency() Latency {
	return Latency{P50: h.quantile(0.50), P99: h.quantile(0.99), Max: h.max}
}

// slotOf returns the slot of d. Below 16 microseconds each microsecond has a slot. Above, each power of two is divided
// into 16 slots.
func slotOf(d time.Duration) int {
	us := uint64(max(0, d.Microseconds()))
	if us < 16 {
		return int(us)
	}
	shift := bits.Len64(us) - 5
	return min(slots-1, (shift+1)*16+int(us>>shift)-16)
}

// slotMiddle returns the middle of the latencies that slot i counts.
func slotMiddle(i int) time.Duration {
	if i < 16 {
		return time.Duration(i)*time.Microsecond + time.Microsecond/2
	}
	shift := i/16 - 1
	width := time.Microsecond << shift
	return time.Duration(i%16+16)*width + width/2
}
