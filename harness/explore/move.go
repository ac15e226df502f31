package explore

import (
	"slices"

	"github.com/doublegrant/doublegrant/harness/explore/internal/command"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// move is a choice that can happen next, or has happened, with what it touches.
type move struct {
	choice     interleave.Choice
	cost       int // preemptions and interferences that it adds
	access     command.Access
	world      bool // it is done by the world and independent of nothing, unless it approaches
	timePasses bool // time passes in it
	approaches bool // time passes to the last millisecond of a lease, and beyond the end of none
	timely     bool // its effect or reply depends on the time of day
	begins     bool // an operation of a client begins with it
	ends       bool // an operation may end with it; of a move that has happened: did end
	silent     bool // Redis is sent nothing in it
	observes   bool // the program looks at the store if an operation ends with it
}

// nextMove returns the step that a parked client would take.
func (ex *execution) nextMove(c interleave.Choice, a *actor) move {
	m := move{choice: c, begins: !a.inOp, ends: true, observes: ex.spec.Program.Observe != nil, timePasses: a.wakeAt > ex.now}
	if a.sends != nil {
		m.begins, m.ends, m.access = false, false, a.sends.queue[0].Access
		return m
	}
	if a.waits() {
		m.silent = true
		m.timePasses = ex.readiness(a) == byTime
		return m
	}
	switch a.parkedAt.kind {
	case inCommand:
		if c.Kind() == interleave.Runs || c.Kind() == interleave.LosesAnswers {
			first := a.parkedAt.conn.queue[0]
			m.access, m.timely = ex.withWoken(first.Access), first.Timely()
			m.timePasses = m.timePasses || first.WaitTimeout() > 0 && first.WantedAcks() > ex.hearingReplicas()
		}
	case inClock:
		m.access.Writes, m.timely = append(m.access.Writes, clockKey), true // a later look sees a later time, so the order of looks matters
	}
	return m
}

// clockKey stands for the time that clients see. No client's key has this name.
const clockKey = "\x00clock"

// moves lists what can happen next: the steps of clients, beginning with the thread that took the last step, then everything
// else. It is empty when nobody can take a step and no late command is left.
func (ex *execution) moves() ([]move, error) {
	able := ex.ableActors()
	if len(able) == 0 {
		return ex.addArrivals(nil), nil
	}
	current := ex.last != nil && slices.Contains(able, ex.last) && ex.readiness(ex.last) == ready
	if current {
		able = slices.Insert(slices.DeleteFunc(able, func(a *actor) bool { return a == ex.last }), 0, ex.last)
		if ex.last.parkedAt.kind == inWork && !ex.last.hasThreads() { // nobody else can tell when it does that
			return ex.addCrash([]move{ex.stepOf(ex.last)}), nil
		}
	}
	var out []move
	scripts := false
	untouched := true // no client before has yet to take its first step
	for _, a := range able {
		scripts = scripts || a.sends == nil && a.parkedAt.kind == inCommand && a.parkedAt.conn.queue[0].Scripts
		if !a.started {
			if ex.symmetric() && !untouched {
				continue
			}
			untouched = false
		}
		m := ex.stepOf(a)
		if current && a != ex.last {
			m.cost = 1
		}
		if ex.readiness(a) == byTime && ex.wakesEarly(a) {
			m.cost++
		}
		out = append(out, m)
	}
	out = ex.addArrivals(ex.addUnanswered(out))
	return ex.addInterferences(ex.addCrash(out), scripts)
}

// stepOf returns the step that an actor can take.
func (ex *execution) stepOf(a *actor) move {
	return ex.nextMove(interleave.Run(a.index).Of(a.thread), a)
}

// symmetric reports whether clients that have not begun may stand for each other. If not, the search runs every order in
// which they can begin.
func (ex *execution) symmetric() bool {
	return ex.spec.Program.Symmetric && ex.spec.Skew == 0 && !ex.spec.Unreduced
}

// addUnanswered adds, for each client that can send a command, the moves in which it gets no answer. Whether a command that
// changes nothing is executed makes no difference, so it comes late only if the budget has no lost answers and commands.
func (ex *execution) addUnanswered(out []move) []move {
	for _, run := range slices.Clip(out) {
		a := ex.actorOf(run.choice)
		if a.sends != nil || a.parkedAt.kind != inCommand {
			continue
		}
		of := func(c interleave.Choice) interleave.Choice { return c.Of(a.thread) }
		waits := a.waits()
		if waits && !a.parkedAt.conn.hasArrived() || !waits && ex.onlyWakesNext(a) {
			continue
		}
		changes := slices.ContainsFunc(a.parkedAt.conn.queue, command.Command.Changes)
		add := func(c interleave.Choice) {
			m := ex.nextMove(c, a)
			m.cost = run.cost + 1
			out = append(out, m)
		}
		if ex.remaining.LostAnswers > 0 {
			add(of(interleave.LoseAnswer(a.index)))
		}
		if ex.remaining.LostCommands > 0 && !waits {
			add(of(interleave.LoseCommand(a.index)))
		}
		if ex.remaining.Late > 0 && !waits && !a.parkedAt.conn.goesWithMessages() && (changes || ex.budget.LostAnswers+ex.budget.LostCommands == 0) {
			add(of(interleave.Delay(a.index)))
		}
	}
	return out
}

// onlyWakesNext reports whether the client's next step is only waking up, since some lease ends while it sleeps.
func (ex *execution) onlyWakesNext(a *actor) bool {
	if a.wakeAt <= ex.now {
		return false
	}
	ends, err := ex.leaseEndsBefore(a.wakeAt)
	return err == nil && ends
}

// addArrivals adds the late commands that can be executed now: those after which something else has happened, or all of them
// if nothing else is left to do.
func (ex *execution) addArrivals(out []move) []move {
	alone := len(out) == 0
	for n, l := range ex.lateCommands {
		if !l.arrived && (alone || l.at < len(ex.path)) {
			out = append(out, move{choice: interleave.Arrive(n), access: l.access(), timely: true, observes: ex.spec.Program.Observe != nil})
		}
	}
	return out
}

// addCrash adds the crash of the client that took the last step. Crashes of the others were possible right after their own
// last steps, and nobody can tell the difference.
func (ex *execution) addCrash(out []move) []move {
	if ex.remaining.Crashes > 0 && ex.justStepped && ex.isAlive(ex.last.index) {
		out = append(out, move{choice: interleave.Crash(ex.last.index), cost: 1, access: ex.waitAccess(ex.last.index)})
	}
	return out
}

// addInterferences adds what the world can do, where it makes a difference.
func (ex *execution) addInterferences(out []move, scripts bool) ([]move, error) {
	passing, err := ex.timeMoves()
	if err != nil {
		return nil, err
	}
	out = append(out, passing...)
	if ex.remaining.Failovers > 0 && !ex.replicationStopped {
		out = append(out, move{choice: interleave.StopReplication, cost: 1, world: true})
	}
	if ex.replicationStopped && ex.wroteSinceStop {
		out = append(out, move{choice: interleave.Promote, world: true})
	}
	if len(ex.path) > 0 && ex.remaining.Flushes > 0 && scripts {
		out = append(out, move{choice: interleave.FlushScripts, cost: 1, world: true})
	}
	return out, nil
}

// independent reports whether did and the move asleep, which could have happened in its place, may change places. If so, the
// schedules in which asleep happens next were planned already, with the two in the other order. In doubt it is false.
func independent(did, asleep move) bool {
	i, client := did.choice.Client()
	if j, other := asleep.choice.Client(); client && other && i == j {
		return false
	}
	switch {
	case did.choice.IsCrash(): // nobody notices, but for those who would have woken it
		return !did.access.Changes() || did.access.Independent(asleep.access)
	case did.choice.Kind() == interleave.Delays:
		return false // a late command cannot be executed at once, but can be after another move
	case did.choice.Unanswered() && asleep.choice.Kind() == did.choice.Kind():
		return false // there may be no budget for both
	case did.approaches && !asleep.timePasses && !asleep.world:
		// What only reads, and not the time, shows the same in the last millisecond of a lease as before. What writes may end
		// a lease, or give it another end.
		return !asleep.begins && !asleep.timely && !asleep.access.Changes()
	case did.world || did.timePasses || asleep.timePasses:
		return false
	case asleep.world:
		return false
	}
	// Whether one operation ended before another began is for checkers to see.
	if did.begins && asleep.ends || did.ends && asleep.begins {
		return false
	}
	// What the program saw in the store after an operation is for checkers to see as well.
	if did.observes && (did.ends && asleep.access.Changes() || asleep.ends && did.access.Changes()) {
		return false
	}
	return did.silent || asleep.silent || did.access.Independent(asleep.access)
}
