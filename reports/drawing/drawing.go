package drawing

import (
	"github.com/doublegrant/doublegrant/harness/texttable"
	"github.com/doublegrant/doublegrant/harness/units"
)

// Drawing is one SVG picture. The plot takes the available width, with x in percent and y in pixels, so that text has
// the same size on every screen. To the left of the plot is a column of fixed width for labels.
type Drawing struct {
	Label  string // the content of the picture, in a few words
	Height int
	Margin int // width of the left column in pixels
	Side   []Shape
	Plot   []Shape
}

// Shape is one element of a drawing. (W, H) is the width and height of the element. For a line, (W, H) is the end
// point.
type Shape struct {
	Tag        string // rect, line, text, path, dot, mark or words
	Class      string
	X, Y, W, H string
	Anchor     string
	Text       string
	Tail       string // second text after words, with its own class
	TailClass  string
	Title      string // text that is shown when the pointer rests on the shape
	// D is path data, for the tags path and mark. A path is drawn on a plane that is 1000 units wide and as high as the
	// drawing. A mark is drawn in pixels around (X, Y).
	D string
}

// narrow is the width in pixels of the narrowest plot for which labels are laid out.
const narrow = 560

// letter is the width that is assumed for a letter of a label, in pixels. Most letters are narrower.
const letter = 6.6

func percent(v float64) string { return units.Number(v) + "%" }

func pixels(v float64) string { return units.Number(v) }

// rect draws a rectangle from x1 to x2 percent and from y1 to y2 pixels.
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

// words writes one or two texts from x1 to x2 percent. If there is too little room, the ends of the texts are cut. The
// whole texts show when the pointer rests on them.
func (d *Drawing) words(class string, x1, x2, y, height float64, text, tailClass, tail string) {
	d.Plot = append(d.Plot, Shape{
		Tag: "words", Class: class, X: percent(x1), Y: pixels(y), W: percent(x2 - x1), H: pixels(height),
		Text: text, Tail: tail, TailClass: tailClass,
	})
}

// mark draws a path, which is in pixels, around a point.
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

// sideWrapped writes a label into the left column, in two lines if it may be too wide for one.
func (d *Drawing) sideWrapped(class string, y float64, s string) {
	lines := texttable.Wrap(s, int(float64(d.Margin-8)/letter))
	if len(lines) != 2 {
		d.side(class, y, s)
		return
	}
	d.side(class+" small", y-6, lines[0])
	d.side(class+" small", y+6, lines[1])
}

// width returns the width of a label in the narrowest plot, in percent.
func width(s string) float64 {
	return (float64(len([]rune(s)))*letter + 8) / narrow * 100
}

// lanes distributes labels over as few rows as possible without overlaps. Callers add labels from left to right. Each
// entry is the position, in percent, at which the last label of a row ends.
type lanes []float64

// put adds a label that begins at x and is w wide, both in percent, and returns the label's row.
func (l *lanes) put(x, w float64) int {
	for i, end := range *l {
		if end <= x {
			(*l)[i] = x + w
			return i
		}
	}
	*l = append(*l, x+w)
	return len(*l) - 1
}
