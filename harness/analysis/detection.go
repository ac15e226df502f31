package analysis

import (
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// detection says how Sentinels came to replace a primary.
type detection struct {
	suspected time.Duration // the first +sdown of those that lasted; negative: none was seen
	missed    time.Duration // the +sdown with which enough Sentinels missed the primary; negative: none was seen
	began     time.Duration // the attempt that succeeded: +try-failover or +elected-leader; negative: none was seen
	ordered   bool          // a Sentinel was told to: it began although no quorum missed the primary
	by        string        // the Sentinel that began; empty: none was seen to
	early     time.Duration // by how much missed may be too early
}

const notSeen = time.Duration(-1)

// detection goes through what Sentinels said of the primary until the promotion. What they had missed when the attempt
// began counts, even if they heard from the primary again before the promotion.
func (t *takeover) detection() detection {
	d := detection{suspected: notSeen, missed: notSeen, began: notSeen}
	now := d                     // as it stands
	missing := map[string]bool{} // the Sentinels that miss it
	agreed := map[string]bool{}  // those that say that a quorum does
	for _, e := range t.since(t.heard) {
		if e.At > t.at+t.late {
			break
		}
		gone := e.Kind == harness.EventUnheard // it may have ended, and then it misses nobody
		if !t.sentinels[e.Node] || !gone && !t.isAbout(e) {
			continue
		}
		switch e.Kind {
		case string(Suspect):
			if len(missing) == 0 {
				now.suspected = e.At
			}
			if !missing[e.Node] && len(agreed) == 0 {
				now.missed = e.At
			}
			missing[e.Node] = true
		case "-sdown", harness.EventUnheard:
			delete(agreed, e.Node)
			if delete(missing, e.Node); len(missing) == 0 {
				now.suspected, now.missed = notSeen, notSeen
				clear(agreed)
			}
		case string(Agreed):
			agreed[e.Node] = true
		case "-odown":
			delete(agreed, e.Node)
		case attempted, string(Elected):
			if e.Kind == attempted || d.began == notSeen {
				d = now
				d.began, d.by, d.ordered = e.At, e.Node, len(agreed) == 0 && len(t.lostWords(t.heard, e.At)) == 0
			}
		}
	}
	if d.began == notSeen {
		return now
	}
	return d
}

// isAbout reports whether a Sentinel's message is about the primary that it wants to replace, as far as it names one:
// it may be about a replica or about another Sentinel.
func (t *takeover) isAbout(e harness.Event) bool {
	if e.Detail == "" {
		return true
	}
	f := strings.Fields(e.Detail) // master NAME IP PORT ...
	if len(f) < 4 || f[0] != "master" {
		return false
	}
	node, known := t.acts.at[f[2]+" "+f[3]]
	return !known || t.subject == "" || node == t.subject
}
