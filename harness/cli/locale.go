package cli

import (
	"cmp"
	"io"
	"strings"
)

// localeOf returns the environment's locale, as POSIX ranks its variables; empty: none is set.
func localeOf(getenv func(string) string) string {
	return cmp.Or(getenv("LC_ALL"), getenv("LC_CTYPE"), getenv("LANG"))
}

func unicodeLocale(getenv func(string) string) bool {
	locale := strings.ToLower(localeOf(getenv))
	return strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8")
}

// wantsASCII reports whether text has to be ASCII, since the locale has no UTF-8. If no locale is set, as in many CI
// jobs, only a terminal gets ASCII: files and the log pages of CI show UTF-8.
func wantsASCII(terminal bool, getenv func(string) string) bool {
	return !unicodeLocale(getenv) && (terminal || localeOf(getenv) != "")
}

// inASCII replaces the characters beyond ASCII that doublegrant itself prints. Names and keys of users stay as they
// are.
var inASCII = strings.NewReplacer("µ", "u", "…", "...", "–", "-", "—", "-", "−", "-", "→", "->", "×", "x", "±", "+-",
	"≤", "<=", "≥", ">=", "·", "-", "█", "#")

// asciiWriter writes text for a locale without UTF-8. Callers never split a character between two calls of Write.
type asciiWriter struct{ io.Writer }

func (w asciiWriter) Write(p []byte) (int, error) {
	if _, err := inASCII.WriteString(w.Writer, string(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}
