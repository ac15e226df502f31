package explore

import (
	"slices"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness/explore/internal/model"
	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
)

// This file handles clients that are goroutines of one process. They share memory and a Redis client, and crash
// together. One of them runs at a time, from one command to the next, like a client's threads. Each operation begins
// with its own step, since what it does before its first command depends on the others. A goroutine that waits in
// memory, such as for a mutex, takes its next step when the goroutine that holds the mutex has gone on.

// goroutines returns how many clients share a process.
func (s *Spec) goroutines() int { return max(1, s.Program.Goroutines) }

// process returns the first client of a client's process.
func (ex *execution) process(client int) int { return client - client%ex.spec.goroutines() }

// members lists the clients of a client's process.
func (ex *execution) members(client int) (out []int) {
	first := ex.process(client)
	for i := first; i < min(first+ex.spec.goroutines(), len(ex.actors)); i++ {
		out = append(out, i)
	}
	return out
}

// inProcess lists the actors (clients and their threads) that run in the same process as the client.
func (ex *execution) inProcess(client int) (out []*actor) {
	for _, a := range ex.all {
		if ex.process(a.index) == ex.process(client) {
			out = append(out, a)
		}
	}
	return out
}

// sharesMemory reports whether clients share a process.
func (ex *execution) sharesMemory() bool { return ex.spec.goroutines() > 1 }

// memoryOf identifies the memory that a client's steps may read and write: see schedule.Move.Memory.
func (ex *execution) memoryOf(client int) int {
	if !ex.sharesMemory() {
		return 0
	}
	return ex.process(client) + 1
}

// hasLiveMates reports whether another client of the actor's process has not ended.
func (a *actor) hasLiveMates() bool {
	return slices.ContainsFunc(a.ex.members(a.index), func(i int) bool {
		return i != a.index && (a.ex.actors[i] == nil || !a.ex.actors[i].done)
	})
}

// dialerOf returns the dialer of a client's process.
func (ex *execution) dialerOf(client int) *dialer { return ex.w.dialers[ex.process(client)] }

// awaitBeginning lets other clients of the process act before a client's operation begins. The first client of a
// process begins its first operation at once, since it does not matter which client is first. After an operation that
// sent no command, a client always waits here, so that a grant by it lasts for at least one step. The caller holds
// world.turn.
func (a *actor) awaitBeginning() {
	if (a.hasLiveMates() || a.lastOpSentNothing) && (a.records > 0 || a.ex.process(a.index) != a.index) {
		a.wait(at(model.InWork))
	}
}

// memoryWaits lists the waits that only another goroutine of the process can end, as the runtime names them.
var memoryWaits = []string{"sync.Mutex.Lock", "sync.RWMutex.Lock", "sync.RWMutex.RLock", "sync.Cond.Wait",
	"sync.WaitGroup.Wait", "chan receive", "chan send", "select"}

// ownFrames lists functions of the explorer in which a client waits for the scheduler or its turn.
var ownFrames = []string{"explore.(*conn).", "explore.(*actor).wait", "explore.clientClock.", "explore.clientTimeline.",
	"explore.(*dialer).", "explore.(*world)."}

// memoryWait describes where a client's goroutines wait for other goroutines, such as for a mutex. It is empty if one
// of them does not wait for others. The caller holds world.turn.
func (a *actor) memoryWait() string {
	if a.goroutine == 0 {
		return ""
	}
	all, where := stacks(), ""
	waits := false
	for _, g := range all {
		if !slices.Contains(lineage(all, g.id), a.goroutine) {
			continue
		}
		if !g.waitsInMemory() {
			return ""
		}
		where += g.text
		waits = waits || g.id == a.goroutine
	}
	if !waits {
		return ""
	}
	return where
}

// waitsInMemory reports whether a goroutine waits for another one in the code under test, such as for a mutex, and not
// for the explorer.
func (g stack) waitsInMemory() bool {
	_, state, _ := strings.Cut(g.text, "[")
	state, _, _ = strings.Cut(state, "]")
	state, _, _ = strings.Cut(state, ",") // cuts off how long it has waited
	// go-redis's pool waits only for a moment
	if !slices.Contains(memoryWaits, state) || strings.Contains(g.text, "github.com/redis/go-redis/") {
		return false
	}
	for line := range strings.SplitSeq(g.text, "\n") {
		switch {
		case strings.HasPrefix(line, "goroutine "), strings.HasPrefix(line, "\t"), strings.HasPrefix(line, "sync."),
			strings.HasPrefix(line, "internal/"):
		case strings.Contains(line, "doublegrant/harness/explore."),
			strings.Contains(line, "doublegrant/harness/granttest."):
			return false // it waits for its turn, or for the record of another call
		default:
			return !slices.ContainsFunc(ownFrames, func(f string) bool { return strings.Contains(g.text, f) })
		}
	}
	return false
}

// lineage lists a goroutine's ID, then those of its ancestors, up to the first that is not in the list all.
func lineage(all []stack, id int) (ids []int) {
	for range 10 { // generations
		ids = append(ids, id)
		i := slices.IndexFunc(all, func(g stack) bool { return g.id == id })
		if i < 0 {
			break
		}
		id = all[i].parent
	}
	return ids
}

// firstLook is how long a client may run without parking before the explorer checks whether the client waits for other
// goroutines: see memoryWaits. The time to the next check doubles. If two checks in a row show the same stacks, the
// client waits: a short wait would have ended.
const firstLook = time.Millisecond

// hasWaiters reports whether a goroutine of the actor's process waited for another one (see memoryWaits) when the
// explorer last checked.
func (a *actor) hasWaiters() bool {
	return a.ex.sharesMemory() && slices.ContainsFunc(a.ex.inProcess(a.index), func(b *actor) bool {
		return b.parkedAt.Kind == model.InMemory && !b.done
	})
}

// callingActor returns the actor of a's process whose goroutine makes this call, or is an ancestor of the goroutine
// that makes it; nil: there is none.
func (a *actor) callingActor() *actor {
	own, all := goroutineID(), []stack(nil)
	mates := a.ex.inProcess(a.index)
	if !slices.ContainsFunc(mates, func(b *actor) bool { return b.goroutine == own }) {
		all = stacks()
	}
	for _, id := range lineage(all, own) {
		if i := slices.IndexFunc(mates, func(b *actor) bool { return b.goroutine == id }); i >= 0 {
			return mates[i]
		}
	}
	return nil
}

// awaitMates waits for the goroutines whose waits for other goroutines (see memoryWaits) ended in the last step, until
// each has parked. They may in turn end the waits of others.
func (ex *live) awaitMates(client int) error {
	for again := ex.sharesMemory(); again; {
		again = false
		for _, b := range ex.inProcess(client) {
			if b.done || b.parkedAt.Kind != model.InMemory {
				continue
			}
			p, ok := ex.awaitParking(b)
			if !ok {
				return ex.neverParks(b)
			}
			if p.Kind == model.InMemory {
				continue
			}
			ex.noteEvent(b, model.Event{Kind: model.Awake})
			b.parkedAt, b.done, again = p, p.Kind == model.AtEnd, true
			if p.err != nil {
				return p.err
			}
		}
	}
	return nil
}

// neverParks gives up a client that does not park in time.
func (ex *live) neverParks(a *actor) error {
	a.neverParked, ex.actors[a.index].crashed = true, true
	if ex.failure != nil {
		return ex.failure
	}
	return schedule.Stopped("%s neither sent a command nor finished within %v%s", a, parkWithin, ex.whyStuck(a))
}

// foreign returns the error for a command that the running client sent on c, a connection of a's client. It returns nil
// if both clients are in one process, or if the command was sent by a goroutine or timer that is not the running
// client's.
func (a *actor) foreign(c *conn) error {
	r := a.live.running
	if r == nil || c.ofAdapter || a.ex.process(r.index) == a.ex.process(a.index) || r.callingActor() != r {
		return nil
	}
	return schedule.Stopped("client %d's %s used client %d's connection: both share one value, or one Redis client "+
		"in it. Let the constructor make one for each client; to test goroutines that share a value, as in one "+
		"process, use granttest.Shared",
		r.index+1, c.Queue[0].Text(a.ex.w.Scripts), a.index+1)
}
