package cli_test

import (
	"cmp"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// trial says how a block is tried. The zero value: it runs in make test and exits with 0.
type trial struct {
	exits   string             // the exit codes that it may have, such as 0|2; empty: 0
	long    bool               // only TestLongReadmes runs it
	cannot  string             // why it cannot run here; its commands and flags are checked
	before  string             // shell lines to run first, such as ones that write a file that the text mentions
	instead []string           // pairs of printed text and what runs instead, such as a shorter time
	by      func(place, block) // tries an indented block as a whole, or a fenced one
}

// section is a part of a README between two headings.
type section struct {
	title  string
	blocks []block
}

// block is a block of code, or one command of it.
type block struct {
	trial
	key    string // in trials; empty: none
	lang   string // as its fence says; indented blocks have none
	text   string
	output string // what is printed below a command that begins with "$ "
}

// name returns the beginning of the block, for a subtest.
func (b block) name() string {
	line, _, _ := strings.Cut(b.text, "\n")
	line, _, _ = strings.Cut(line, "  #")
	return strings.TrimSpace(strings.ReplaceAll(line, "/", "_"))
}

var heading = regexp.MustCompile(`^#+ (.*)`)

// splitReadme returns the sections of a README that have blocks.
func splitReadme(text string, table map[string]trial) (all []section) {
	now, lines := section{}, strings.Split(text, "\n")
	flush := func() {
		if len(now.blocks) > 0 {
			all = append(all, now)
		}
	}
	for i := 0; i < len(lines); i++ {
		fence, lang, fenced := fenceOf(lines[i])
		switch {
		case fenced:
			begin := i + 1
			for i++; strings.TrimSpace(lines[i]) != fence; i++ {
			}
			now.blocks = append(now.blocks, newBlock(lang, strings.Join(lines[begin:i], "\n"), table))
		case strings.HasPrefix(lines[i], "    ") && (i == 0 || lines[i-1] == ""):
			begin := i
			for i < len(lines) && (strings.HasPrefix(lines[i], "    ") || lines[i] == "" && indented(lines, i+1)) {
				i++
			}
			now.blocks = append(now.blocks, splitIndented(lines[begin:i], table)...)
			i--
		default:
			if m := heading.FindStringSubmatch(lines[i]); m != nil {
				flush()
				now = section{title: m[1]}
			}
		}
	}
	flush()
	return all
}

func indented(lines []string, i int) bool {
	return i < len(lines) && strings.HasPrefix(lines[i], "    ")
}

// fenceOf reports whether a line begins a fenced block, of which language, and what ends it.
func fenceOf(line string) (fence, lang string, is bool) {
	trimmed := strings.TrimLeft(line, " ")
	lang, is = strings.CutPrefix(trimmed, "```")
	return "```", cmp.Or(lang, "text"), is
}

// newBlock returns a block with its trial: in table, the one of the longest key with which the block begins.
func newBlock(lang, text string, table map[string]trial) block {
	b := block{lang: lang, text: text}
	for key, t := range table {
		if strings.HasPrefix(text, key) && len(key) > len(b.key) {
			b.key, b.trial = key, t
		}
	}
	return b
}

// splitIndented returns the commands of an indented block. A line that is indented further, or follows a backslash,
// goes on with the command before. A command that begins with "$ " has its output below it.
func splitIndented(lines []string, table map[string]trial) (all []block) {
	for i, l := range lines {
		lines[i] = strings.TrimPrefix(l, "    ")
	}
	whole := newBlock("", strings.Join(lines, "\n"), table)
	if command, is := strings.CutPrefix(whole.text, "$ "); is {
		command, output, _ := strings.Cut(command, "\n")
		b := newBlock("", command, table)
		b.output = output
		return []block{b}
	}
	if whole.by != nil {
		return []block{whole}
	}
	var commands []string
	for i, l := range lines {
		if i > 0 && (strings.HasPrefix(l, "  ") || strings.HasSuffix(lines[i-1], `\`)) {
			commands[len(commands)-1] += "\n" + l
		} else if l != "" {
			commands = append(commands, l)
		}
	}
	for _, c := range commands {
		all = append(all, newBlock("", c, table))
	}
	return all
}

// mayDiffer lists what may differ between two outputs of one command.
var mayDiffer = []struct {
	what *regexp.Regexp
	is   string
}{
	{regexp.MustCompile(`dg1-[\w-]+`), "dg1"},
	{regexp.MustCompile(`\b[0-9a-f]{8}\b`), "hash"},
	{regexp.MustCompile(`\d[\d,.]*\d|\d`), "0"},
	{regexp.MustCompile(`\b(0(ns|µs|ms|s|m|h))+\b`), "time"},
	{regexp.MustCompile(`[ \t]+`), " "},
}

// shapeOf returns a line without what may differ.
func shapeOf(line string) string {
	for _, m := range mayDiffer {
		line = m.what.ReplaceAllString(line, m.is)
	}
	return strings.TrimSpace(line)
}

// misfit returns the first line of want that got lacks; empty: none. The lines of want must follow each other in got.
// Dots at the end of a line stand for its rest and for any lines that follow.
func misfit(want, got string) string {
	lines, next, anywhere := strings.Split(got, "\n"), 0, true
	for w := range strings.Lines(want) {
		begin, open := strings.CutSuffix(strings.TrimSpace(w), "...")
		fits := func() bool {
			line, want := shapeOf(lines[next]), shapeOf(begin)
			return line == want || open && strings.HasPrefix(line, want)
		}
		for anywhere && next < len(lines) && !fits() {
			next++
		}
		if next == len(lines) || !fits() {
			return w
		}
		next, anywhere = next+1, open
	}
	return ""
}

func TestShapesOfOutputs(t *testing.T) {
	const got = "found 1,234 in 12ms\n  1  client 1  GET  (nil)\n  2  client 2  SET 7\nreplay: dg1-abc\n"
	for _, want := range []string{"found 7 in 1.5s\n  1  client 3  GET (nil)", "found 7 ...\nreplay: dg1-x-y",
		"...\n  9  client 1  SET 8", "  3  client 3  SET 7"} {
		require.Empty(t, misfit(want, got))
	}
	for _, want := range []string{"lost 7 in 1.5s", "found 7 in 1.5s\n  2  client 2  SET 7", "found 7 in 1 shop",
		"replay: dg1-x\nand more", "lost..."} {
		require.NotEmpty(t, misfit(want, got), want)
	}
}
