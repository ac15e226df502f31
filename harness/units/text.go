package units

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Visible replaces characters that could control a terminal or change the direction of a text: line breaks and tabs by
// spaces, others by U+FFFD.
func Visible(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\u2028' || r == '\u2029':
			return ' '
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r):
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// Squeeze shortens s to n runes, at least 3, by cutting out its middle. Commands differ mostly at the beginning and at
// the end.
func Squeeze(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	n = max(n, 3)
	tail := (n - 1) / 3
	return string(r[:n-1-tail]) + "…" + string(r[len(r)-tail:])
}

// Letters counts the runes of s.
func Letters(s string) int { return utf8.RuneCountInString(s) }
