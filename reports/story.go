package reports

import (
	"cmp"
	"path/filepath"

	"al.essio.dev/pkg/shellescape"

	"github.com/doublegrant/doublegrant/harness/interleave"
	"github.com/doublegrant/doublegrant/harness/units"
	"github.com/doublegrant/doublegrant/reports/drawing"
)

// story returns a counterexample with its number of clients, for drawing.
func (e Exploration) story(c interleave.Counterexample) drawing.Story {
	return drawing.Story{Counterexample: c, Clients: e.clientsOf(c)}
}

// clientsOf returns the number of clients of the counterexample. Parts of one search may have different numbers.
func (e Exploration) clientsOf(c interleave.Counterexample) int {
	return cmp.Or(c.Budget.Clients, e.clients())
}

// note returns the violation in one sentence.
func (e Exploration) note(c interleave.Counterexample) string { return units.Visible(c.Anomaly.Note) }

// PassOn returns the command that runs the counterexample again on any machine, without its file. It is empty if there
// is no recipe.
func (e Exploration) PassOn(c interleave.Counterexample) string {
	if e.Replay == "" || c.Recipe == "" {
		return ""
	}
	return e.Replay + " " + c.Recipe
}

// replay returns the command that runs counterexample i again. It is empty if there is no file.
func (e Exploration) replay(i int) string {
	if e.Files[i] == "" {
		return ""
	}
	return "doublegrant explore --replay " + units.Visible(shellescape.Quote(filepath.Join(e.Dir, e.Files[i])))
}
