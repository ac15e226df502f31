package trackrecord

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/units"
)

// ExitCode returns the exit code of several outcomes: 1 if any is refuted. Otherwise it is 3 if something is missing,
// or else 2 if any is undecided, or else 0.
func ExitCode(outs []Outcome) int {
	code := map[Ending]int{Refuted: 1, Missing: 3, Unsaid: 2}
	for _, e := range []Ending{Refuted, Missing, Unsaid} {
		if slices.ContainsFunc(outs, func(o Outcome) bool { return o.Ending == e }) {
			return code[e]
		}
	}
	return 0
}

// Line returns the outcome in one line.
func (out Outcome) Line() string {
	b := out.Bug
	line := fmt.Sprintf("%s  %s: ", strings.ToUpper(string(out.Ending)), b.Name())
	if out.Ending != Shown {
		return line + out.Why
	}
	line += fmt.Sprintf("%s %s: %s", b.Library, out.Shown.Version, out.Shown.found(b.Class))
	if out.Holds != nil {
		line += fmt.Sprintf("; %s %s holds, in %v", b.Library, out.Holds.Version, rounded(out.Holds.Took))
	}
	return line + "; " + b.Upstream.String()
}

// found describes what a trial found.
func (t Trial) found(c harness.Class) string {
	if t.Steps == 0 {
		return fmt.Sprintf("%s in a run, in %v", c, rounded(t.Took))
	}
	return fmt.Sprintf("%s in %d steps, in %v", c, t.Steps, rounded(t.Took))
}

func rounded(d time.Duration) time.Duration { return d.Round(100 * time.Millisecond) }

// Summary counts the endings, and names the entries that are not shown.
func Summary(outs []Outcome) string {
	var parts []string
	for _, e := range []Ending{Shown, Refuted, Unsaid, Missing} {
		var names []string
		for _, o := range outs {
			if o.Ending == e {
				names = append(names, o.Bug.ID)
			}
		}
		part := fmt.Sprintf("%s %s", units.Count(int64(len(names))), e)
		if e != Shown && len(names) > 0 {
			part += " (" + strings.Join(names, ", ") + ")"
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}
