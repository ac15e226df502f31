package explore

import (
	"slices"

	"github.com/doublegrant/doublegrant/harness/interleave"
)

// move is a choice that can happen next, or has happened, with what it touches.
type move struct {
	choice interleave.Choice
	cost   int // preemptions and interferences that it adds
	access access
	world  bool // it is done by the world and independent of nothing, but for nears
	passes bool // time passes in it
	nears  bool // time passes to the last millisecond of a lease, and beyond the end of none
	timely bool // its effect or reply depends on the time of day
	begins bool // an operation of a client begins with it
	ends   bool // an operation may end with it; of a move that has happened: did end
	looks  bool // the program looks at the store if an operation ends with it
}

// next returns the step that a parked client would take.
func (ex *execution) next(c interleave.Choice, a *actor) move {
	m := move{choice: c, begins: !a.inOp, ends: true, looks: ex.spec.Program.Observe != nil, passes: a.ready > ex.now}
	switch a.at.kind {
	case inCommand:
		if c.Kind() == interleave.Runs || c.Kind() == interleave.LosesAnswers {
			first := a.at.conn.queue[0]
			m.access, m.timely = first.access, first.timely()
			m.passes = m.passes || first.waits() > 0 && first.acks() > ex.w.hearing()
		}
	case inClock:
		m.access.writes, m.timely = []string{clockKey}, true // a later look sees a later time, so the order of looks matters
	}
	return m
}

// clockKey stands for the time that clients see. No client's key has this name.
const clockKey = "\x00clock"

// moves lists what can happen next: the steps of clients, beginning with the client that took the last step, then
// everything else. It is empty when every client is done and no late command is left.
func (ex *execution) moves() ([]move, error) {
	var out []move
	scripts, pending := false, false
	current := ex.last >= 0 && !ex.actors[ex.last].done
	if current {
		a := ex.actors[ex.last]
		out = append(out, ex.next(interleave.Run(a.index), a))
		if a.at.kind == inWork { // nobody else can tell when it does that
			return ex.crashes(out), nil
		}
	}
	untouched := true // no client before has yet to take its first step
	for i, a := range ex.actors {
		if a.done {
			continue
		}
		pending = true
		scripts = scripts || a.at.kind == inCommand && a.at.conn.queue[0].scripts
		if !a.started {
			if ex.symmetric() && !untouched {
				continue
			}
			untouched = false
		}
		if i != ex.last {
			m := ex.next(interleave.Run(i), a)
			if current {
				m.cost = 1
			}
			out = append(out, m)
		}
	}
	if !pending {
		return ex.arrivals(nil), nil
	}
	out = ex.arrivals(ex.unanswered(out))
	return ex.interferences(ex.crashes(out), scripts)
}

// symmetric reports whether clients that have not begun may stand for each other. If not, the search runs every order in
// which they can begin.
func (ex *execution) symmetric() bool {
	return ex.spec.Program.Symmetric && ex.spec.Skew == 0 && !ex.spec.Unreduced
}

// unanswered adds, for each client that can send a command, the moves in which it gets no answer. Whether a command that
// changes nothing is executed makes no difference, so it comes late only if the budget has no lost answers and commands.
func (ex *execution) unanswered(out []move) []move {
	for _, run := range slices.Clip(out) {
		i, _ := run.choice.Client()
		a := ex.actors[i]
		if a.at.kind != inCommand || ex.napsFirst(a) {
			continue
		}
		changes := slices.ContainsFunc(a.at.conn.queue, command.changes)
		add := func(c interleave.Choice) {
			m := ex.next(c, a)
			m.cost = run.cost + 1
			out = append(out, m)
		}
		if ex.left.LostAnswers > 0 {
			add(interleave.LoseAnswer(i))
		}
		if ex.left.LostCommands > 0 {
			add(interleave.LoseCommand(i))
		}
		if ex.left.Late > 0 && (changes || ex.budget.LostAnswers+ex.budget.LostCommands == 0) {
			add(interleave.Delay(i))
		}
	}
	return out
}

// napsFirst reports whether the client's next step is only waking up, since some lease ends while it sleeps.
func (ex *execution) napsFirst(a *actor) bool {
	if a.ready <= ex.now {
		return false
	}
	ends, err := ex.endsBefore(a.ready)
	return err == nil && ends
}

// arrivals adds the late commands that can be executed now: those after which something else has happened, or all of them
// if nothing else is left to do.
func (ex *execution) arrivals(out []move) []move {
	alone := len(out) == 0
	for n, l := range ex.late {
		if !l.arrived && (alone || l.at < len(ex.path)) {
			out = append(out, move{choice: interleave.Arrive(n), access: l.access(), timely: true, looks: ex.spec.Program.Observe != nil})
		}
	}
	return out
}

// crashes adds the crash of the client that took the last step. Crashes of the others were possible right after their own
// last steps, and nobody can tell the difference.
func (ex *execution) crashes(out []move) []move {
	if ex.left.Crashes > 0 && ex.fresh && !ex.actors[ex.last].done {
		out = append(out, move{choice: interleave.Crash(ex.last), cost: 1})
	}
	return out
}

// interferences adds what the world can do, where it makes a difference.
func (ex *execution) interferences(out []move, scripts bool) ([]move, error) {
	passing, err := ex.passing()
	if err != nil {
		return nil, err
	}
	out = append(out, passing...)
	if ex.left.Failovers > 0 && !ex.held {
		out = append(out, move{choice: interleave.HoldReplication, cost: 1, world: true})
	}
	if ex.held && ex.used {
		out = append(out, move{choice: interleave.Promote, world: true})
	}
	if len(ex.path) > 0 && ex.left.Flushes > 0 && scripts {
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
	case did.choice.IsCrash():
		return true // nobody notices
	case did.choice.Kind() == interleave.Delays:
		return false // a late command cannot be executed at once, but can be after another move
	case did.choice.Unanswered() && asleep.choice.Kind() == did.choice.Kind():
		return false // there may be no budget for both
	case did.nears && !asleep.passes && !asleep.world:
		// What only reads, and not the time, shows the same in the last millisecond of a lease as before. What writes may end
		// a lease, or give it another end.
		return !asleep.begins && !asleep.timely && !asleep.access.changes()
	case did.world || did.passes || asleep.passes:
		return false
	case asleep.world:
		return false
	}
	// Whether one operation ended before another began is for checkers to see.
	if did.begins && asleep.ends || did.ends && asleep.begins {
		return false
	}
	// What the program saw in the store after an operation is for checkers to see as well.
	if did.looks && (did.ends && asleep.access.changes() || asleep.ends && did.access.changes()) {
		return false
	}
	return did.access.independent(asleep.access)
}
