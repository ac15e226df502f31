package generators

import (
	"errors"
	"fmt"
	"time"
)

// MostDrift bounds by how much, of each second, a generator's clock may gain or lose on the coordinator's. Crystals are
// wrong by some 50 millionths, and NTP slews clocks by up to 500.
const MostDrift = 0.001

// ErrClock says that a generator's clock does not run as it is taken to.
var ErrClock = errors.New("the clock cannot be trusted")

// Bounds tells where the readings of one clock, theirs, lie on another, ours. It knows by exchanges: theirs was read
// after ours read asked, and before ours read answered. This is Cristian's way (1989), as NTP has it, and keeps both
// ends in place of their middle: the way there and the way back may take differently long.
//
// Between exchanges it takes the clocks to drift by at most MostDrift. What it says holds as long as they do; an
// exchange that contradicts those before shows that they do not.
type Bounds struct {
	recent []exchange // the latest, in order
	// of older ones the two that say most of all that came after them: the latest Return, and the earliest
	best []exchange
}

// exchange is one reading of their clock, and the readings of ours around it.
type exchange struct{ asked, theirs, answered time.Duration }

// mostRecent is how many exchanges are kept as they are. At ten a second they span more time than an operation takes.
const mostRecent = 64

// Add adds an exchange. The error wraps ErrClock if it contradicts those before: then nothing that Bounds says is
// certain.
func (b *Bounds) Add(asked, theirs, answered time.Duration) error {
	x := exchange{asked, theirs, answered}
	if answered < asked {
		return fmt.Errorf("%w: it was asked at %v and had answered at %v", ErrClock, asked, answered)
	}
	if b.known() {
		if earliest, latest := b.Earliest(theirs), b.Latest(theirs); answered < earliest || asked > latest {
			off := max(earliest-answered, asked-latest)
			return fmt.Errorf("%w: it was %v away from where it could be with a drift of %v ppm at most", ErrClock, off,
				int(MostDrift*1e6))
		}
	}
	if b.recent = append(b.recent, x); len(b.recent) > mostRecent {
		b.age(b.recent[0])
		b.recent = append(b.recent[:0], b.recent[1:]...)
	}
	return nil
}

// age keeps of an exchange what says more of later times than those that are kept.
func (b *Bounds) age(x exchange) {
	if b.best == nil {
		b.best = []exchange{x, x}
		return
	}
	if x.asked > b.best[0].earliest(x.theirs) {
		b.best[0] = x
	}
	if x.answered < b.best[1].latest(x.theirs) {
		b.best[1] = x
	}
}

// known reports whether there was an exchange.
func (b *Bounds) known() bool { return len(b.recent) > 0 }

// Earliest returns the reading of our clock that theirs cannot lie before. There has to be an exchange.
func (b *Bounds) Earliest(theirs time.Duration) time.Duration {
	earliest := b.recent[0].earliest(theirs)
	for _, x := range b.recent[1:] {
		earliest = max(earliest, x.earliest(theirs))
	}
	for _, x := range b.best {
		earliest = max(earliest, x.earliest(theirs))
	}
	return earliest
}

// Latest returns the reading of our clock that theirs cannot lie after. There has to be an exchange.
func (b *Bounds) Latest(theirs time.Duration) time.Duration {
	latest := b.recent[0].latest(theirs)
	for _, x := range b.recent[1:] {
		latest = min(latest, x.latest(theirs))
	}
	for _, x := range b.best {
		latest = min(latest, x.latest(theirs))
	}
	return latest
}

// Ahead returns by about how much our clock is ahead of theirs; 0 without an exchange.
func (b *Bounds) Ahead() time.Duration {
	if !b.known() {
		return 0
	}
	latest := b.recent[len(b.recent)-1].theirs
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

// drifted returns by how much two clocks can have drifted apart in so much time on one of them.
func drifted(d time.Duration) time.Duration {
	if d < 0 {
		d = -d
	}
	return time.Duration(float64(d)*MostDrift) + 1 // rounded up
}
