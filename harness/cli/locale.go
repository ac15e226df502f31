package cli

import (
	"cmp"
	"io"
	"strings"
)

// unicodeLocale reports whether the environment's locale has UTF-8, as POSIX ranks its variables.
func unicodeLocale(getenv func(string) string) bool {
	locale := strings.ToLower(cmp.Or(getenv("LC_ALL"), getenv("LC_CTYPE"), getenv("LANG")))
	return strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8")
}

// inASCII replaces the characters beyond ASCII that doublegrant itself prints. Names and keys of users stay as they
// are.
var inASCII = strings.NewReplacer("µ", "u", "…", "...", "–", "-", "—", "-", "→", "->", "×", "x", "≤", "<=", "≥", ">=",
	"·", "-", "█", "#")

// asciiWriter writes text for a terminal whose locale has no UTF-8. Each Write has whole characters.
type asciiWriter struct{ io.Writer }

func (w asciiWriter) Write(p []byte) (int, error) {
	if _, err := inASCII.WriteString(w.Writer, string(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}
