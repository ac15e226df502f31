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

// Fleet lets nemeses strike the clients of a run. Each client group stands for one process of an application on a
// machine of its own, which can be paused, crash, or have a clock that is wrong. Give one Fleet to Spec.Fleet and to the
// nemeses that act on it. The zero value is ready for use; one run at a time can use it. When the load of a run ends, pauses and
// skews that are still in force are undone.
//
// Clients are struck at checkpoints: before and after each command that they send (see [Checkpoint]) and around each
// operation. So a pause can fall into the time in which an answer is under way, and a crash between two commands.
type Fleet struct {
	mu     sync.Mutex
	groups map[int]*fleetGroup
	runs   int  // counts loads begun and ended: what was done to one run's clients is not undone in the next
	inUse  bool // a run uses the fleet
}

// fleetGroup is one client group. The fleet's lock protects the fields that are not atomic.
type fleetGroup struct {
	pauses   int           // pauses in force
	wake     chan struct{} // closed, and replaced, when clients that stand at a checkpoint are to look again
	crashes  int
	procs    []*fleetMember
	watchers []*func(Strike)
	paused   atomic.Bool  // pauses > 0
	ahead    atomic.Int64 // nanoseconds by which its clock is fast
}

// fleetMember is one client as a fleet sees it. Its successor is another process: what a dead one has left behind, such as commands
// sent side by side, stays dead.
type fleetMember struct {
	fleet           *Fleet
	group           *fleetGroup
	struck          atomic.Bool // it is about to die, or has died
	checkpointsLeft int         // checkpoints until it dies; 0: it lives on
	dead            bool
	standing        int // number of its goroutines that stand at a checkpoint

	abandoned <-chan struct{} // closed when nobody waits for it any more
}

// ErrCrashed is the error of a command whose client crashed before it sent the command or read the answer.
var ErrCrashed = errors.New("the client has crashed")

// crash is the panic by which a crashed client leaves its Step.
type crash struct{}

// begin takes the fleet for a run. It returns an error if another run uses it.
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
	f.runs++
	for _, g := range f.groups {
		g.crashes = 0
	}
	return nil
}

// end makes the fleet free for another run.
func (f *Fleet) end() {
	if f == nil {
		return
	}
	f.release()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.inUse = false
}

// release undoes what is still in force when the load ends, so that no client stands for ever.
func (f *Fleet) release() {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.runs++
	for _, g := range f.groups {
		g.procs = nil
		g.ahead.Store(0)
		g.setPauses(0)
		g.watchers = nil
	}
}

func (f *Fleet) group(g int) *fleetGroup { // the caller holds f.mu
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
		g.tell(Freezes)
	case g.pauses > 0 && n == 0:
		g.tell(Thaws)
	}
	g.pauses = n
	g.paused.Store(n > 0)
	g.wakeAll()
}

// wakeAll lets every client that stands at a checkpoint look again. The caller holds the fleet's lock.
func (g *fleetGroup) wakeAll() {
	close(g.wake)
	g.wake = make(chan struct{})
}

// enlist adds a worker's first client to its group. A nil Fleet enlists nobody.
func (f *Fleet) enlist(group int) *fleetMember {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	g := f.group(group)
	p := &fleetMember{fleet: f, group: g}
	g.procs = append(g.procs, p)
	return p
}

// replaceDead puts a new process in the place of one that has died.
func (f *Fleet) replaceDead(old *fleetMember) *fleetMember {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := &fleetMember{fleet: f, group: old.group}
	for i := range old.group.procs {
		if old.group.procs[i] == old {
			old.group.procs[i] = p
		}
	}
	return p
}

// Pause stops every client of the group at its next checkpoint, as a long garbage collection or a suspended machine
// does, until resume, which may be called more than once. A group that is paused twice stands until both have ended.
func (f *Fleet) Pause(group int) (resume func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	g := f.group(group)
	g.setPauses(g.pauses + 1)
	return f.undoOnce(func() { g.setPauses(g.pauses - 1) })
}

// undoOnce returns a function that does do once, if this run's load still goes on, with f.mu held. The caller of undo holds f.mu.
func (f *Fleet) undoOnce(do func()) func() {
	run := f.runs
	return sync.OnceFunc(func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.runs == run {
			do()
		}
	})
}

// Clients returns how many clients the group has; 0 before the run has opened them, and after its load.
func (f *Fleet) Clients(group int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.group(group).procs)
}

// Standing returns how many clients of a paused group stand at a checkpoint now.
func (f *Fleet) Standing(group int) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.group(group).procs {
		if p.standing > 0 {
			n++
		}
	}
	return n
}

// Skew sets the clocks of the group's clients fast by ahead, or slow where it is negative, until heal, which may be called
// more than once. It adds to other skews in force. Only clocks read with [Now] are wrong.
func (f *Fleet) Skew(group int, ahead time.Duration) (heal func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	g := f.group(group)
	g.ahead.Add(int64(ahead))
	return f.undoOnce(func() { g.ahead.Add(-int64(ahead)) })
}

// Ahead returns by how much the clocks of the group's clients are fast now; negative if they are slow.
func (f *Fleet) Ahead(group int) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return time.Duration(f.group(group).ahead.Load())
}

// Crash lets every client of the group die at one of its next few checkpoints, each drawn from rng. A client that stands at a
// checkpoint dies there. A client that has died is never heard of again; its worker goes on with a new one, like a process
// that is started again.
func (f *Fleet) Crash(group int, rng *rand.Rand) {
	f.mu.Lock()
	defer f.mu.Unlock()
	g := f.group(group)
	g.tell(Kills)
	for _, p := range g.procs {
		steps := 1 + rng.IntN(nextFew)
		switch {
		case p.dead: // its successor is on the way
		case p.standing > 0:
			p.die()
		default:
			p.checkpointsLeft = steps
			p.struck.Store(true)
		}
	}
	g.wakeAll()
}

// nextFew is about the number of checkpoints between two of a client's operations.
const nextFew = 6

// Crashes returns how many clients of the group have died so far in this run.
func (f *Fleet) Crashes(group int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.group(group).crashes
}

// die ends the process. The caller holds the fleet's lock.
func (p *fleetMember) die() {
	p.dead, p.checkpointsLeft = true, 0
	p.struck.Store(true)
	p.group.crashes++
}

type fleetMemberKey struct{}

// bindContext returns a context whose checkpoints and clock are the process's. When ctx ends, checkpoints stop waiting. It is called
// once, before the client comes to a checkpoint.
func (p *fleetMember) bindContext(ctx context.Context) context.Context {
	if p == nil {
		return ctx
	}
	p.abandoned = ctx.Done()
	return WithTime(context.WithValue(ctx, fleetMemberKey{}, p), p)
}

// Checkpoint lets a nemesis strike the client that ctx belongs to. Workloads call it before each command that they send and
// after each answer; commands sent side by side may call it side by side. It blocks while the client is paused, even beyond the
// end of ctx; the next command then fails. It returns ErrCrashed when the client has crashed: the workload must not send
// anything any more. Without a Fleet it does nothing.
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

// standWhilePaused waits for as long as the group is paused and the process lives. The caller holds the fleet's lock.
func (p *fleetMember) standWhilePaused(abandoned <-chan struct{}) {
	p.standing++
	defer func() { p.standing-- }()
	for p.group.pauses > 0 && !p.dead {
		if !p.await(p.group.wake, abandoned) {
			return
		}
	}
}

// await lets go of the fleet's lock until wake or abandoned is closed, and reports which it was not.
func (p *fleetMember) await(wake, abandoned <-chan struct{}) (awake bool) {
	p.fleet.mu.Unlock()
	defer p.fleet.mu.Lock()
	select {
	case <-wake:
		return true
	case <-abandoned:
		return false
	}
}

// checkpointOrCrash comes to a checkpoint outside of any command. A client that has crashed leaves its Step there.
func (p *fleetMember) checkpointOrCrash() {
	if p == nil {
		return
	}
	if p.checkpoint(nil) != nil {
		panic(crash{})
	}
}

// Now returns the time on the process's own clock.
func (p *fleetMember) Now() time.Time { return time.Now().Add(time.Duration(p.group.ahead.Load())) }

// Sleep waits for d, and beyond it while the process is paused.
func (p *fleetMember) Sleep(ctx context.Context, d time.Duration) error {
	if err := sleep(ctx, d); err != nil {
		return err
	}
	return p.checkpoint(p.abandoned)
}
