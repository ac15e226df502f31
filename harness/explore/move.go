package explore

import (
	"slices"

	"github.com/doublegrant/doublegrant/harness/explore/internal/command"
	"github.com/doublegrant/doublegrant/harness/explore/internal/model"
	"github.com/doublegrant/doublegrant/harness/explore/internal/schedule"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// This file lists what can happen next in a schedule.

func (ex *execution) nextMove(c interleave.Choice, a *actor) schedule.Move {
	m := schedule.Move{Choice: c, Memory: ex.memoryOf(a.index), Begins: a.mayBegin(), Ends: true,
		Observes: ex.spec.Program.Observe != nil, TimePasses: a.wakeAt > ex.now}
	if a.subscriptionConn != nil {
		m.Begins, m.Ends, m.Access = false, false, a.subscriptionConn.Queue[0].Access
		return m
	}
	if a.waits() {
		m.Silent = true
		m.TimePasses = ex.readiness(a) == byTime
		return m
	}
	switch a.parkedAt.Kind {
	case model.InCommand:
		if isExecuted(c) {
			first := a.parkedAt.Pending.Next()
			m.Access = ex.backend.withWoken(first.Access)
			m.DependsOnTime = first.DependsOnTime() || ex.asksTTL(first, a.parkedAt.Pending)
			if ex.readsClock(first, a.parkedAt.Pending) {
				m = withClockRead(m)
			}
			m.TimePasses = m.TimePasses || c.Kind() == interleave.Slows || ex.waitsInVain(first) > 0
		}
	case model.InClock:
		m = withClockRead(m)
	case model.InMillis: // clients that read the clock in the same millisecond see the same
		m.DependsOnTime = true
	}
	return m
}

// isExecuted reports whether a client's command is executed in the step of this choice, and not later or never.
func isExecuted(c interleave.Choice) bool {
	return c.Kind() == interleave.Runs || c.Kind() == interleave.LosesAnswers || c.Kind() == interleave.Slows
}

// withClockRead returns the move as one that reads a clock. The order of two such moves matters, since the later
// reading is larger.
func withClockRead(m schedule.Move) schedule.Move {
	m.Access.Writes, m.DependsOnTime = append(slices.Clip(m.Access.Writes), schedule.ClockKey), true
	return m
}

// Moves lists what can happen next: the clients' steps, starting with the thread that took the last step, then
// everything else. It is empty if no client can take a step and no late command is left.
func (ex *execution) Moves() ([]schedule.Move, error) {
	able := ex.ableActors()
	if len(able) == 0 {
		return ex.addArrivals(nil), nil
	}
	current := ex.last != nil && slices.Contains(able, ex.last) && ex.readiness(ex.last) == ready
	if current {
		able = slices.Insert(slices.DeleteFunc(able, func(a *actor) bool { return a == ex.last }), 0, ex.last)
		// other clients cannot tell when it takes this step
		if ex.last.parkedAt.Kind == model.InWork && !ex.last.hasThreads() {
			return ex.addCrash([]schedule.Move{ex.stepOf(ex.last)}), nil
		}
	}
	var out []schedule.Move
	scripts := false
	untouched := true // no client so far is still to take its first step
	for _, a := range able {
		scripts = scripts || a.subscriptionConn == nil && a.parkedAt.Kind == model.InCommand &&
			a.parkedAt.Pending.Next().Scripts
		if !a.started {
			if ex.spec.inOneOrder(ex.budget) && !untouched {
				continue
			}
			untouched = false
		}
		m := ex.stepOf(a)
		if current && a != ex.last {
			m.Cost = 1
		}
		if ex.readiness(a) == byTime && ex.wakesEarly(a) {
			m.Cost++
		}
		out = append(out, m)
	}
	out = ex.addArrivals(ex.addUnanswered(ex.addSlow(out)))
	return ex.addInterferences(ex.addCrash(out), scripts)
}

func (ex *execution) stepOf(a *actor) schedule.Move {
	return ex.nextMove(interleave.Run(a.index).Of(a.thread), a)
}

// addUnanswered adds the moves in which a client's command gets no answer: the answer is lost, the command is lost, or
// the command is late. If the command changes nothing, all three have the same effect. In that case the command is late
// only if the budget has neither lost answers nor lost commands.
func (ex *execution) addUnanswered(out []schedule.Move) []schedule.Move {
	for _, run := range slices.Clip(out) {
		a := ex.actorOf(run.Choice)
		if run.Choice.Kind() != interleave.Runs || a.subscriptionConn != nil || a.parkedAt.Kind != model.InCommand {
			continue
		}
		of := func(c interleave.Choice) interleave.Choice { return c.Of(a.thread) }
		waits := a.waits()
		if waits && !a.parkedAt.conn.hasArrived() || !waits && ex.onlyWakesNext(a) {
			continue
		}
		changes := slices.ContainsFunc(a.parkedAt.Pending.Queue, command.Command.Changes)
		add := func(c interleave.Choice) {
			m := ex.nextMove(c, a)
			m.Cost = run.Cost + 1
			out = append(out, m)
		}
		if ex.remaining.LostAnswers > 0 {
			add(of(interleave.LoseAnswer(a.index)))
		}
		if ex.remaining.LostCommands > 0 && !waits {
			add(of(interleave.LoseCommand(a.index)))
		}
		if ex.remaining.Late > 0 && !waits && !a.parkedAt.conn.isAnsweredAmongMessages() &&
			(changes || ex.budget.LostAnswers+ex.budget.LostCommands == 0) {
			add(of(interleave.Delay(a.index)))
		}
	}
	return out
}

// addSlow adds the moves in which a millisecond passes inside a script or transaction that reads the server's clock. A
// schedule has one of them at most, and only if its budget lets time pass within leases.
func (ex *execution) addSlow(out []schedule.Move) []schedule.Move {
	if ex.slowUsed || ex.budget.Approaches == 0 || !ex.w.SetsClocks() {
		return out
	}
	for _, run := range slices.Clip(out) {
		a := ex.actorOf(run.Choice)
		if a.subscriptionConn != nil || a.waits() || a.wakeAt > ex.now || a.parkedAt.Kind != model.InCommand {
			continue
		}
		next := a.parkedAt.Pending.Next()
		if n := command.Name(next.Args); n != "eval" && n != "evalsha" && n != "exec" ||
			!ex.readsClock(next, a.parkedAt.Pending) {
			continue
		}
		m := ex.nextMove(interleave.Slow(a.index).Of(a.thread), a)
		m.Cost = run.Cost + 1
		out = append(out, m)
	}
	return out
}

// onlyWakesNext reports whether waking up is the client's whole next step, since a lease ends while it sleeps.
func (ex *execution) onlyWakesNext(a *actor) bool {
	if a.wakeAt <= ex.now {
		return false
	}
	ends, err := ex.leaseEndsBefore(a.wakeAt)
	return err == nil && ends
}

// addArrivals adds the moves in which a late command is executed. At least one other step has to come between the
// command and its execution, unless no other move is left.
func (ex *execution) addArrivals(out []schedule.Move) []schedule.Move {
	alone := len(out) == 0
	for n, l := range ex.lateCommands {
		if !l.arrived && (alone || l.at < len(ex.path)) {
			out = append(out, ex.arrivalOf(n))
		}
	}
	return out
}

// arrivalOf returns the move in which a late command is executed.
func (ex *execution) arrivalOf(n int) schedule.Move {
	l := &ex.lateCommands[n]
	m := schedule.Move{Choice: interleave.Arrive(n), Access: l.access(), DependsOnTime: true,
		Observes: ex.spec.Program.Observe != nil}
	if slices.ContainsFunc(l.commands, func(c command.Command) bool { return ex.readsClock(&c, l.pending) }) {
		return withClockRead(m)
	}
	return m
}

// addCrash adds the crash of the client that took the last step. Other clients could have crashed right after their own
// last steps, with the same effect.
func (ex *execution) addCrash(out []schedule.Move) []schedule.Move {
	if ex.remaining.Crashes > 0 && ex.justStepped && ex.isAlive(ex.last.index) {
		out = append(out, schedule.Move{Choice: interleave.Crash(ex.last.index), Memory: ex.memoryOf(ex.last.index),
			Cost: 1, Access: ex.backend.waitAccess(ex.last.index)})
	}
	return out
}

// addInterferences adds failovers, script flushes and passing time, where they make a difference. The parameter scripts
// says whether some client's next command needs a cached script.
func (ex *execution) addInterferences(out []schedule.Move, scripts bool) ([]schedule.Move, error) {
	passing, err := ex.timeMoves()
	if err != nil {
		return nil, err
	}
	out = append(out, passing...)
	if ex.remaining.Failovers > 0 && !ex.replicationStopped {
		out = append(out, schedule.Move{Choice: interleave.StopReplication, Cost: 1, World: true})
	}
	if ex.replicationStopped && ex.wroteSinceStop {
		out = append(out, schedule.Move{Choice: interleave.Promote, World: true})
	}
	if len(ex.path) > 0 && ex.remaining.Flushes > 0 && scripts {
		out = append(out, schedule.Move{Choice: interleave.FlushScripts, Cost: 1, World: true})
	}
	return out, nil
}
