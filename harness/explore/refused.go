package explore

import (
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// ownerRefused reports whether the last owner was refused although it held the lock, and no event excuses that. A
// promotion excuses it. With subscriptions or threads it is false, since another client may wait for a message instead
// of asking for the lock.
func (ex *execution) ownerRefused() bool {
	return !ex.promoted && !ex.Subscribed && !ex.AskedForMessage && !ex.hasThreads() && ownerRefused(ex.ops, ex.stamp())
}

// ownerRefused reports whether the last owner was refused a release or an extend within its lease, and that lease is
// not over. Either the lock was its own, or it was lost: the next acquire shows which.
func ownerRefused(ops []harness.Op, now time.Duration) bool {
	type owner struct {
		client     int
		key, token string
	}
	until := map[owner]time.Duration{}
	var refused owner
	for _, op := range ops {
		who := owner{op.Client, op.Key, op.Arg}
		switch {
		case op.Outcome == harness.OK && op.Kind == harness.Acquire:
			until[who], refused = op.HeldUntil(0), owner{}
		case op.Outcome == harness.OK && op.Kind == harness.Extend:
			until[who] = op.HeldUntil(0)
		case op.Outcome == harness.Fail &&
			(op.Kind == harness.Release || op.Kind == harness.Extend) && until[who] > op.Return:
			refused = who
		}
		if op.Kind == harness.Release && who != refused {
			delete(until, who)
		}
	}
	return until[refused] > now
}
