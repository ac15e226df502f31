package checkers

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/stretchr/testify/require"
)

const benchOps = 1_000_000

// benchmark judges benchOps operations, which at makes one by one, 10 microseconds apart.
func benchmark(b *testing.B, c harness.Checker, want harness.Verdict, at func(i int, t time.Duration) harness.Op) {
	ops := make([]harness.Op, benchOps)
	for i := range ops {
		ops[i] = at(i, time.Duration(i)*10*time.Microsecond)
	}
	h := of()
	h.Meta = harness.Meta{Workers: 1000, Clients: 1000, Groups: 2, Drift: 0.01, Kinds: []harness.Kind{ops[0].Kind}}
	h.Ops = harness.OpsOf(ops)
	b.ReportAllocs()
	for b.Loop() {
		g := c.Check(b.Context(), h, func(harness.Anomaly) {})
		require.Equal(b, want, g.Verdict, g.Reason)
	}
	b.ReportMetric(float64(benchOps)*float64(b.N)/b.Elapsed().Seconds(), "ops/s")
}

// One lock of ten goes round 1000 workers; every other acquire is refused.
func benchLock(i int, t time.Duration) harness.Op {
	key, w := "lock-"+strconv.Itoa(i/30%10), i/3
	switch i % 3 {
	case 0:
		return on(key, acquire(w%1000, strconv.Itoa(w), t, t+2*time.Microsecond, 30*time.Second))
	case 1:
		return on(key, fail(acquire((w+1)%1000, "x", t-9*time.Microsecond, t, 30*time.Second)))
	}
	return on(key, release(w%1000, strconv.Itoa(w), t, t+time.Microsecond))
}

func BenchmarkMutex(b *testing.B) { benchmark(b, Mutex(), harness.Valid, benchLock) }

// Nobody is ever refused: up to 100 holds are open on one key, and each acquire overlaps all of them.
func BenchmarkMutexBroken(b *testing.B) {
	benchmark(b, Mutex(), harness.Invalid, func(i int, t time.Duration) harness.Op {
		if i%1000 >= 100 {
			return claim(i%1000, t, t, 1)
		}
		if i/1000%2 == 1 {
			return release(i%1000, "t", t, t)
		}
		return acquire(i%1000, "t", t, t, time.Second)
	})
}

// Two workers ask for each message; the window is 100,000 operations long.
func BenchmarkDedup(b *testing.B) {
	benchmark(b, Dedup(), harness.Valid, func(i int, t time.Duration) harness.Op {
		op := on("m"+strconv.Itoa(i/2), claim(i%1000, t, t+time.Microsecond, time.Second))
		if i%2 == 1 {
			return seen(op)
		}
		return op
	})
}

func BenchmarkSequence(b *testing.B) {
	benchmark(b, Sequence(), harness.Valid, func(i int, t time.Duration) harness.Op {
		return next(i%1000, t, t+time.Microsecond, fmt.Sprintf("160818172%08d", i))
	})
}

func BenchmarkWrites(b *testing.B) {
	benchmark(b, Writes(), harness.Invalid, func(i int, t time.Duration) harness.Op {
		if i == benchOps-1 {
			return read(t, t, "0-499999,600000-999999")
		}
		return add(i%1000, i, t, t+time.Microsecond)
	})
}

func BenchmarkGates(b *testing.B) { benchmark(b, Gates(), harness.Valid, benchLock) }

func BenchmarkFence(b *testing.B) {
	benchmark(b, Fence(), harness.Valid, func(i int, t time.Duration) harness.Op {
		return token(strconv.Itoa(i+1), on("lock-"+strconv.Itoa(i%10), acquire(i%1000, "t", t, t+time.Microsecond, time.Second)))
	})
}

func BenchmarkStuck(b *testing.B) {
	benchmark(b, Stuck(), harness.Valid, func(i int, t time.Duration) harness.Op {
		if i >= benchOps-10 {
			return on("lock-"+strconv.Itoa(i%10), granted(probe(t, t)))
		}
		return benchLock(i, t)
	})
}

// Each message is claimed twice, delivered and confirmed; a thousand are asked for.
func BenchmarkDelivery(b *testing.B) {
	benchmark(b, Delivery(), harness.Valid, func(i int, t time.Duration) harness.Op {
		op, key := claim(i%1000, t, t+time.Microsecond, time.Second), "m"+strconv.Itoa(i/4)
		switch {
		case i >= benchOps-1000:
			op, key = asked(t, t, time.Second), "m"+strconv.Itoa(benchOps/4-2000+i%1000)
		case i%4 == 1:
			op = seen(op)
		case i%4 == 2:
			op = deliver(i%1000, t, t+time.Microsecond)
		case i%4 == 3:
			op = confirm(i%1000, t, t+time.Microsecond, time.Second)
		}
		return on(key, op)
	})
}

func BenchmarkStored(b *testing.B) {
	benchmark(b, Stored(), harness.Valid, func(i int, t time.Duration) harness.Op {
		if i%1000 == 999 {
			return inspect(t, t+time.Microsecond, fmt.Sprintf("160818172%08d", i), 0)
		}
		return next(i%999, t, t+time.Microsecond, fmt.Sprintf("160818172%08d", i))
	})
}

// What the explorer asks for ten thousand times a second: the verdict on one schedule.
func BenchmarkTiny(b *testing.B) {
	lock := of(acquire(0, "a", 1, 2, 100), withErr(harness.Held, fail(acquire(1, "b", 2, 3, 100))), extend(0, "a", 4, 5, 100), release(0, "a", 6, 7),
		acquire(1, "b", 8, 9, 100), withErr(harness.Held, fail(acquire(2, "c", 9, 10, 100))), release(1, "b", 11, 12), granted(probe(400, 401)))
	dedup := of(claim(0, 1, 2, 10), seen(claim(1, 2, 3, 10)), deliver(0, 3, 3), confirm(0, 4, 5, 100), seen(claim(2, 5, 6, 10)),
		seen(claim(1, 7, 8, 10)), asked(50, 51, 10), told(asked(302, 303, 10)))
	for _, v := range []struct {
		c harness.Checker
		h harness.History
	}{
		{Mutex(), lock}, {Stuck(), lock}, {Dedup(), dedup}, {Delivery(), dedup},
		{Fence(), of(token("1", acquire(0, "a", 1, 2, 10)), token("2", acquire(1, "b", 3, 4, 10)), token("3", acquire(2, "c", 5, 6, 10)))},
		{Sequence(), of(next(0, 1, 2, "23"), next(1, 1, 3, "24"), next(2, 4, 5, "25"))},
		{Stored(), of(next(0, 1, 2, "23"), inspect(3, 4, "23", 90), next(1, 5, 6, "24"), inspect(7, 8, "24", 85), next(2, 9, 10, "25"), inspect(11, 12, "25", 80))},
	} {
		b.Run(v.c.Name(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				g := v.c.Check(b.Context(), v.h, func(harness.Anomaly) {})
				if g.Verdict != harness.Valid {
					b.Fatal(g)
				}
			}
		})
	}
}
