package reports

import (
	"slices"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/units"
)

// figureSentence is a judgement's figure as a sentence: words (Lead), the number with its unit, and more words (Rest).
type figureSentence struct{ Lead, Number, Rest string }

// sayFigure writes a figure as a sentence. The name says what is counted. So the unit 1/s is left out behind a name
// such as "lost per second of fault", and "lost percent" loses its last word.
func sayFigure(f harness.Figure) figureSentence {
	switch {
	case f.Unit == "%":
		return figureSentence{Number: units.Digits(f.Value) + " %", Rest: strings.TrimSuffix(f.Name, " percent")}
	case f.Unit == "1/s":
		return figureSentence{Number: units.Digits(f.Value), Rest: f.Name}
	case f.Unit == "s":
		return sayTime(f)
	case strings.HasSuffix(f.Name, " at call"): // an ordinal, not a count
		return figureSentence{Lead: f.Name, Number: units.Figure(f.Value)}
	case f.Unit != "":
		return figureSentence{Number: units.Figure(f.Value) + " " + f.Unit, Rest: f.Name}
	case f.Value == 1:
		return figureSentence{Number: "1", Rest: singular(f.Name)}
	}
	return figureSentence{Number: units.Figure(f.Value), Rest: f.Name}
}

// sayTime writes a figure that is a time. It puts the time before the "after" in the figure's name: "first lost write
// after fault start" becomes "first lost write 2.50 s after fault start". With a negative time it says "2.50 s before
// fault start".
func sayTime(f harness.Figure) figureSentence {
	d := time.Duration(f.Value * float64(time.Second)).Round(time.Microsecond)
	lead, moment, ok := strings.Cut(f.Name, " after ")
	switch {
	case !ok:
		return figureSentence{Lead: f.Name, Number: units.Duration(d)}
	case d < 0:
		return figureSentence{Lead: lead, Number: units.Duration(-d), Rest: "before " + moment}
	}
	return figureSentence{Lead: lead, Number: units.Duration(d), Rest: "after " + moment}
}

// singular turns the first plural in a name into a singular, unless a preposition precedes it.
func singular(name string) string {
	words := strings.Split(name, " ")
	for i, w := range words {
		if slices.Contains([]string{"by", "from", "per", "of", "at", "after", "for"}, w) {
			break
		}
		if one, ok := strings.CutSuffix(w, "s"); ok && len(one) > 1 {
			words[i] = one
			break
		}
	}
	return strings.Join(words, " ")
}
