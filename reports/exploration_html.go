package reports

import (
	"io"

	"github.com/doublegrant/doublegrant/harness"
)

// ExplorationHTML writes a search as one page that needs nothing else: no network, no script, no other file.
func ExplorationHTML(w io.Writer, e Exploration) error {
	return render(w, "exploration.html.tmpl", newExplorationPage(e))
}

// explorationPage is what the template of a search asks for.
type explorationPage struct {
	Exploration
	Title           string
	Verdict         string
	Sentence        string
	Warnings        []string
	Setup           []fact
	Numbers         []fact
	Counterexamples []counterexampleView
}

// counterexampleView is one counterexample on the page.
type counterexampleView struct {
	Class     harness.Class
	Key       string
	Note      string
	Certified bool
	Steps     string
	Lines     []line
	Hidden    int // lines that are not drawn
	Picture   drawing
	Legend    []legendKey
	Replay    string // the command that runs it again
	File      string
}

func newExplorationPage(e Exploration) explorationPage {
	p := explorationPage{
		Exploration: e, Title: e.title(), Verdict: e.Verdict().String(), Sentence: e.Sentence(),
		Warnings: e.warnings(), Setup: e.setup(), Numbers: e.numbers(),
	}
	for i, c := range e.Result.Found {
		picture := e.drawLifelines(c)
		v := counterexampleView{
			Class: c.Anomaly.Class, Key: c.Anomaly.Key, Note: e.note(c), Certified: c.Anomaly.Certified, Steps: steps(c),
			Lines: e.lines(c), Picture: picture.drawing, Legend: picture.legend(), Replay: e.replay(i), File: e.Files[i],
		}
		v.Hidden = len(v.Lines) - len(picture.lines)
		p.Counterexamples = append(p.Counterexamples, v)
	}
	return p
}
