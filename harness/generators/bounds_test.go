package generators_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/generators"
)

// drifting is a clock whose rate changes at random, within a bound. It converts times on our clock to its own.
type drifting struct {
	rng          *rand.Rand
	most         float64
	ours, theirs time.Duration // both clocks at the last reading
	rate         float64       // since then
	until        time.Duration // when the rate changes
}

func (d *drifting) at(ours time.Duration) time.Duration {
	for {
		to := min(ours, d.until)
		d.theirs += time.Duration(float64(to-d.ours) * (1 + d.rate))
		d.ours = to
		if to == ours {
			return d.theirs
		}
		d.rate = (2*d.rng.Float64() - 1) * d.most
		d.until += time.Duration(d.rng.ExpFloat64() * float64(time.Second))
	}
}

// TestBoundsHold reads clocks that drift, with random transit times in both directions. No reading is ever outside of
// its bounds.
func TestBoundsHold(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		clock := &drifting{rng: rng, most: 0.99 * generators.MostDrift,
			theirs: time.Duration(rng.Int64N(int64(time.Hour))) - 30*time.Minute}
		way := func() time.Duration { return time.Duration(rng.ExpFloat64() * float64(time.Millisecond)) }
		type reading struct{ ours, theirs time.Duration }
		var readings []reading
		var b generators.Bounds
		for now := time.Second; now < 60*time.Second; now += time.Duration(rng.Int64N(int64(200 * time.Millisecond))) {
			asked := now
			now += way()
			theirs := clock.at(now)
			readings = append(readings, reading{now, theirs})
			now += way()
			require.NoError(t, b.Add(asked, theirs, now), "seed %d", seed)
			for _, r := range readings[max(0, len(readings)-5):] {
				require.LessOrEqual(t, b.Earliest(r.theirs), r.ours, "seed %d", seed)
				require.GreaterOrEqual(t, b.Latest(r.theirs), r.ours, "seed %d", seed)
			}
		}
		last := readings[len(readings)-1].theirs
		require.Less(t, b.Latest(last)-b.Earliest(last), 2*time.Millisecond, "seed %d: it knows little", seed)
		first := readings[0].theirs // long ago: its bounds are wider, but not wrong
		require.LessOrEqual(t, b.Earliest(first), readings[0].ours)
		require.GreaterOrEqual(t, b.Latest(first), readings[0].ours)
	}
}

// TestAClockThatRunsOtherwiseIsSeen sets a clock, or makes it run too fast or too slow.
func TestAClockThatRunsOtherwiseIsSeen(t *testing.T) {
	const ms = time.Millisecond
	for name, theirs := range map[string]func(now time.Duration) time.Duration{
		"fast":       func(now time.Duration) time.Duration { return now + now/100 },
		"slow":       func(now time.Duration) time.Duration { return now - now/100 },
		"jumps":      func(now time.Duration) time.Duration { return now + now/(5*time.Second)*20*ms },
		"jumps back": func(now time.Duration) time.Duration { return now - now/(5*time.Second)*20*ms },
		"stands":     func(now time.Duration) time.Duration { return min(now, 5*time.Second) },
	} {
		var b generators.Bounds
		var err error
		for now := time.Second; now < 10*time.Second && err == nil; now += 100 * ms {
			err = b.Add(now, theirs(now+ms), now+2*ms)
		}
		require.ErrorIs(t, err, generators.ErrClock, name)
	}
	var b generators.Bounds
	require.ErrorIs(t, b.Add(2, 5, 1), generators.ErrClock)
}
