package reports

import (
	"strings"
	"unicode"
)

// escapeMarkdown escapes s so that Markdown shows it unchanged: no markup, no HTML, no mentions, one line.
func escapeMarkdown(s string) string {
	var b strings.Builder
	for _, r := range oneLine(s) {
		switch {
		case r == '&':
			b.WriteString("&amp;")
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r == '@':
			b.WriteString("@\u200b") // a zero-width space, so that nobody is notified
		case strings.ContainsRune("\\`*_[]|~#!", r):
			b.WriteRune('\\')
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// markdownCode writes s as code, also inside a table.
func markdownCode(s string) string {
	s = strings.ReplaceAll(oneLine(s), "`", "'")
	if strings.TrimSpace(s) == "" {
		return ""
	}
	return "`" + strings.ReplaceAll(s, "|", "\\|") + "`"
}

// markdownCommand writes a command line as code outside tables, so that it can be copied unchanged. A command with back
// quotes is written as text, since back quotes would end the code.
func markdownCommand(s string) string {
	if strings.Contains(s, "`") {
		return escapeMarkdown(s)
	}
	return "`" + oneLine(s) + "`"
}

// markdownBlock writes lines as a block of code, each behind the given indent. It replaces back quotes in the text,
// since only they could end the block.
func markdownBlock(text, indent string) string {
	lines := strings.Split(strings.TrimSuffix(strings.ReplaceAll(text, "`", "'"), "\n"), "\n")
	return indent + "```text\n" + indent + strings.Join(lines, "\n"+indent) + "\n" + indent + "```\n"
}

// oneLine replaces line breaks, control characters and characters that change the direction of text by spaces.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, s)
}

// markdownTable writes a Markdown table. Heads that begin with a colon are aligned to the right.
func markdownTable(b *strings.Builder, heads []string, rows [][]string) {
	for _, h := range heads {
		b.WriteString("| " + strings.TrimPrefix(h, ":") + " ")
	}
	b.WriteString("|\n")
	for _, h := range heads {
		if strings.HasPrefix(h, ":") {
			b.WriteString("|---:")
		} else {
			b.WriteString("|---")
		}
	}
	b.WriteString("|\n")
	for _, row := range rows {
		b.WriteString("| " + strings.Join(row, " | ") + " |\n")
	}
}
