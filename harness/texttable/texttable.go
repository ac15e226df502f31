// Package texttable prints tables for people. Cells are aligned, and wrapped if the terminal is too narrow for them.
package texttable

import (
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

const (
	gap       = 2  // spaces between two columns
	narrowest = 10 // width in runes below which no column is shrunk
)

// Width returns the width of the terminal w in columns. It is 0 if w is not a terminal, and lines may have any length.
func Width(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok || !Terminal(w) {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// Terminal reports whether w is a terminal.
func Terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Table holds rows of cells. The first row has the heads. Rows may have different numbers of cells. The zero value is
// empty.
type Table struct{ rows [][]string }

// Add adds a row.
func (t *Table) Add(cells ...string) { t.rows = append(t.rows, cells) }

// Write writes the table in lines of at most width runes, or of any length if width is 0. If that is too narrow, the
// widest columns shrink, down to 10 runes, and their cells are wrapped. If even that is too wide, lines are longer than
// width.
func (t *Table) Write(w io.Writer, width int) error {
	widths := t.widths()
	shrink(widths, width)
	var b strings.Builder
	for _, row := range t.rows {
		writeRow(&b, row, widths)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// widths returns the width of the widest cell of each column, in runes.
func (t *Table) widths() (all []int) {
	for _, row := range t.rows {
		for i, cell := range row {
			if i == len(all) {
				all = append(all, 0)
			}
			all[i] = max(all[i], utf8.RuneCountInString(cell))
		}
	}
	return all
}

// shrink narrows the widest column, again and again, until all fit into width or none is wider than narrowest.
func shrink(widths []int, width int) {
	if width <= 0 {
		return
	}
	total := gap * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	for ; total > width; total-- {
		widest := 0
		for i, w := range widths {
			if w > widths[widest] {
				widest = i
			}
		}
		if widths[widest] <= narrowest {
			return
		}
		widths[widest]--
	}
}

// writeRow writes one row in as many lines as its longest cell needs.
func writeRow(b *strings.Builder, row []string, widths []int) {
	cells := make([][]string, len(row))
	lines := 1
	for i, cell := range row {
		cells[i] = Wrap(cell, widths[i])
		lines = max(lines, len(cells[i]))
	}
	for n := range lines {
		line := ""
		for i := range cells {
			text := ""
			if n < len(cells[i]) {
				text = cells[i][n]
			}
			line += text + strings.Repeat(" ", max(0, widths[i]-utf8.RuneCountInString(text))+gap)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

// Wrap breaks text into lines of at most width runes: between words, else after a dash or slash, else inside a word.
// Text that fits is not changed, and neither is any text if width is 0.
func Wrap(text string, width int) (lines []string) {
	if width <= 0 {
		return []string{text}
	}
	for utf8.RuneCountInString(text) > width {
		runes := []rune(text)
		cut := lastBreak(runes[:width+1])
		lines = append(lines, strings.TrimRight(string(runes[:cut]), " "))
		text = strings.TrimLeft(string(runes[cut:]), " ")
	}
	return append(lines, text)
}

// lastBreak returns where to end a line. runes has one rune more than fits.
func lastBreak(runes []rune) int {
	for i := len(runes) - 1; i > 0; i-- {
		if runes[i] == ' ' {
			return i
		}
	}
	for i := len(runes) - 1; i > len(runes)/2; i-- {
		if strings.ContainsRune("-/,", runes[i-1]) {
			return i
		}
	}
	return len(runes) - 1
}
