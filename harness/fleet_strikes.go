package harness

import "context"

// This file tells of strikes outside checkpoints: a client may be a program of its own, which the system stops and kills.

// Strike is what a nemesis does to the processes of a client group.
type Strike uint8

// The strikes.
const (
	Freezes Strike = iota // the group is paused
	Thaws                 // it goes on
	Kills                 // it crashes
)

// OnStrike calls f with each strike at the group of the client that ctx belongs to, beginning with Freezes if the group is paused now,
// until stop is called or the load ends. f must neither wait nor use the Fleet. Without a Fleet f is never called.
func OnStrike(ctx context.Context, f func(Strike)) (stop func()) {
	p, ok := ctx.Value(fleetMemberKey{}).(*fleetMember)
	if !ok {
		return func() {}
	}
	p.fleet.mu.Lock()
	defer p.fleet.mu.Unlock()
	g := p.group
	g.watchers = append(g.watchers, &f)
	if g.pauses > 0 {
		f(Freezes)
	}
	return p.fleet.undoOnce(func() { g.forget(&f) })
}

// Struck returns a channel that is closed when the group of the client that ctx belongs to is struck next. Whoever waits for something
// that a strike holds up comes to a Checkpoint then. It is nil without a Fleet.
func Struck(ctx context.Context) <-chan struct{} {
	p, ok := ctx.Value(fleetMemberKey{}).(*fleetMember)
	if !ok {
		return nil
	}
	p.fleet.mu.Lock()
	defer p.fleet.mu.Unlock()
	return p.group.wake
}

// tell calls the group's watchers. The caller holds the fleet's lock.
func (g *fleetGroup) tell(s Strike) {
	for _, f := range g.watchers {
		(*f)(s)
	}
}

// forget takes a watcher out. The caller holds the fleet's lock.
func (g *fleetGroup) forget(f *func(Strike)) {
	for i, w := range g.watchers {
		if w == f {
			g.watchers = append(g.watchers[:i:i], g.watchers[i+1:]...)
			return
		}
	}
}
