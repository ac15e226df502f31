package checkers

import (
	"fmt"

	"github.com/doublegrant/doublegrant/harness"
)

// This file has the figures of a mutexPass, and the doubts that its counters raise.

func (p *mutexPass) figures() []harness.Figure {
	out := [...]harness.Figure{
		figureGrants.Count(p.grants), figureCertain.Count(p.certain), figureReleases.Count(p.releases),
		figureKeys.Count(len(p.locks)), figureExtends.Count(p.extends),
	}
	if p.extends == 0 {
		return out[:4]
	}
	return out[:]
}

// uncertain returns a doubt if most grants were answered after their lease may have ended. Such a history cannot show
// much.
func (p *mutexPass) uncertain() string {
	if p.grants == 0 || 2*p.certain >= p.grants {
		return ""
	}
	return fmt.Sprintf("only %d of %d grants were answered inside their lease: the TTL is too short for this load",
		p.certain, p.grants)
}

// tooManyWaiting returns a doubt if too many grants waited for a silent owner.
func (p *mutexPass) tooManyWaiting() string {
	if p.unjudged == 0 {
		return ""
	}
	return fmt.Sprintf("%d grants were not judged: %d others waited already for owners that have fallen silent",
		p.unjudged, maxUndecided)
}

// tooLittleKnown returns a doubt if the late commands of some owners were forgotten before these were granted a lock.
func (p *mutexPass) tooLittleKnown() string {
	if p.forgotten == 0 {
		return ""
	}
	return fmt.Sprintf("%d grants were not judged: their owners have commands that may still be executed, and more "+
		"than %d other owners have had some since",
		p.forgotten, lateKept)
}
