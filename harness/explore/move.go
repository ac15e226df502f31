package explore

import (
	"slices"

	"github.com/doublegrant/doublegrant/harness/interleave"
)

// move is something that can happen next, or has happened, with what it touches.
type move struct {
	choice interleave.Choice
	cost   int // preemptions and interferences that it adds
	access access
	world  bool
	passes bool // time passes
	nears  bool // time passes to just before the end of a lease
	timely bool // what it does depends on the time of day
	begins bool // an operation of a client begins with it
	ends   bool // an operation ends with it, as far as anybody knows: only what has happened is known not to end one
	looks  bool // the program looks at the store when an operation has ended
}

// next is the step that a parked client would take.
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
		m.access.writes, m.timely = []string{clockKey}, true // whose look came later saw a later time
	}
	return m
}

// clockKey stands for the time that clients see. It is no name that a client's key can have.
const clockKey = "\x00clock"

// moves lists what can happen next: the steps of clients, the one that took the last step first, then what else can
// happen. It is empty when every client is done and nothing is late.
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

// symmetric reports whether clients that have not begun are the same. Without it every order of beginning is run.
func (ex *execution) symmetric() bool {
	return ex.spec.Program.Symmetric && ex.spec.Skew == 0 && !ex.spec.Unpruned
}

// unanswered adds, for each client that can send a command, that it waits for the answer in vain. A command that changes
// nothing is the same to all whether it was executed or not, so it comes late only where that is all that can happen to it.
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

// napsFirst reports whether the client's next step is only to wake up, since some lease ends while it sleeps.
func (ex *execution) napsFirst(a *actor) bool {
	if a.ready <= ex.now {
		return false
	}
	ends, err := ex.endsBefore(a.ready)
	return err == nil && ends
}

// arrivals adds the late commands that can be executed now: when somebody has done something since, or nobody has
// anything left to do.
func (ex *execution) arrivals(out []move) []move {
	alone := len(out) == 0
	for n, l := range ex.late {
		if !l.arrived && (alone || l.at < len(ex.path)) {
			out = append(out, move{choice: interleave.Arrive(n), access: l.access(), timely: true, looks: ex.spec.Program.Observe != nil})
		}
	}
	return out
}

// crashes adds the crash of the client that took the last step. Others could have crashed after theirs: nobody notices
// when they do.
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

// independent reports whether the move asleep, which could have happened instead of did, still leads to what it would
// have led to before: then what follows from it was planned there already. It errs on the side of no.
func independent(did, asleep move) bool {
	i, client := did.choice.Client()
	if j, other := asleep.choice.Client(); client && other && i == j {
		return false
	}
	switch {
	case did.choice.IsCrash():
		return true // nobody notices
	case did.choice.Kind() == interleave.Delays:
		return false // what is given up now cannot be executed at once, and can when others have done something since
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
	// So is what the program saw in the store after an operation.
	if did.looks && (did.ends && asleep.access.changes() || asleep.ends && did.access.changes()) {
		return false
	}
	return did.access.independent(asleep.access)
}
