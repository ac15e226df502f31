package reports

import (
	"cmp"

	"github.com/doublegrant/doublegrant/harness/texttable"
	"github.com/doublegrant/doublegrant/harness/units"
)

// Layout says how text for a terminal looks. The zero value is brief text of 80 columns. Commands stay on one line,
// even if they are longer.
type Layout struct {
	Width   int  // number of columns of a line, 20 or more; 0: 80
	Verbose bool // the text has statistics, and a line for each part of a search or each checker
}

const usualWidth = 80

// Fold returns text behind a head, on one line or more. Line breaks and control characters in the text become harmless.
func (l Layout) Fold(head, text string) string {
	return texttable.Fold(head, units.Visible(text), l.width())
}

func (l Layout) width() int { return cmp.Or(l.Width, usualWidth) }
