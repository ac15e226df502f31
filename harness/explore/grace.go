package explore

import "time"

// This file tells a client that does not go on from a machine, a process or a Redis that stands still.

// standstills counts how often this process stood still, or its Redis did not answer. The caller has the turn.
func (w *world) standstills() int {
	_, n := w.awake.Read()
	return n + w.Silence.Times()
}

// stoodStill reports whether something stood still since the schedule began.
func (ex *execution) stoodStill() bool { return ex.w.standstills() > ex.stillBefore }

// grace is the time that a client has to go on: parkWithin in which the process was awake, and nothing stood still.
type grace struct {
	w     *world
	until time.Duration // on the world's clock
	still int           // standstills before
	times int           // it was given
}

// mostGraces bounds how often a client has the time again.
const mostGraces = 20

// newGrace returns the time that a client has from now on. The caller has the turn.
func (w *world) newGrace() grace {
	g := grace{w: w}
	g.renew()
	return g
}

func (g *grace) renew() {
	awake, n := g.w.awake.Read()
	g.until, g.still = awake+parkWithin, n+g.w.Silence.Times()
	g.times++
}

// left returns what is left of the time. It is not positive if none is.
func (g *grace) left() time.Duration {
	awake, _ := g.w.awake.Read()
	return g.until - awake
}

// isOver reports whether the time is over. Before it says so it asks Redis, for which the client may wait. If something
// stood still, the client has the time again. An error says that Redis does not answer. The caller has the turn.
func (g *grace) isOver() (bool, error) {
	if g.left() > 0 {
		return false, nil
	}
	if _, err := g.w.Ask(g.w.Primary, "PING"); err != nil {
		return false, err
	}
	if g.w.standstills() == g.still || g.times == mostGraces {
		return true, nil
	}
	g.renew()
	return false, nil
}
