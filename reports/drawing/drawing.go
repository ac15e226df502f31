package drawing

import (
	"github.com/doublegrant/doublegrant/harness/units"
)

// Drawing is one SVG picture: a plot that takes all the width there is, with x in percent and y in pixels, so that text
// keeps its units.Size on every screen; and left of it a column of fixed width for labels.
type Drawing struct {
	Label  string // says in a few words what is drawn
	Height int
	Margin int // width of the left column
	Side   []Shape
	Plot   []Shape
}

// Shape is one element of a drawing. Lines end at (W, H).
type Shape struct {
	Tag        string // rect, line, text, path, dot, mark or words
	Class      string
	X, Y, W, H string
	Anchor     string
	Text       string
	Tail       string // behind words, in a class of its own
	TailClass  string
	Title      string // shown when the pointer rests on it
	D          string // of a path, on a plane 1000 wide and as high as the drawing; of a mark, in pixels around (X, Y)
}

// narrow is the width in pixels of the narrowest plot for which labels are laid out.
const narrow = 560

// letter is a generous width in pixels of a letter of a label.
const letter = 6.6

func percent(v float64) string { return units.Number(v) + "%" }

func pixels(v float64) string { return units.Number(v) }

// rect draws from x1 to x2 percent and y1 to y2 pixels.
func (d *Drawing) rect(class string, x1, x2, y1, y2 float64, title string) {
	d.Plot = append(d.Plot, Shape{
		Tag: "rect", Class: class, X: percent(x1), Y: pixels(y1), W: percent(max(0, x2-x1)), H: pixels(max(0, y2-y1)),
		Title: title,
	})
}

func (d *Drawing) line(class string, x1, y1, x2, y2 float64) {
	d.Plot = append(d.Plot, Shape{
		Tag: "line", Class: class, X: percent(x1), Y: pixels(y1), W: percent(x2), H: pixels(y2),
	})
}

func (d *Drawing) text(class string, x, y float64, anchor, s string) {
	d.Plot = append(d.Plot, Shape{Tag: "text", Class: class, X: percent(x), Y: pixels(y), Anchor: anchor, Text: s})
}

func (d *Drawing) dot(class string, x, y float64, title string) {
	d.Plot = append(d.Plot, Shape{Tag: "dot", Class: class, X: percent(x), Y: pixels(y), Title: title})
}

// words writes one or two texts from x1 to x2 percent. They lose their ends where there is too little room, and are
// shown whole when the pointer rests on them.
func (d *Drawing) words(class string, x1, x2, y, height float64, text, tailClass, tail string) {
	d.Plot = append(d.Plot, Shape{
		Tag: "words", Class: class, X: percent(x1), Y: pixels(y), W: percent(x2 - x1), H: pixels(height),
		Text: text, Tail: tail, TailClass: tailClass,
	})
}

// mark draws a path whose units.Size is in pixels, around a point.
func (d *Drawing) mark(class string, x, y float64, path, title string) {
	d.Plot = append(d.Plot, Shape{Tag: "mark", Class: class, X: percent(x), Y: pixels(y), D: path, Title: title})
}

func (d *Drawing) path(class, path string) {
	if path != "" {
		d.Plot = append(d.Plot, Shape{Tag: "path", Class: class, D: path})
	}
}

// side writes a label at the right edge of the left column.
func (d *Drawing) side(class string, y float64, s string) {
	d.Side = append(d.Side, Shape{
		Tag: "text", Class: class, X: pixels(float64(d.Margin) - 8), Y: pixels(y), Anchor: "end", Text: s,
	})
}

// width is how much of the narrowest plot a label takes, in percent.
func width(s string) float64 {
	return (float64(len([]rune(s)))*letter + 8) / narrow * 100
}

// lanes puts labels that come from left to right into as few rows as keep them apart. It holds the end of the last
// label in each row, in percent.
type lanes []float64

// place returns the row of a label that begins at x and is w wide.
func (l *lanes) place(x, w float64) int {
	for i, end := range *l {
		if end <= x {
			(*l)[i] = x + w
			return i
		}
	}
	*l = append(*l, x+w)
	return len(*l) - 1
}
