package checkers

import (
	"fmt"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// This file finds owners that were refused their own release or extend: see Owners.

// refusal is a refused release or extend within its owner's lease. Its evidence is a refused acquire of another owner,
// called later, which shows that the lock was still taken.
type refusal struct {
	owner     owner
	grant     harness.Op
	until     time.Duration
	refused   harness.Op
	shownBy   harness.Op // the acquire that is the evidence; its Kind is empty until there is one
	explained bool
}

// refuse keeps x, a refused release or extend, if it came within the lease of its owner's current grant.
func (p *ownersPass) refuse(l *ownersLock, current *ownersGrant, x harness.Op) {
	if current == nil || x.Err != "" && x.Err != harness.NotMine {
		return
	}
	p.refusals++
	late, _ := p.pending.commandsOf(x, p.meta)
	another := func(g *ownersGrant) bool { return g.owner != current.owner && g.op.Return >= current.op.Call }
	if x.Return >= current.until || current.unanswered || late.maySetLease || l.givenBackAt >= current.op.Call ||
		x.Kind == harness.Release && current.entries > 1 || len(l.refusals) == grantsKept ||
		slices.ContainsFunc(l.grants, another) ||
		slices.ContainsFunc(l.mayTake, func(o owner) bool { return o != current.owner }) {
		return
	}
	l.refusals = append(l.refusals, &refusal{owner: current.owner, grant: current.op, until: current.until, refused: x})
}

// refuseAcquire handles x, an acquire that failed, and drops the refusals that are no violation because of x. If the
// lock refused x, an earlier command of x's owner may have taken the lock, so refusals of that owner are dropped. If x
// failed for another reason, it may have had the lock for a while, so all are dropped.
func (p *ownersPass) refuseAcquire(l *ownersLock, caller owner, x harness.Op) {
	plain := x.Err == "" || x.Err == harness.Held
	p.dropExplained(l, x, func(r *refusal) bool { return r.owner == caller || !plain })
	if plain {
		p.noteRefusedAcquire(l, x)
	} else {
		l.givenBackAt = x.Return
	}
}

// noteRefusedAcquire takes e, an acquire that the lock refused, as evidence for earlier refusals: e shows that the lock
// was still taken after its owner had been refused. It drops a refusal if the owner's lease may have ended by the
// Return of e.
func (p *ownersPass) noteRefusedAcquire(l *ownersLock, e harness.Op) {
	l.refusals = slices.DeleteFunc(l.refusals, func(r *refusal) bool {
		if e.Return >= r.until {
			return true
		}
		if e.Call <= r.refused.Return {
			return false
		}
		if len(p.awaiting) == maxUndecided {
			p.unjudged++
			return true
		}
		r.shownBy = e
		p.awaiting = append(p.awaiting, r)
		l.waiting++
		return true
	})
}

// noteTaking drops the refusals for which x may be the cause: x is an acquire or extend that may have taken the lock.
func (p *ownersPass) noteTaking(l *ownersLock, caller owner, x harness.Op) {
	p.dropExplained(l, x, func(r *refusal) bool {
		return r.owner != caller || x.Kind == harness.Acquire ||
			x.Outcome == harness.Info
	})
}

// dropExplained drops the refusals of the lock of x for which isExplained returns true. It keeps a refusal if the
// acquire that showed the lock to be taken returned before x was called.
func (p *ownersPass) dropExplained(l *ownersLock, x harness.Op, isExplained func(*refusal) bool) {
	l.refusals = slices.DeleteFunc(l.refusals, isExplained)
	if l.waiting == 0 {
		return
	}
	for _, r := range p.awaiting {
		if r.grant.Key == x.Key && x.Call <= r.shownBy.Return && isExplained(r) {
			r.explained = true
		}
	}
}

// reportBefore reports the refusals whose evidence returned before the time in the parameter low. No later operation is
// called before that time, so none can explain these refusals.
func (p *ownersPass) reportBefore(low time.Duration) {
	n := 0
	for ; n < len(p.awaiting) && p.awaiting[n].shownBy.Return < low; n++ {
		r := p.awaiting[n]
		p.locks[r.grant.Key].waiting--
		if !r.explained && !p.faultMayExplain(r) {
			p.add(r.anomaly())
		}
	}
	p.awaiting = slices.Delete(p.awaiting, 0, n)
}

// faultMayExplain reports whether a fault may have made Redis forget what the owner was granted.
func (p *ownersPass) faultMayExplain(r *refusal) bool {
	return slices.ContainsFunc(p.faults,
		func(f harness.Influence) bool { return f.Overlaps(r.grant.Call, r.shownBy.Return) })
}

// end reports the remaining refusals if the record is complete. Otherwise it returns them as a reason for Unknown.
func (p *ownersPass) end(complete bool) string {
	if complete {
		p.reportBefore(forever)
	}
	remaining := p.unjudged
	for _, r := range p.awaiting {
		if !r.explained && !p.faultMayExplain(r) {
			remaining++
		}
	}
	return doubtIf(remaining > 0, "it is not known of %d refusals whether somebody else had taken the lock", remaining)
}

func (r *refusal) anomaly() harness.Anomaly {
	return harness.Anomaly{
		Class: harness.RefusedRelease, Key: r.grant.Key, From: r.grant.Call, To: r.shownBy.Return,
		Ops: []harness.Op{r.grant, r.refused, r.shownBy},
		Note: fmt.Sprintf("%s was refused its own %s of %s at %s, inside the lease that it had got by %s and that "+
			"lasts until %s; nobody else was granted the lock since, and at %s it was still refused to %s",
			clientName(r.refused.Client), r.refused.Kind, r.grant.Key, formatTime(r.refused.Return),
			formatTime(r.grant.Return), formatTime(r.until),
			formatTime(r.shownBy.Return), clientName(r.shownBy.Client)),
	}
}
