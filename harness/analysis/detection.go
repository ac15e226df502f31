package analysis

import (
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// detection says how Sentinels decided to replace a primary. A time is notSeen if the record does not show it.
type detection struct {
	suspected time.Duration // time of the first +sdown that was not withdrawn
	missed    time.Duration // time of the +sdown that completed the quorum
	startedAt time.Duration // time of the +try-failover or +elected-leader of the attempt that succeeded
	ordered   bool          // the Sentinel began the attempt without a quorum, so presumably on an order
	starter   string        // the Sentinel that began the attempt; empty: not seen
	tolerance time.Duration // the result of toleranceOf
}

const notSeen = time.Duration(-1)

// detection reads the Sentinels' messages about the primary until the promotion, and returns what Sentinels had noticed
// when the successful attempt began. Later messages do not count, such as those of Sentinels that heard from the
// primary again.
func (t *takeover) detection() detection {
	d := detection{suspected: notSeen, missed: notSeen, startedAt: notSeen}
	current := d                 // state so far
	missing := map[string]bool{} // Sentinels that miss the primary
	agreed := map[string]bool{}  // Sentinels that say that a quorum does
	for _, e := range t.eventsSince(t.messagesFrom) {
		if e.At > t.promotedAt+t.roleDelay {
			break
		}
		gone := e.Kind == harness.EventSubscriptionLost // a Sentinel that has ended misses no primary
		if !t.sentinels[e.Node] || !gone && !t.isAbout(e) {
			continue
		}
		switch e.Kind {
		case string(Suspect):
			if len(missing) == 0 {
				current.suspected = e.At
			}
			if !missing[e.Node] && len(agreed) == 0 {
				current.missed = e.At
			}
			missing[e.Node] = true
		case "-sdown", harness.EventSubscriptionLost:
			delete(agreed, e.Node)
			if delete(missing, e.Node); len(missing) == 0 {
				current.suspected, current.missed = notSeen, notSeen
				clear(agreed)
			}
		case string(Agreed):
			agreed[e.Node] = true
		case "-odown":
			delete(agreed, e.Node)
		case attempted, string(Elected):
			if e.Kind == attempted || d.startedAt == notSeen {
				d = current
				d.startedAt, d.starter, d.ordered = e.At, e.Node,
					len(agreed) == 0 && len(t.withLostLogs(t.messagesFrom, e.At)) == 0
			}
		}
	}
	if d.startedAt == notSeen {
		return current
	}
	return d
}

// isAbout reports whether a Sentinel's message is about the primary that Sentinels want to replace. It returns true for
// a message that names no node, and false for one about a replica or another Sentinel.
func (t *takeover) isAbout(e harness.Event) bool {
	if e.Detail == "" {
		return true
	}
	f := strings.Fields(e.Detail) // master NAME IP PORT ...
	if len(f) < 4 || f[0] != "master" {
		return false
	}
	node, known := t.acts.byAddress[f[2]+" "+f[3]]
	return !known || t.presumed == "" || node == t.presumed
}
