package cli

import (
	"io"
	"os"
	"regexp"

	"github.com/fatih/color"
	"github.com/spf13/pflag"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/texttable"
)

// colorFlags holds --color and --no-color.
type colorFlags struct{ always, never bool }

func (c *colorFlags) add(f *pflag.FlagSet) {
	f.BoolVar(&c.always, "color", false,
		"colour verdicts and classes of violations even if the output is not a terminal")
	f.BoolVar(&c.never, "no-color", false, "print without colours, as if NO_COLOR were set")
}

// resolve reports whether text written to out gets colours. By default, text is coloured if out is a terminal, but not
// on a dumb terminal or if NO_COLOR is set (no-color.org).
func (c colorFlags) resolve(out io.Writer) (on bool, err error) {
	switch {
	case c.always && c.never:
		return false, usage("--color and --no-color contradict each other: leave one of them out")
	case c.always || c.never:
		return c.always, nil
	}
	return texttable.Terminal(out) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb", nil
}

// A word is coloured only where it is a verdict: in capitals at the beginning of a line, or alone in a column of a
// table. The name of a class is coloured before the first violation of that class, and above the steps that show it.
// Sentences are not coloured.
var (
	verdictWords = regexp.MustCompile(`(?m)^(VALID|INVALID|UNKNOWN)\b|(?:^|  )(valid|invalid|unknown)(?:  |$)`)
	classMarks   = regexp.MustCompile(`(?m)^  the first ([a-z-]+)[:,]|^([a-z-]+) in \d+ steps?:$`)
)

var (
	ofWords = map[string]*color.Color{
		"valid": colorOf(color.FgGreen), "invalid": colorOf(color.FgRed), "unknown": colorOf(color.FgYellow),
		"VALID": colorOf(color.FgGreen, color.Bold), "INVALID": colorOf(color.FgRed, color.Bold),
		"UNKNOWN": colorOf(color.FgYellow, color.Bold),
	}
	ofClasses = colorOf(color.FgRed)
)

// colorOf returns a colour that is used whatever the environment says: colorFlags has read the environment already.
func colorOf(all ...color.Attribute) *color.Color {
	c := color.New(all...)
	c.EnableColor()
	return c
}

// painter colours verdicts and classes of violations in the text written to it. Callers write whole lines, since the
// patterns depend on where a line begins and ends.
type painter struct{ out io.Writer }

func (p painter) Write(text []byte) (int, error) {
	painted := inGroups(verdictWords, string(text), func(word string) string { return ofWords[word].Sprint(word) })
	painted = inGroups(classMarks, painted, func(word string) string {
		if harness.Class(word).Doc().Meaning == "" { // another word in this place
			return word
		}
		return ofClasses.Sprint(word)
	})
	if _, err := io.WriteString(p.out, painted); err != nil {
		return 0, err
	}
	return len(text), nil
}

// inGroups applies the function replace to each part of the text that a capturing group of the pattern matches. All
// other text stays.
func inGroups(pattern *regexp.Regexp, text string, replace func(string) string) string {
	var changed []byte
	end := 0
	for _, m := range pattern.FindAllStringSubmatchIndex(text, -1) {
		for i := 2; i < len(m); i += 2 {
			if m[i] >= 0 {
				changed = append(append(changed, text[end:m[i]]...), replace(text[m[i]:m[i+1]])...)
				end = m[i+1]
			}
		}
	}
	return string(append(changed, text[end:]...))
}
