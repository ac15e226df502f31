package reports

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/units"
)

// figureSentence is a judgement's figure as a sentence: words, the number with its unit, words.
type figureSentence struct{ Lead, Number, Rest string }

// sayFigure writes a figure as a sentence. The name says what is counted. So the unit 1/s is left out of a name such as
// "lost per second of fault", and the word percent out of "lost percent".
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

// sayTime puts a time before the "after" of its name: "first lost write after fault start" becomes "first lost write
// 2.50 s after fault start". A negative time becomes "2.50 s before fault start".
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

// timesInNotes finds the moments in the note of a violation, such as "until 10.500001s".
var timesInNotes = regexp.MustCompile(`\b(at|by|from|to|until) (\d[0-9.hmsµn]*s)\b`)

// AlignTimes writes all moments in the note of a violation in one unit and with equally many decimals, so that a reader
// can compare them: "from 0.000005s until 10.500001s".
func AlignTimes(note string) string {
	var moments []time.Duration
	for _, m := range timesInNotes.FindAllStringSubmatch(note, -1) {
		if d, err := time.ParseDuration(m[2]); err == nil {
			moments = append(moments, d)
		}
	}
	if len(moments) < 2 {
		return note
	}
	unit, name := time.Microsecond, "µs"
	switch last := slices.Max(moments); {
	case last >= time.Second:
		unit, name = time.Second, "s"
	case last >= time.Millisecond:
		unit, name = time.Millisecond, "ms"
	}
	written := func(d time.Duration, decimals int) string {
		return strconv.FormatFloat(float64(d)/float64(unit), 'f', decimals, 64)
	}
	decimals := 0
	for _, d := range moments {
		_, fraction, _ := strings.Cut(written(d, -1), ".")
		decimals = max(decimals, len(fraction))
	}
	return timesInNotes.ReplaceAllStringFunc(note, func(moment string) string {
		word, text, _ := strings.Cut(moment, " ")
		d, err := time.ParseDuration(text)
		if err != nil {
			return moment
		}
		return word + " " + written(d, decimals) + name
	})
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
