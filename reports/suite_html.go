package reports

import (
	"io"
	"strings"
	"time"
)

// SuiteHTML writes a suite as one page that leads to the report of each run and needs nothing else.
func SuiteHTML(w io.Writer, s Suite) error {
	return render(w, "suite.html.tmpl", newSuitePage(s))
}

// suitePage is what the template of a suite asks for.
type suitePage struct {
	Suite
	Tone     string
	Word     string
	Sentence string
	Heads    []suiteHead
	Rows     []suiteRow
	Failures []suiteFailure
	Unlisted int
	Facts    []fact
	Curve    *drawing // of resident memory; nil: there are too few points
}

type suiteHead struct {
	Name   string
	Number bool
}

type suiteFailure struct {
	SuiteRun
	Ends, Tone, Headline string
}

func newSuitePage(s Suite) suitePage {
	p := suitePage{
		Suite: s, Tone: s.Ending().tone(), Word: s.Ending().String(), Sentence: s.Sentence(), Rows: s.rows(),
		Unlisted: s.unlisted(), Facts: s.Memory.facts(), Curve: s.Memory.curve(s.Elapsed),
	}
	for _, h := range s.heads() {
		p.Heads = append(p.Heads, suiteHead{strings.TrimPrefix(h, ":"), strings.HasPrefix(h, ":")})
	}
	for _, r := range s.failures() {
		p.Failures = append(p.Failures, suiteFailure{r, r.Ending.String(), r.Ending.tone(), r.headline()})
	}
	return p
}

// Number reports whether a column is aligned to the right.
func (p suitePage) Number(i int) bool { return p.Heads[i].Number }

// curve draws resident memory over time.
func (m Memory) curve(elapsed time.Duration) *drawing {
	const enough = 10
	if len(m.All) < enough {
		return nil
	}
	f := newFrame("resident memory of the harness in MiB", 0, max(elapsed, m.All[len(m.All)-1].At), 140, nil)
	f.timeAxis("")
	y := f.linear(f.top, f.bottom, mib(m.Max), 4)
	var points []string
	for _, s := range m.All {
		points = append(points, corner(10*f.x(s.At), y(mib(s.RSS))))
	}
	f.path("curve p50", "M"+strings.Join(points, "L"))
	return &f.drawing
}

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }
