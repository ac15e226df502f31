package drawing

import (
	"fmt"

	"github.com/doublegrant/doublegrant/harness/units"
)

// bar is a grip in pixels: from its beginning at from, over the end of the lease, to where the client lets go.
type bar struct {
	grip
	from, lease, to float64
}

// shared is a span in which two clients rely on one lock.
type shared struct {
	a, b     bar
	from, to float64
}

// measure turns grips into bars.
func (l *Sequence) measure(all []grip) {
	for _, g := range all {
		if g.from >= len(l.places) || !l.has(g.client) {
			continue
		}
		b := bar{grip: g, from: l.places[g.from].reply, to: l.y(g.to)}
		if g.renewed && g.to < len(l.places) {
			b.to = l.places[g.to].reply
		}
		b.lease = min(b.to, l.y(g.lease))
		l.bars = append(l.bars, b)
	}
}

// shared lists the spans in which two clients rely on one lock.
func (l *Sequence) shared() []shared {
	var all []shared
	for i, a := range l.bars {
		for _, b := range l.bars[i+1:] {
			from, to := max(a.from, b.from), min(a.lease, b.lease)
			if a.client != b.client && a.key == b.key && from < to {
				all = append(all, shared{a, b, from, to})
			}
		}
	}
	return all
}

// overlaps marks the field between two clients while both rely on one lock.
func (l *Sequence) overlaps() {
	for _, s := range l.shared() {
		left, right := min(s.a.client, s.b.client), max(s.a.client, s.b.client)
		l.rect("overlap", l.lane(left), l.lane(right), s.from, s.to,
			fmt.Sprintf("client %d and client %d both hold %s", left+1, right+1, keyName(s.a.key)))
	}
}

// drawBars draws on each lane the locks that its client has: full while the lease lasts, hollow after it, and in the colour of
// alarm while another client has the lock, too.
func (l *Sequence) drawBars() {
	for _, b := range l.bars {
		l.drawBar("grip", b.client, b.from, b.lease, fmt.Sprintf("client %d holds %s", b.client+1, keyName(b.key)))
		if b.over() {
			l.drawBar("grip over", b.client, b.lease, b.to,
				fmt.Sprintf("the lease is over, client %d has not given %s up", b.client+1, keyName(b.key)))
		}
	}
	for _, s := range l.shared() {
		l.drawBar("grip two", s.a.client, s.from, s.to, "")
		l.drawBar("grip two", s.b.client, s.from, s.to, "")
	}
}

// over reports whether the client kept the lock beyond its lease.
func (b bar) over() bool { return b.to > b.lease }

func (l *Sequence) drawBar(class string, client int, from, to float64, title string) {
	path := fmt.Sprintf("M%[1]s,0 H%[2]s V%[3]s H%[1]s Z", units.Number(-halfBar), units.Number(halfBar), units.Number(to-from))
	l.mark(class, l.lane(client), from, path, title)
}

func keyName(key string) string { return units.Clip(units.Visible(key), 60) }

// Legend explains the kinds of bars that the picture has.
func (l *Sequence) Legend() []LegendKey {
	if len(l.bars) == 0 {
		return nil
	}
	all := []LegendKey{{"grip", "the client holds the lock"}}
	for _, b := range l.bars {
		if b.over() {
			all = append(all, LegendKey{"grip-over", "its lease is over, and it has not let go"})
			break
		}
	}
	if len(l.shared()) > 0 {
		all = append(all, LegendKey{"two", "two clients hold it at once"})
	}
	return all
}

// LegendKey is one entry of a legend.
type LegendKey struct{ Class, Text string }
