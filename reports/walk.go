package reports

import (
	"fmt"
	"html/template"
	"strings"

	"github.com/doublegrant/doublegrant/reports/drawing"
)

// walk is a counterexample that a reader steps through. The page hides the part of the picture that comes after the
// chosen step. Beside the picture it shows what is stored and what each client believes. A walk needs no script: each
// step is a radio button, and the stylesheet shows what belongs to the chosen step.
type walk struct {
	ID      string // id of the walk, unique on the page
	Picture drawing.Drawing
	Steps   []walkStep
	Style   template.CSS
}

// walkStep is one step of a walk.
type walkStep struct {
	drawing.Moment
	Place, Back, Next int // numbers of this step (Place), the previous and the next one, from 1; 0 stands for all steps
}

// newWalk returns the walk through the steps in a picture.
func newWalk(number int, picture *drawing.Sequence, story drawing.Story) walk {
	w := walk{ID: fmt.Sprintf("w%d", number), Picture: picture.Drawing}
	moments := picture.Moments(story)
	var css strings.Builder
	for i, m := range moments {
		s := walkStep{m, i + 1, i, (i + 2) % (len(moments) + 1)}
		chosen := fmt.Sprintf("#%s-%d:checked~.stage", w.ID, s.Place)
		fmt.Fprintf(&css, "%s{--top:%dpx;--end:%dpx}%s .m%d{display:block}%s "+
			".l%d{background:var(--ok);color:var(--card)}\n",
			chosen, m.Top, m.Bottom, chosen, s.Place, chosen, s.Place)
		w.Steps = append(w.Steps, s)
	}
	w.Style = template.CSS(css.String()) // numbers alone
	return w
}

// Last returns the state at the end, or nil if there are no steps.
func (w walk) Last() *walkStep {
	if len(w.Steps) == 0 {
		return nil
	}
	return &w.Steps[len(w.Steps)-1]
}
