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

// stream makes operations one by one, 10 microseconds apart.
type stream = func(i int, t time.Duration) harness.Op

// benchLock makes operations of 1000 workers on ten locks. Every other acquire is refused.
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

var benchmarks = []struct {
	name string
	c    harness.Checker
	want harness.Verdict
	at   stream
}{
	{"Mutex", Mutex(), harness.Valid, benchLock},
	// A lock that refuses nobody: up to 100 holds are open on one key, and each acquire overlaps all of them.
	{"MutexBroken", Mutex(), harness.Invalid, func(i int, t time.Duration) harness.Op {
		if i%1000 >= 100 {
			return claim(i%1000, t, t, 1)
		}
		if i/1000%2 == 1 {
			return release(i%1000, "t", t, t)
		}
		return acquire(i%1000, "t", t, t, time.Second)
	}},
	// Two workers ask for each message; the window is 100,000 operations long.
	{"Dedup", Dedup(), harness.Valid, func(i int, t time.Duration) harness.Op {
		op := on("m"+strconv.Itoa(i/2), claim(i%1000, t, t+time.Microsecond, time.Second))
		if i%2 == 1 {
			return seen(op)
		}
		return op
	}},
	{"Sequence", Sequence(), harness.Valid, func(i int, t time.Duration) harness.Op {
		return next(i%1000, t, t+time.Microsecond, fmt.Sprintf("160818172%08d", i))
	}},
	{"Writes", Writes(), harness.Invalid, func(i int, t time.Duration) harness.Op {
		if i == benchOps-1 {
			return read(t, t, "0-499999,600000-999999")
		}
		return add(i%1000, i, t, t+time.Microsecond)
	}},
	{"Gates", Gates(), harness.Valid, benchLock},
	{"Fence", Fence(), harness.Valid, func(i int, t time.Duration) harness.Op {
		return token(strconv.Itoa(i+1), on("lock-"+strconv.Itoa(i%10),
			acquire(i%1000, "t", t, t+time.Microsecond, time.Second)))
	}},
	{"Stuck", Stuck(), harness.Valid, func(i int, t time.Duration) harness.Op {
		if i >= benchOps-10 {
			return on("lock-"+strconv.Itoa(i%10), granted(probe(t, t)))
		}
		return benchLock(i, t)
	}},
	// Each message is claimed twice, delivered and confirmed; a thousand are asked for.
	{"Delivery", Delivery(), harness.Valid, func(i int, t time.Duration) harness.Op {
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
	}},
	{"Stored", Stored(), harness.Valid, func(i int, t time.Duration) harness.Op {
		if i%1000 == 999 {
			return inspect(t, t+time.Microsecond, fmt.Sprintf("160818172%08d", i), 0)
		}
		return next(i%999, t, t+time.Microsecond, fmt.Sprintf("160818172%08d", i))
	}},
	// All that is kept is used up: 100 keys of 500 operations.
	{"SecondOpinionOfLocks", unhurried(opinion{}), harness.Valid,
		func(i int, t time.Duration) harness.Op {
			key, token, ret := strconv.Itoa(i/500), strconv.Itoa(i/2), t+2*time.Microsecond
			if i%2 == 1 {
				return on(key, release(i/2%3, token, t, ret))
			}
			return on(key, acquire(i/2%3, token, t, ret, 3*time.Microsecond))
		}},
	{"SecondOpinionOfNumbers", unhurried(opinion{}), harness.Valid,
		func(i int, t time.Duration) harness.Op {
			return on(strconv.Itoa(i/500), next(i%3, t, t+15*time.Microsecond, strconv.Itoa(i)))
		}},
}

// BenchmarkCheckers measures each checker on benchOps operations.
func BenchmarkCheckers(b *testing.B) {
	for _, v := range benchmarks {
		b.Run(v.name, func(b *testing.B) {
			ops := make([]harness.Op, benchOps)
			for i := range ops {
				ops[i] = v.at(i, time.Duration(i)*10*time.Microsecond)
			}
			h := of()
			h.Meta = harness.Meta{Workers: 1000, Clients: 1000, Groups: 2, Drift: 0.01,
				Kinds: []harness.Kind{ops[0].Kind}}
			h.Ops = harness.OpsOf(ops)
			b.ReportAllocs()
			for b.Loop() {
				g := v.c.Check(b.Context(), h, func(harness.Anomaly) {})
				require.Equal(b, v.want, g.Verdict, g.Reason)
			}
			b.ReportMetric(float64(benchOps)*float64(b.N)/b.Elapsed().Seconds(), "ops/s")
		})
	}
}
