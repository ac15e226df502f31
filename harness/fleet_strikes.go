package harness

import (
	"context"
	"slices"
)

// This file reports strikes outside checkpoints. A client may be a separate program, which has to be stopped and
// killed.

// Strike is what a nemesis does to the processes of a client group.
type Strike uint8

// The strikes.
const (
	Freezes Strike = iota // the group is paused
	Thaws                 // the group goes on
	Kills                 // the group's clients crash
)

// OnStrike calls f with each strike that hits the client group of ctx's client, until stop is called or the load ends.
// If the group is paused now, the first call is for Freezes. f must neither wait nor use the Fleet. Without a Fleet f
// is never called.
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
	return p.fleet.undoOnce(func() { g.removeWatcher(&f) })
}

// Struck returns a channel that is closed when the next strike hits the client group of ctx's client. Code that waits
// for something else should wait for this channel as well, and call Checkpoint when it is closed. The channel is nil
// without a Fleet.
func Struck(ctx context.Context) <-chan struct{} {
	p, ok := ctx.Value(fleetMemberKey{}).(*fleetMember)
	if !ok {
		return nil
	}
	p.fleet.mu.Lock()
	defer p.fleet.mu.Unlock()
	return p.group.wake
}

// notify calls the group's watchers. The caller holds the fleet's lock.
func (g *fleetGroup) notify(s Strike) {
	for _, f := range g.watchers {
		(*f)(s)
	}
}

// removeWatcher removes a watcher. The caller holds the fleet's lock.
func (g *fleetGroup) removeWatcher(f *func(Strike)) {
	g.watchers = slices.DeleteFunc(slices.Clone(g.watchers), func(w *func(Strike)) bool { return w == f })
}
