package explore

import (
	"time"
)

// This file distinguishes a client that does not go on from a machine, a process or a Redis that stands still.

// standstills counts how often this process stood still or Redis did not answer in time. The caller holds world.turn.
func (w *world) standstills() int {
	_, n := w.awake.Read()
	return n + w.Silence.Count()
}

// stoodStill reports whether this process stood still, or its Redis did not answer in time, since the schedule began.
func (ex *execution) stoodStill() bool { return ex.w.standstills() > ex.stillBefore }

// grace limits how long a client may take to reach its next command: parkWithin, while this process is awake. If this
// process or Redis stood still meanwhile, the client gets the whole time again.
type grace struct {
	w           *world
	until       time.Duration // when the client's time is over, on the world's clock
	standstills int           // number of standstills when the time began
	given       int           // how often the time has begun
}

// mostGraces bounds how often a client's time begins again.
const mostGraces = 20

// newGrace starts the time in which a client has to reach its next command. The caller holds world.turn.
func (w *world) newGrace() grace {
	g := grace{w: w}
	g.renew()
	return g
}

func (g *grace) renew() {
	awake, n := g.w.awake.Read()
	g.until, g.standstills = awake+parkWithin, n+g.w.Silence.Count()
	g.given++
}

// remaining returns the rest of the time, 0 or less if it is over.
func (g *grace) remaining() time.Duration {
	awake, _ := g.w.awake.Read()
	return g.until - awake
}

// checkOver reports whether the time is over. Before it returns true it pings Redis, since the client may wait for
// Redis. If something stood still, the client gets the time again. An error says that Redis does not answer. The caller
// holds world.turn.
func (g *grace) checkOver() (bool, error) {
	if g.remaining() > 0 {
		return false, nil
	}
	if _, err := g.w.Ask(g.w.Primary, "PING"); err != nil {
		return false, err
	}
	if g.w.standstills() == g.standstills || g.given == mostGraces {
		return true, nil
	}
	g.renew()
	return false, nil
}
