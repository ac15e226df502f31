package drawing

import (
	"fmt"
	"slices"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/units"
)

// spanClass has the CSS class for each kind of span.
var spanClass = map[harness.SpanKind]string{
	harness.CertainHold:  "hold",
	harness.PossibleHold: "hold maybe",
	harness.PastLease:    "hold past",
	harness.NextOwner:    "hold",
	harness.LargestToken: "hold",
	harness.StillHeld:    "hold",
}

func (g *gantt) describeSpan(s harness.Span) string {
	key := units.Clip(g.key, 60)
	from, to := units.At(s.From), fmt.Sprintf("%s (%s)", units.At(s.To), units.Duration(s.To-s.From))
	switch s.Kind {
	case harness.PossibleHold:
		return fmt.Sprintf("may have %s from %s to %s: by then every lease that was asked for is surely over",
			key, from, to)
	case harness.PastLease:
		return fmt.Sprintf("every lease is over from %s to %s, when %s was still in force", from, to, key)
	case harness.NextOwner:
		return fmt.Sprintf("granted from %s on, and wrote before %s", from, to)
	case harness.LargestToken:
		return fmt.Sprintf("its fencing token was given out by %s, before the next one was asked for at %s", from, to)
	case harness.StillHeld:
		return fmt.Sprintf("certainly has %s from %s on, and still at %s, when an earlier grant is answered",
			key, from, to)
	}
	return fmt.Sprintf("holds %s from %s%s", key, from, untilWords(s))
}

// untilWords says how long a span lasts and what ends it.
func untilWords(s harness.Span) string {
	switch s.Until {
	case harness.LeaseEnds:
		return fmt.Sprintf(" to %s (%s): its lease ends", units.At(s.To), units.Duration(s.To-s.From))
	case harness.OwnRelease:
		return fmt.Sprintf(" to %s (%s): its owner releases it", units.At(s.To), units.Duration(s.To-s.From))
	}
	return " on: its lease has no end"
}

// SpanLegend explains the kinds of bars that show an anomaly's spans.
func SpanLegend(a harness.Anomaly) []LegendKey {
	certain, perhaps := "certainly held", "perhaps held"
	if len(a.Ops) > 0 && (a.Ops[0].Kind == harness.Claim || a.Ops[0].Kind == harness.Confirm) {
		certain, perhaps = "certainly marked", "perhaps marked"
	}
	var all []LegendKey
	add := func(class, text string) {
		if k := (LegendKey{class, text}); !slices.Contains(all, k) {
			all = append(all, k)
		}
	}
	for _, s := range a.Spans {
		switch s.Kind {
		case harness.CertainHold:
			add("hold", certain)
		case harness.PossibleHold:
			add("hold-maybe", perhaps)
		case harness.PastLease:
			add("hold-past", "every lease is over")
		case harness.NextOwner:
			add("hold", "the next owner has been granted it")
		case harness.LargestToken:
			add("hold", "the larger token has been given out")
		case harness.StillHeld:
			add("hold", "the later owner has the lock")
		}
	}
	if len(a.Overlaps()) > 0 {
		add("two", "two owners")
	}
	return all
}
