package drawing

import (
	"fmt"
	"slices"

	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/doublegrant/doublegrant/harness/units"
)

// beliefBar is a client's belief that it holds a lock. Its positions are in pixels: the beginning of the belief (from),
// the end of the lease (lease) and the end of the belief (to).
type beliefBar struct {
	interleave.Belief
	from, lease, to float64
}

// sharedHold is a span of time in which two clients certainly hold one lock.
type sharedHold struct {
	a, b     int     // numbers of the two clients, from 0
	from, to float64 // y positions of beginning and end, in pixels
}

// placeBeliefs computes the bar of each belief of a client that it holds a lock.
func (l *Sequence) placeBeliefs(c Story) {
	for _, g := range c.Beliefs(c.Clients) {
		if g.From >= len(l.places) || !l.has(g.Client) {
			continue
		}
		b := beliefBar{Belief: g, from: l.places[g.From].reply, to: l.y(g.To)}
		if g.Renewed && g.To < len(l.places) {
			b.to = l.places[g.To].reply
		}
		b.lease = min(b.to, l.y(g.LeaseEnds))
		l.bars = append(l.bars, b)
	}
}

// placeOverlaps computes the position of each time in which two clients certainly held a lock, as the checker judged.
// It leaves out messages, since no client believes that it holds a message.
func (l *Sequence) placeOverlaps(c Story) {
	l.key = c.Anomaly.Key
	for _, o := range c.Anomaly.Overlaps() {
		a, b := interleave.ClientOf(o.With, c.Clients), interleave.ClientOf(o.Client, c.Clients)
		s := sharedHold{a: a, b: b, to: l.end}
		if o.To > 0 {
			s.to = l.y(c.StepAt(o.To, 0))
		}
		begun := 0
		for begun < len(l.places) && c.Steps[begun].At <= o.From {
			s.from = l.places[begun].reply
			begun++
		}
		if l.hasBar(s.a) && l.hasBar(s.b) && s.from < s.to {
			l.overlaps = append(l.overlaps, s)
		}
	}
}

// hasBar reports whether a client has a bar for the anomaly's lock.
func (l *Sequence) hasBar(client int) bool {
	return slices.ContainsFunc(l.bars, func(b beliefBar) bool { return b.Client == client && b.Key == l.key })
}

// drawOverlaps marks the area between two clients while both certainly hold one lock.
func (l *Sequence) drawOverlaps() {
	for _, s := range l.overlaps {
		left, right := min(s.a, s.b), max(s.a, s.b)
		l.rect("overlap", l.lane(left), l.lane(right), s.from, s.to,
			fmt.Sprintf("client %d and client %d both certainly hold %s", left+1, right+1, keyName(l.key)))
	}
}

// drawBars draws on each lane the locks that its client holds: filled during the lease, hollow after it, and in the
// alarm colour while another client holds the lock as well.
func (l *Sequence) drawBars() {
	for _, b := range l.bars {
		l.drawBar("grip", b.Client, b.from, b.lease,
			fmt.Sprintf("client %d has %s, as far as it knows", b.Client+1, keyName(b.Key)))
		if b.outlastsLease() {
			l.drawBar("grip over", b.Client, b.lease, b.to,
				fmt.Sprintf("the lease is over, client %d has not given %s up", b.Client+1, keyName(b.Key)))
		}
	}
	for _, s := range l.overlaps {
		l.drawBar("grip two", s.a, s.from, s.to, "")
		l.drawBar("grip two", s.b, s.from, s.to, "")
	}
}

// outlastsLease reports whether the client kept the lock beyond its lease.
func (b beliefBar) outlastsLease() bool { return b.to > b.lease }

func (l *Sequence) drawBar(class string, client int, from, to float64, title string) {
	path := fmt.Sprintf("M%[1]s,0 H%[2]s V%[3]s H%[1]s Z", units.Number(-halfBar), units.Number(halfBar),
		units.Number(to-from))
	l.mark(class, l.lane(client), from, path, title)
}

func keyName(key string) string { return units.Clip(units.Visible(key), 60) }

// Legend explains the kinds of bars in the picture.
func (l *Sequence) Legend() []LegendKey {
	if len(l.bars) == 0 {
		return nil
	}
	all := []LegendKey{{"grip", "the client has the lock, as far as it knows"}}
	for _, b := range l.bars {
		if b.outlastsLease() {
			all = append(all, LegendKey{"grip-over", "its lease is over, and it has not let go"})
			break
		}
	}
	if len(l.overlaps) > 0 {
		all = append(all, LegendKey{"two", "two clients certainly hold it at once"})
	}
	return all
}

// LegendKey is one entry of a legend.
type LegendKey struct{ Class, Text string }
