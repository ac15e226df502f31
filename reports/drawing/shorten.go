package drawing

import (
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

const (
	maxCuts  = 3   // the largest number of spans that a time axis leaves out
	cutWidth = 9.0 // width of a cut in percent of the plot; it has room for a label such as "293 ms"
)

// timeCut is a span of time that is not drawn.
type timeCut struct{ from, to time.Duration }

// quietCuts chooses which gaps between two moments the picture leaves out: the longest ones, at most maxCuts. It leaves
// them out only if
//
//   - each is at least a tenth of the whole time,
//   - each is at least three times as long as the longest gap that stays, and
//   - together they are at least three fifths of the whole time.
//
// Each cut is shorter than its gap, by a margin at both ends. The spans that a reader has to see are in the slice seen.
// A gap that overlaps one of them always stays. Once these spans take up an eighth of the picture, quietCuts leaves out
// no further gap.
func quietCuts(moments []time.Duration, seen []timeCut) []timeCut {
	gaps := gapsOf(moments, seen)
	var best []timeCut
	for n := 1; n <= maxCuts && n < len(gaps); n++ {
		whole := slices.Max(moments) - slices.Min(moments)
		left, last := whole-totalLength(gaps[:n]), gaps[n-1].length()
		if 10*last < whole || 5*left > 2*whole || last < 3*gaps[n].length() {
			continue
		}
		best = trimCuts(slices.Clone(gaps[:n]), left/20)
		if 8*totalLength(seen) >= left {
			break
		}
	}
	return best
}

// gapsOf lists the gaps between each moment and the next, the longest first. It omits gaps that overlap a span in the
// slice seen.
func gapsOf(moments []time.Duration, seen []timeCut) (gaps []timeCut) {
	moments = slices.Compact(slices.Sorted(slices.Values(moments)))
	for i := 1; i < len(moments); i++ {
		gap := timeCut{moments[i-1], moments[i]}
		if !slices.ContainsFunc(seen, func(s timeCut) bool { return s.from < gap.to && gap.from < s.to }) {
			gaps = append(gaps, gap)
		}
	}
	slices.SortStableFunc(gaps, func(a, b timeCut) int { return int(b.length() - a.length()) })
	return gaps
}

func (c timeCut) length() time.Duration { return c.to - c.from }

func totalLength(cuts []timeCut) (d time.Duration) {
	for _, c := range cuts {
		d += c.length()
	}
	return d
}

// trimCuts shortens each cut by a margin at both ends, and orders the cuts by time.
func trimCuts(cuts []timeCut, margin time.Duration) []timeCut {
	for i := range cuts {
		cuts[i].from, cuts[i].to = cuts[i].from+margin, cuts[i].to-margin
	}
	slices.SortFunc(cuts, func(a, b timeCut) int { return int(a.from - b.from) })
	return cuts
}

// cutAxis is a time axis that leaves out the spans in the field cuts. Each of them is drawn as a strip, and all strips
// are equally wide.
type cutAxis struct {
	from, to time.Duration
	cuts     []timeCut
}

// shown returns how much time is drawn.
func (s cutAxis) shown() time.Duration { return s.to - s.from - totalLength(s.cuts) }

// x returns the position of time t, in percent. A time inside a cut has a position inside the cut's strip.
func (s cutAxis) x(t time.Duration) float64 {
	t = min(s.to, max(s.from, t))
	scale := (100 - cutWidth*float64(len(s.cuts))) / float64(s.shown())
	at, done := 0.0, s.from
	for _, c := range s.cuts {
		if t <= c.from {
			break
		}
		at, done = at+scale*float64(c.from-done), c.to
		if t < c.to {
			return at + cutWidth*float64(t-c.from)/float64(c.length())
		}
		at += cutWidth
	}
	return at + scale*float64(t-done)
}

// parts lists the spans that are drawn.
func (s cutAxis) parts() (all []timeCut) {
	from := s.from
	for _, c := range s.cuts {
		all, from = append(all, timeCut{from, c.from}), c.to
	}
	return append(all, timeCut{from, s.to})
}

// Shortened reports whether the picture of an anomaly leaves out time.
func Shortened(a harness.Anomaly, meta harness.Meta) bool {
	return len(a.Ops) > 0 && len(newGantt(a, meta).axis.cuts) > 0
}
