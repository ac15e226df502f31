package checkers

import (
	"fmt"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/stretchr/testify/require"
)

const (
	growthOps  = 120_000
	growthAt   = 30_000  // where the heap is measured first
	growthMost = 9 << 19 // about 50 bytes per operation, and a quarter of the size of all the evidence
)

// heapGrowth returns how much more heap is in use after the last operation than after operation growthAt, while c
// checks them. The operations are made while they are read.
func heapGrowth(t *testing.T, c harness.Checker, at stream) int64 {
	var before, after uint64
	h := of()
	h.Meta = harness.Meta{Workers: 100, Clients: 100, Groups: 2, Kinds: []harness.Kind{harness.Acquire}}
	h.Ops = func(yield func(harness.Op, error) bool) {
		for i := range growthOps {
			if !yield(at(i, time.Duration(i)*10*time.Microsecond), nil) {
				return
			}
			if i == growthAt {
				before = heapInUse()
			}
		}
		after = heapInUse()
	}
	g := c.Check(t.Context(), h, func(harness.Anomaly) {})
	require.NotEmpty(t, g.Figures)
	return int64(after) - int64(before)
}

func heapInUse() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// No checker keeps data in proportion to the length of the run: keys of messages, tokens of owners, ids of clients,
// draws.
func TestMemoryDoesNotGrowWithTheRun(t *testing.T) {
	sequence := func(i int, t time.Duration) harness.Op { return next(i%100, t, t, fmt.Sprintf("160818172%08d", i)) }
	message := func(i int, t time.Duration) harness.Op {
		op, key := claim(i%100, t, t, time.Millisecond), "m"+strconv.Itoa(i/3)
		switch {
		case i%3 == 1:
			op = deliver(i%100, t, t)
		case i%3 == 2:
			op = confirm(i%100, t, t, 2*time.Millisecond)
		}
		return on(key, op)
	}
	retired := func(i int, t time.Duration) harness.Op { // every client id is used once
		return info(acquire(i, strconv.Itoa(i), t, t, time.Second))
	}
	guarding := func(i int, t time.Duration) harness.Op { // grants, writes and releases by one owner after the other
		w, token := i/3%100, strconv.Itoa(i/3)
		switch i % 3 {
		case 0:
			return acquire(w, token, t, t, time.Second)
		case 1:
			return guarded(w, token, i, t, t)
		}
		return release(w, token, t, t)
	}
	late := func(i int, t time.Duration) harness.Op { // each release is late: it comes after the next owner's grant
		if i%2 == 0 {
			return acquire(i/2%100, "t", t, t, 5*time.Microsecond)
		}
		return release((i/2+99)%100, "t", t-15*time.Microsecond, t)
	}
	crowd := func(i int, t time.Duration) harness.Op { // nobody is refused: 100 owners hold at once
		if i/100%2 == 0 {
			return acquire(i%100, "t", t, t, time.Second)
		}
		return release(i%100, "t", t, t)
	}
	// the first owner keeps the lock for good, and others are granted it all the same
	silent := func(i int, t time.Duration) harness.Op {
		if i == 0 {
			return acquire(0, "a", t, t, 0)
		}
		if i%2 == 1 {
			return acquire(1, "t", t, t, time.Second)
		}
		return release(1, "t", t, t)
	}
	for _, tc := range []struct {
		name string
		c    harness.Checker
		at   stream
	}{
		{"locks", Mutex(), benchLock}, {"retired ids", Mutex(), retired}, {"guarding", Mutex(), guarding},
		{"late releases", Mutex(), late}, {"crowd", Mutex(), crowd}, {"silent owner", Mutex(), silent},
		{"owners that never release", Mutex(), oneAfterTheOther},
		// much more often than the leases need
		{"extends of two owners", Mutex(), func(i int, t time.Duration) harness.Op {
			if i < 2 {
				return acquire(i, "t", t, t, time.Second)
			}
			return extend(i%2, "t", t, t, time.Second)
		}},
		{"locks", Stuck(), benchLock}, {"retired ids", Stuck(), retired},
		{"guarding", Holders(), guarding}, {"retired ids", Holders(), retired},
		{"tokens", Fence(), func(i int, t time.Duration) harness.Op {
			return token(strconv.Itoa(i+1), acquire(i%100, strconv.Itoa(i), t, t, time.Second))
		}},
		{"messages", Dedup(), message}, {"messages", Delivery(), message},
		{"numbers", Sequence(), sequence}, {"numbers", Stored(), sequence},
		{"writes", Writes(), func(i int, t time.Duration) harness.Op { return add(i%100, i, t, t) }},
		{"messages", Gates(), message},
	} {
		t.Run(tc.c.Name()+"/"+tc.name, func(t *testing.T) {
			require.Less(t, heapGrowth(t, tc.c, tc.at), int64(growthMost))
		})
	}
}
