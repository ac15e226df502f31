package generators

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// MostDrift is the fraction of the elapsed time by which a generator's clock may drift from the coordinator's. It is
// above the usual errors: crystals are wrong by some 50 millionths, and NTP slews clocks by up to 500.
const MostDrift = 0.001

// ErrClock says that a generator's clock drifts by more than MostDrift allows, or was set to another time.
var ErrClock = errors.New("this clock cannot be trusted")

// Bounds converts a reading of one clock, theirs, to the earliest and the latest reading of another clock, ours, at
// that moment. It learns from exchanges. In each, their clock was read between two readings of ours: when the question
// was sent, and when the answer came. This is Cristian's method (1989), which NTP uses. Bounds keeps both ends instead
// of the middle, since a question and its answer may take different times.
//
// The bounds are right as long as the clocks drift by at most MostDrift. Exchanges that contradict each other show that
// the clocks drift by more.
type Bounds struct {
	// kept[0] and kept[1] are the best of all older exchanges: kept[0] gives the best lower bound on later times, kept[1]
	// the best upper bound. The latest exchanges follow in order.
	kept []exchange
}

// exchange is one reading of their clock, with the readings of our clock before and after it.
type exchange struct{ asked, theirs, answered time.Duration }

// mostKept bounds the number of exchanges that are kept. At ten a second they span six seconds, more than an operation
// should take.
const mostKept = 66

// Add adds an exchange. The error wraps ErrClock if the exchange contradicts earlier ones. In that case no bounds are
// certain.
func (b *Bounds) Add(asked, theirs, answered time.Duration) error {
	x := exchange{asked, theirs, answered}
	if answered < asked {
		return fmt.Errorf("%w: it was asked at %v, but answered at %v, before that", ErrClock, asked, answered)
	}
	if len(b.kept) == 0 {
		b.kept = []exchange{x, x}
	}
	if earliest, latest := b.Earliest(theirs), b.Latest(theirs); answered < earliest || asked > latest {
		off := max(earliest-answered, asked-latest)
		return fmt.Errorf("%w: it was off by %v more than a drift of at most %v ppm explains", ErrClock, off,
			int(MostDrift*1e6))
	}
	if b.kept = append(b.kept, x); len(b.kept) > mostKept {
		b.retire(b.kept[2])
		b.kept = slices.Delete(b.kept, 2, 3)
	}
	return nil
}

// retire takes x, the oldest of the latest exchanges. It keeps x in place of kept[0] or kept[1] if x gives a better
// bound on later times.
func (b *Bounds) retire(x exchange) {
	if x.asked > b.kept[0].earliest(x.theirs) {
		b.kept[0] = x
	}
	if x.answered < b.kept[1].latest(x.theirs) {
		b.kept[1] = x
	}
}

// Earliest converts a reading of their clock to the earliest reading that our clock can have shown at that moment. It
// panics if there is no exchange.
func (b *Bounds) Earliest(theirs time.Duration) time.Duration {
	earliest := b.kept[0].earliest(theirs)
	for _, x := range b.kept[1:] {
		earliest = max(earliest, x.earliest(theirs))
	}
	return earliest
}

// Latest converts a reading of their clock to the latest reading that our clock can have shown at that moment. It
// panics if there is no exchange.
func (b *Bounds) Latest(theirs time.Duration) time.Duration {
	latest := b.kept[0].latest(theirs)
	for _, x := range b.kept[1:] {
		latest = min(latest, x.latest(theirs))
	}
	return latest
}

// Ahead estimates how far our clock is ahead of theirs. The result is negative if our clock is behind. Without an
// exchange it returns 0.
func (b *Bounds) Ahead() time.Duration {
	if len(b.kept) == 0 {
		return 0
	}
	latest := b.kept[len(b.kept)-1].theirs
	return (b.Earliest(latest)+b.Latest(latest))/2 - latest
}

func (x exchange) earliest(theirs time.Duration) time.Duration {
	since := theirs - x.theirs
	return x.asked + since - drifted(since)
}

func (x exchange) latest(theirs time.Duration) time.Duration {
	since := theirs - x.theirs
	return x.answered + since + drifted(since)
}

// drifted returns by how much two clocks can have drifted apart while one of them advanced by d.
func drifted(d time.Duration) time.Duration {
	return time.Duration(float64(d.Abs())*MostDrift) + 1 // rounded up
}
