package harness

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// Fleet lets nemeses strike the clients of a run. Each client group stands for one process of an application on its own
// machine. It can be paused, crash, or have a wrong clock. Give one Fleet to Spec.Fleet and to the nemeses that act on
// it. The zero value is ready for use, by one run at a time. When the load of a run ends, pauses and skews that are
// still in force are undone.
//
// Clients are struck at checkpoints: before and after each command that they send (see [Checkpoint]) and around each
// operation. So a pause can fall into the time in which an answer is on its way, and a crash between two commands.
type Fleet struct {
	mu     sync.Mutex
	groups map[int]*fleetGroup
	epoch  int  // number of starts and ends of loads so far, by which undoOnce notices that its load has ended
	inUse  bool // whether a run uses the fleet
}

// fleetGroup is one client group. The fleet's lock protects the fields that are not atomic.
type fleetGroup struct {
	pauses   int           // number of pauses in force
	wake     chan struct{} // closed and replaced when clients that wait at a checkpoint have to check their state
	crashes  int
	members  []*fleetMember
	watchers []*func(Strike)
	paused   atomic.Bool  // whether a pause is in force
	ahead    atomic.Int64 // nanoseconds by which the clocks of its clients are ahead
}

// fleetMember is one client as a fleet sees it. The client that replaces a crashed one is a new member, so that later
// commands of the crashed client still fail.
type fleetMember struct {
	fleet           *Fleet
	group           *fleetGroup
	struck          atomic.Bool // whether the client is about to die, or has died
	checkpointsLeft int         // number of checkpoints until the client dies; 0: no death is planned
	dead            bool
	standing        int // number of the client's goroutines that wait at a checkpoint

	abandoned <-chan struct{} // closed when the run gives up waiting for the client's operations
}

// ErrCrashed is the error of a command whose client crashed before it sent the command or read the answer.
var ErrCrashed = errors.New("the client has crashed")

// crash is the panic by which a crashed client leaves its Step.
type crash struct{}

// begin reserves the fleet for a run. It returns an error if another run uses it.
func (f *Fleet) begin() error {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.inUse {
		return fmt.Errorf("harness: %w: the Fleet is in use by another run: give each run its own", ErrSpec)
	}
	f.inUse = true
	f.epoch++
	for _, g := range f.groups {
		g.crashes = 0
	}
	return nil
}

// end makes the fleet available to another run.
func (f *Fleet) end() {
	if f == nil {
		return
	}
	f.release()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.inUse = false
}

// release undoes what is still in force when the load ends, so that no client stays paused for ever.
func (f *Fleet) release() {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.epoch++
	for _, g := range f.groups {
		g.members = nil
		g.ahead.Store(0)
		g.setPauses(0)
		g.watchers = nil
	}
}

// group returns the client group with the number g. The first call for g makes it. The caller holds f.mu.
func (f *Fleet) group(g int) *fleetGroup {
	if f.groups == nil {
		f.groups = map[int]*fleetGroup{}
	}
	if f.groups[g] == nil {
		f.groups[g] = &fleetGroup{wake: make(chan struct{})}
	}
	return f.groups[g]
}

// setPauses changes the number of pauses in force. The caller holds the fleet's lock.
func (g *fleetGroup) setPauses(n int) {
	switch {
	case g.pauses == 0 && n > 0:
		g.notify(Freezes)
	case g.pauses > 0 && n == 0:
		g.notify(Thaws)
	}
	g.pauses = n
	g.paused.Store(n > 0)
	g.wakeAll()
}

// wakeAll makes every client that stands at a checkpoint check its state. The caller holds the fleet's lock.
func (g *fleetGroup) wakeAll() {
	close(g.wake)
	g.wake = make(chan struct{})
}

// enlist adds a worker's first client to the group with the given number. It returns nil for a nil Fleet.
func (f *Fleet) enlist(group int) *fleetMember {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	g := f.group(group)
	p := &fleetMember{fleet: f, group: g}
	g.members = append(g.members, p)
	return p
}

// replaceDead puts a new member in the place of a crashed one.
func (f *Fleet) replaceDead(old *fleetMember) *fleetMember {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := &fleetMember{fleet: f, group: old.group}
	for i := range old.group.members {
		if old.group.members[i] == old {
			old.group.members[i] = p
		}
	}
	return p
}

// Pause stops every client of the group at its next checkpoint until resume is called, as a long garbage collection or
// a suspended machine does. The function resume may be called more than once. A group that is paused twice stands until
// both pauses have ended.
func (f *Fleet) Pause(group int) (resume func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	g := f.group(group)
	g.setPauses(g.pauses + 1)
	return f.undoOnce(func() { g.setPauses(g.pauses - 1) })
}

// undoOnce returns a function that locks f.mu and calls undo. Only the first call of this function has an effect, and
// only if the load has not ended. The caller of undoOnce itself holds f.mu.
func (f *Fleet) undoOnce(undo func()) func() {
	epoch := f.epoch
	return sync.OnceFunc(func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.epoch == epoch {
			undo()
		}
	})
}

// Clients returns the number of clients of the group. It is 0 before the run has opened them, and after the run's load.
func (f *Fleet) Clients(group int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.group(group).members)
}

// AtCheckpoint returns how many of the group's clients a fault holds at a [Checkpoint] now.
func (f *Fleet) AtCheckpoint(group int) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.group(group).members {
		if p.standing > 0 {
			n++
		}
	}
	return n
}

// Skew puts the clocks of the group's clients forward by the given time, or back if it is negative, until heal is
// called. The function heal may be called more than once. Skews add up. Only clocks that are read with [Now] are wrong.
func (f *Fleet) Skew(group int, ahead time.Duration) (heal func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	g := f.group(group)
	g.ahead.Add(int64(ahead))
	return f.undoOnce(func() { g.ahead.Add(-int64(ahead)) })
}

// Ahead returns how far the clocks of the group's clients are ahead now. It is negative if they are behind.
func (f *Fleet) Ahead(group int) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return time.Duration(f.group(group).ahead.Load())
}

// Crash makes every client of the group die at one of its next few checkpoints, which is drawn from rng. A client that
// stands at a checkpoint dies there. The worker of a dead client goes on with a new one, like a process that is started
// again.
func (f *Fleet) Crash(group int, rng *rand.Rand) {
	f.mu.Lock()
	defer f.mu.Unlock()
	g := f.group(group)
	g.notify(Kills)
	for _, p := range g.members {
		steps := 1 + rng.IntN(crashWithin)
		switch {
		case p.dead: // its worker is about to replace it
		case p.standing > 0:
			p.die()
		default:
			p.checkpointsLeft = steps
			p.struck.Store(true)
		}
	}
	g.wakeAll()
}

// crashWithin is the number of checkpoints within which a crash happens: about as many as a client passes from one
// operation to the next.
const crashWithin = 6

// Crashes returns the number of the group's clients that have died so far in this run.
func (f *Fleet) Crashes(group int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.group(group).crashes
}

// die marks the client as dead. The caller holds the fleet's lock.
func (p *fleetMember) die() {
	p.dead, p.checkpointsLeft = true, 0
	p.struck.Store(true)
	p.group.crashes++
}

type fleetMemberKey struct{}

// bindContext returns a context that gives access to the member's checkpoints and clock. When ctx ends, checkpoints
// stop waiting. It is called once, before the client comes to a checkpoint.
func (p *fleetMember) bindContext(ctx context.Context) context.Context {
	if p == nil {
		return ctx
	}
	p.abandoned = ctx.Done()
	return WithTime(context.WithValue(ctx, fleetMemberKey{}, p), p)
}

// Checkpoint lets a nemesis strike the client that ctx belongs to. Workloads call it before each command that they send
// and after each answer. Commands that are sent concurrently may call it concurrently.
//
// It blocks while the client is paused, even after ctx has ended. In that case the next command fails. It returns
// ErrCrashed when the client has crashed: the workload must not send anything after that. Without a Fleet it does
// nothing.
func Checkpoint(ctx context.Context) error {
	p, ok := ctx.Value(fleetMemberKey{}).(*fleetMember)
	if !ok {
		return nil
	}
	return p.checkpoint(p.abandoned)
}

func (p *fleetMember) checkpoint(abandoned <-chan struct{}) error {
	if !p.struck.Load() && !p.group.paused.Load() {
		return nil
	}
	p.fleet.mu.Lock()
	defer p.fleet.mu.Unlock()
	p.standWhilePaused(abandoned)
	if p.checkpointsLeft == 1 {
		p.die()
	}
	if p.dead {
		return ErrCrashed
	}
	p.checkpointsLeft = max(0, p.checkpointsLeft-1)
	return nil
}

// standWhilePaused waits while the group is paused and the client is alive. The caller holds the fleet's lock.
func (p *fleetMember) standWhilePaused(abandoned <-chan struct{}) {
	p.standing++
	defer func() { p.standing-- }()
	for p.group.pauses > 0 && !p.dead {
		if !p.waitUnlocked(p.group.wake, abandoned) {
			return
		}
	}
}

// waitUnlocked releases the fleet's lock and waits until the channel wake or the channel abandoned is closed. It
// reports whether wake was closed.
func (p *fleetMember) waitUnlocked(wake, abandoned <-chan struct{}) (awake bool) {
	p.fleet.mu.Unlock()
	defer p.fleet.mu.Lock()
	select {
	case <-wake:
		return true
	case <-abandoned:
		return false
	}
}

// checkpointOrCrash is where client faults act between two commands. If the client has crashed, it panics, which ends
// the client's Step.
func (p *fleetMember) checkpointOrCrash() {
	if p == nil {
		return
	}
	if p.checkpoint(nil) != nil {
		panic(crash{})
	}
}

// Now returns the time on the client's own clock.
func (p *fleetMember) Now() time.Time { return time.Now().Add(time.Duration(p.group.ahead.Load())) }

// Sleep waits for d, and longer while the client is paused.
func (p *fleetMember) Sleep(ctx context.Context, d time.Duration) error {
	if err := sleep(ctx, d); err != nil {
		return err
	}
	return p.checkpoint(p.abandoned)
}
