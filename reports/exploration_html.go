package reports

import (
	"io"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/doublegrant/doublegrant/reports/drawing"
)

// ExplorationHTML writes a search as one self-contained page. It loads no other file, runs no script and uses no
// network.
func ExplorationHTML(w io.Writer, e Exploration) error {
	return render(w, "exploration.html.tmpl", newExplorationPage(e))
}

// explorationPage holds the data for the template of a search.
type explorationPage struct {
	Exploration
	Title           string
	Verdict         string
	Sentence        string
	Warnings        []string
	Setup           []fact
	Numbers         []fact
	Counterexamples []counterexampleView
	Parts           []partView
	Situations      []situationView
}

// partView is one part of a search: the schedules with the same number of clients and the same bounds.
type partView struct {
	Clients   int
	Bounds    string
	Schedules int64
	Pruned    int64
	Extent    string
}

// situationView is a situation with the shortest schedule that met it.
type situationView struct {
	Name  harness.SituationName
	Count int
	Lines []drawing.Line
}

// counterexampleView is one counterexample on the page.
type counterexampleView struct {
	Class     harness.Class
	Key       string
	Note      string
	Certified bool
	Steps     string
	Lines     []drawing.Line
	Hidden    int    // number of lines that are not drawn
	Shrunk    string // size of the counterexample before it was shrunk; empty: it was not shrunk
	Walk      walk
	Legend    []drawing.LegendKey
	Replay    string // the command that replays the counterexample from its file
	PassOn    string // the command that replays the counterexample on any machine
	File      string
}

func newExplorationPage(e Exploration) explorationPage {
	p := explorationPage{
		Exploration: e, Title: e.title(), Verdict: e.Verdict().String(), Sentence: e.Sentence(),
		Warnings: e.warnings(), Setup: e.setup(), Numbers: e.numbers(),
	}
	for i, c := range e.Result.Counterexamples {
		story := e.story(c)
		picture := story.Draw()
		v := counterexampleView{
			Class: c.Anomaly.Class, Key: c.Anomaly.Key, Note: e.note(c), Certified: c.Anomaly.Certified,
			Steps: stepCount(c),
			Lines: story.Lines(), Walk: newWalk(i, picture, story), Legend: picture.Legend(), Replay: e.replay(i),
			PassOn: e.PassOn(c), File: e.Files[i],
		}
		if c.Shrunk != nil {
			v.Shrunk = c.Shrunk.String()
		}
		v.Hidden = len(v.Lines) - picture.Lines()
		p.Counterexamples = append(p.Counterexamples, v)
	}
	for _, part := range e.Result.Parts {
		bounds := boundsOf(part.Budget)
		if part.Role != "" {
			bounds = "one client " + part.Role + "; " + bounds
		}
		p.Parts = append(p.Parts, partView{part.Budget.Clients, bounds, int64(part.Schedules),
			int64(part.Pruned), runExtent(part)})
	}
	for _, s := range e.Result.Situations {
		v := situationView{Name: s.Name, Count: s.Count}
		for _, step := range s.Steps {
			v.Lines = append(v.Lines, drawing.LineOf(step))
		}
		p.Situations = append(p.Situations, v)
	}
	return p
}

// runExtent says which of a part's schedules were run, such as "all of them".
func runExtent(p interleave.Part) string {
	switch {
	case p.AtRandom:
		return "drawn at random"
	case p.Exhausted:
		return "all of them"
	}
	return "a part of them"
}
