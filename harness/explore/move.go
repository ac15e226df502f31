package explore

// move is something that can happen next, or has happened, with what it touches.
type move struct {
	choice Choice
	cost   int // preemptions and interferences that it adds
	access access
	world  bool
	passes bool // time passes
	begins bool // an operation of a client begins with it
	ends   bool // an operation ends with it, as far as anybody knows: only what has happened is known not to end one
	looks  bool // the program looks at the store when an operation has ended
}

// next is the step that a parked client would take.
func (ex *execution) next(c Choice, a *actor) move {
	m := move{choice: c, begins: !a.inOp, ends: true, looks: ex.spec.Program.Observe != nil}
	switch a.at.kind {
	case inCommand:
		m.access = a.at.conn.queue[0].access
	case inSleep:
		m.passes = true
	case inClock:
		m.access.writes = []string{clockKey} // whose look came later saw a later time
	}
	return m
}

// clockKey stands for the time that clients see. It is no name that a client's key can have.
const clockKey = "\x00clock"

// moves lists what can happen next: the steps of clients, the one that took the last step first, then what else can
// happen. It is empty when every client is done.
func (ex *execution) moves() []move {
	var out []move
	scripts, pending := false, false
	current := ex.last >= 0 && !ex.actors[ex.last].done
	if current {
		a := ex.actors[ex.last]
		out = append(out, ex.next(Run(a.index), a))
		if a.at.kind == inWork { // nobody else can tell when it does that
			return ex.crashes(out)
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
			if ex.alike() && !untouched {
				continue
			}
			untouched = false
		}
		if i != ex.last {
			m := ex.next(Run(i), a)
			if current {
				m.cost = 1
			}
			out = append(out, m)
		}
	}
	if !pending {
		return nil
	}
	return ex.interferences(ex.crashes(out), scripts)
}

// alike reports whether clients that have not begun are the same. Without it every order of beginning is run.
func (ex *execution) alike() bool {
	return ex.spec.Program.Alike && ex.spec.Skew == 0 && !ex.spec.Unpruned
}

// crashes adds the crash of the client that took the last step. Others could have crashed after theirs: nobody notices
// when they do.
func (ex *execution) crashes(out []move) []move {
	if ex.left.Crashes > 0 && ex.fresh && !ex.actors[ex.last].done {
		out = append(out, move{choice: Crash(ex.last), cost: 1})
	}
	return out
}

// interferences adds what the world can do, where it makes a difference.
func (ex *execution) interferences(out []move, scripts bool) []move {
	acted := len(ex.path) > 0
	if acted && ex.left.Expiries > 0 && ex.path[len(ex.path)-1] != Expiry && (ex.timed || !ex.spec.Program.Timeless) {
		out = append(out, move{choice: Expiry, cost: 1, world: true})
	}
	if ex.left.Failovers > 0 && !ex.held {
		out = append(out, move{choice: Hold, cost: 1, world: true})
	}
	if ex.held && ex.used {
		out = append(out, move{choice: Promote, world: true})
	}
	if acted && ex.left.Flushes > 0 && scripts {
		out = append(out, move{choice: Flush, cost: 1, world: true})
	}
	return out
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
