package checkers

import (
	"fmt"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// This file tells whether a node that came back without its data had anything to forget. It had if a lock was held, or a message marked,
// for certain from before the restart until somebody asked for it after. Whoever asks then is granted what is forgotten, which is a
// violation, or shows that it is not forgotten. Numbers need no such look: a sequence never ends, and there is load before and after.

// restart is a fault that put another process into the place of a primary.
type restart struct {
	harness.Fault
	lock, mark bool // one was held, or marked, before it and asked for after
}

// restartsOf lists the restarts of primaries. A node of which nobody has said that it was none counts as one.
func restartsOf(h harness.History) (all []*restart) {
	for _, f := range h.Faults {
		if f.Effects.Has(harness.EndsProcess|harness.StartsProcess) && f.Proved && slices.ContainsFunc(f.Targets, func(node string) bool {
			return wasPrimary(h.Events, node, f.Start)
		}) {
			all = append(all, &restart{Fault: f})
		}
	}
	return all
}

// wasPrimary reports whether the node was a primary at t, by what the cluster has said of roles; true if it has said nothing.
func wasPrimary(events []harness.Event, node string, t time.Duration) bool {
	role, told := "", false
	for _, e := range events {
		if e.Kind != harness.EventRole {
			continue
		}
		told = true
		if e.Node == node && e.At <= t && e.Detail != harness.RoleDown {
			role = e.Detail
		}
	}
	return !told || role == harness.RolePrimary
}

// noteSurvivor notes that x asks for what the grant, claim or confirm of certainly still has, and has had since before a restart.
func (c *Situations) noteSurvivor(of, x harness.Op) {
	for _, r := range c.restarts {
		if of.Return > r.Start || x.Call < r.Active || x.Return >= c.certainUntil(of) || x.Outcome == harness.Info {
			continue
		}
		if x.Kind == harness.Claim {
			r.mark = true
		} else {
			r.lock = true
		}
	}
}

// vacuousRestarts lists the restarts through which nothing lived, of the kinds that are promised.
func (s situationsOfShares) vacuousRestarts() (missing []string) {
	for _, r := range s.restarts {
		for _, of := range []struct {
			kind harness.Kind
			met  bool
			what string
		}{{harness.Acquire, r.lock, "no lock was held"}, {harness.Claim, r.mark, "no message was marked"}} {
			if !of.met && slices.Contains(s.all[0].meta.Kinds, of.kind) {
				missing = append(missing, fmt.Sprintf("%s from before %s at %s until somebody asked for it after, so nothing was there "+
					"to be forgotten (ask for longer leases or windows, --ttl)", of.what, r.Name, formatTime(r.Start)))
			}
		}
	}
	return missing
}
