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
	gap       = 2  // number of spaces between two columns
	narrowest = 10 // width in runes below which no column is shrunk

	usual = 80 // width of running text in columns, for output other than a terminal
	least = 20 // width of running text in columns, on a terminal with fewer columns
)

// Width returns the width of the terminal w in columns. It returns 0 if w is not a terminal, since lines may have any
// length in that case.
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

// Columns returns the width of running text on w: the width of the terminal, but at least 20. If w is not a terminal,
// it is 80.
func Columns(w io.Writer) int {
	if width := Width(w); width > 0 {
		return max(least, width)
	}
	return usual
}

// Terminal reports whether w is a terminal.
func Terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Table holds rows of cells. The first row has the heads of the columns. Rows may have different numbers of cells. The
// zero value is empty.
type Table struct{ rows [][]string }

// Add adds a row.
func (t *Table) Add(cells ...string) { t.rows = append(t.rows, cells) }

// Write writes the table in lines of at most width runes, or of any length if width is 0. If the table is too wide, the
// widest columns shrink, and their cells are wrapped: between words or, if that is not enough, after a dash, slash or
// comma. If the table is still too wide, each row becomes a list of its cells. A word that is wider than width has a
// line of its own, which is longer than width.
func (t *Table) Write(w io.Writer, width int) error {
	var b strings.Builder
	if widths := t.fitted(width); widths != nil {
		for _, row := range t.rows {
			writeRow(&b, row, widths)
		}
	} else {
		t.writeList(&b, width)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// fitted returns widths of columns with which the table fits into width; nil: no widths make it fit.
func (t *Table) fitted(width int) []int {
	for _, lowest := range []func(string) int{longestWord, longestPiece} {
		if widths := t.widths(utf8.RuneCountInString); shrink(widths, t.widths(lowest), width) {
			return widths
		}
	}
	return nil
}

// widths returns, for each column, the largest width of its cells, as the given function measures them, in runes.
func (t *Table) widths(of func(cell string) int) (all []int) {
	for _, row := range t.rows {
		for i, cell := range row {
			if i == len(all) {
				all = append(all, 0)
			}
			all[i] = max(all[i], of(cell))
		}
	}
	return all
}

// longestWord returns the length of the longest word of a cell.
func longestWord(cell string) (n int) {
	for word := range strings.FieldsSeq(cell) {
		n = max(n, utf8.RuneCountInString(word))
	}
	return n
}

// longestPiece returns the length of the longest part of a cell that Wrap does not break.
func longestPiece(cell string) (n int) {
	for word := range strings.FieldsSeq(cell) {
		for _, piece := range pieces(word) {
			n = max(n, utf8.RuneCountInString(piece))
		}
	}
	return n
}

// shrink narrows columns until the table fits into width. Each time it takes the widest column that may still become
// narrower. It reports whether the table fits. No column becomes narrower than its entry in the list lowest, or than
// the constant narrowest.
func shrink(widths, lowest []int, width int) bool {
	total := gap * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	for ; width > 0 && total > width; total-- {
		widest := -1
		for i, w := range widths {
			if w > max(narrowest, lowest[i]) && (widest < 0 || w > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return false
		}
		widths[widest]--
	}
	return true
}

// writeList writes each row as its first cell and, below it, the other cells with the heads of their columns.
func (t *Table) writeList(b *strings.Builder, width int) {
	if len(t.rows) == 0 {
		return
	}
	heads := t.rows[0]
	for _, row := range t.rows[1:] {
		for i, cell := range row {
			switch {
			case i == 0:
				b.WriteString(Fold("", cell, width))
			case strings.TrimSpace(cell) != "" && i < len(heads):
				b.WriteString(Fold("  "+strings.ToLower(strings.TrimSpace(heads[i]))+": ", cell, width))
			}
		}
	}
}

// Fold returns the text after the given head, in lines of at most width runes that end with a line break. Lines after
// the first are indented as far as the text, or by 4 if head takes more than half of the width. Lines break only at
// spaces. A word that is longer than width has a line of its own.
func Fold(head, text string, width int) string {
	indent := utf8.RuneCountInString(head)
	if indent > width/2 {
		indent = min(4, width/4)
	}
	var b strings.Builder
	line, length := head, utf8.RuneCountInString(head)
	begun := strings.TrimSpace(head) != ""
	for word := range strings.SplitSeq(text, " ") {
		n := utf8.RuneCountInString(word)
		if begun && length+n > width {
			b.WriteString(strings.TrimRight(line, " ") + "\n")
			line, length = strings.Repeat(" ", indent), indent
		}
		line, length, begun = line+word+" ", length+n+1, true
	}
	return b.String() + strings.TrimRight(line, " ") + "\n"
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

// Wrap breaks text into lines of at most width runes. It breaks lines between words or, where a word is too long, after
// a dash, slash or comma. A part that is still too long has a line of its own. Wrap does not change a text that fits.
// If width is 0, every text fits.
func Wrap(text string, width int) (lines []string) {
	if width <= 0 || utf8.RuneCountInString(text) <= width {
		return []string{text}
	}
	line, length := "", 0
	for word := range strings.FieldsSeq(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case line == "":
		case length+1+n <= width:
			line, length = line+" ", length+1
		default:
			lines, line, length = append(lines, line), "", 0
		}
		if length+n <= width {
			line, length = line+word, length+n
			continue
		}
		for _, piece := range pieces(word) {
			n := utf8.RuneCountInString(piece)
			if line != "" && length+n > width {
				lines, line, length = append(lines, line), "", 0
			}
			line, length = line+piece, length+n
		}
	}
	return append(lines, line)
}

// pieces splits a word after each dash, slash and comma.
func pieces(word string) (all []string) {
	for {
		i := strings.IndexAny(word, "-/,")
		if i < 0 || i == len(word)-1 {
			return append(all, word)
		}
		all, word = append(all, word[:i+1]), word[i+1:]
	}
}
