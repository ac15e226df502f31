package checkers

import (
	"fmt"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// This file judges whether a node that came back without its data had anything to forget. It had if a lock was
// certainly held, or a message marked, from before the restart until a client asked for it afterwards. That client is
// either granted what was forgotten, which is a violation, or shows that it was not forgotten. Numbers need no such
// check: a sequence never ends, and there is load before and after.

// restart is a fault that replaced the process of a primary.
type restart struct {
	harness.Fault
	// lockHeld: a lock was held through the restart, and asked for afterwards. messageMarked: a message was marked
	// through the restart, and asked for afterwards.
	lockHeld, messageMarked bool
}

// restartsOf lists the restarts of primaries. A node counts as a primary if the cluster reported no roles.
func restartsOf(h harness.History) (all []*restart) {
	for _, f := range h.Faults {
		if f.Effects.Has(harness.EndsProcess|harness.StartsProcess) && f.Proved &&
			slices.ContainsFunc(f.Targets, func(node string) bool {
				return wasPrimary(h.Events, node, f.Start)
			}) {
			all = append(all, &restart{Fault: f})
		}
	}
	return all
}

// wasPrimary reports whether the node was a primary at the time t, by the roles that the cluster reported. It returns
// true if the cluster reported no roles.
func wasPrimary(events []harness.Event, node string, t time.Duration) bool {
	role, reported := "", false
	for _, e := range events {
		if e.Kind != harness.EventRole {
			continue
		}
		reported = true
		if e.Node == node && e.At <= t && e.Detail != harness.RoleDown {
			role = e.Detail
		}
	}
	return !reported || role == harness.RolePrimary
}

// noteSurvivor notes, in each restart between two operations, that a lock or mark lasted through it. The first
// operation (grant) took the lock or marked the message. The second (x) asked for the same lock or message while the
// lease or window of the first certainly still lasted.
func (c *Situations) noteSurvivor(grant, x harness.Op) {
	for _, r := range c.restarts {
		if grant.Return > r.Start || x.Call < r.Active || x.Return >= c.certainUntil(grant) ||
			x.Outcome == harness.Info {
			continue
		}
		if x.Kind == harness.Claim {
			r.messageMarked = true
		} else {
			r.lockHeld = true
		}
	}
}

// vacuousRestarts lists the restarts that had nothing to lose. Either acquires are promised and no lock was held
// through the restart, or claims are promised and no message was marked.
func (s situationsOfShares) vacuousRestarts() (missing []string) {
	for _, r := range s.restarts {
		for _, promised := range []struct {
			kind harness.Kind
			met  bool
			what string
		}{{harness.Acquire, r.lockHeld, "no lock was held"}, {harness.Claim, r.messageMarked,
			"no message was marked"}} {
			if !promised.met && slices.Contains(s.all[0].meta.Kinds, promised.kind) {
				missing = append(missing,
					fmt.Sprintf("%s from before %s at %s until somebody asked for it after, so nothing was there "+
						"to be forgotten (ask for longer leases or windows, --ttl)", promised.what, r.Name,
						formatTime(r.Start)))
			}
		}
	}
	return missing
}
