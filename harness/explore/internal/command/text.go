package command

import (
	"slices"
	"strconv"
	"strings"

	"github.com/doublegrant/doublegrant/harness/explore/internal/resp"
)

// This file writes commands as a person would.

// Text writes the command as a person would. A script is shown by its name, else by its first line, else, if the explorer
// has not seen its text, by the beginning of its hash.
func (c Command) Text(s *Scripts) string {
	parts := resp.Words(c.Args)
	parts[0] = strings.ToUpper(parts[0])
	script := len(parts) > 2 && (parts[0] == "EVAL" || parts[0] == "EVALSHA")
	if script {
		parts = slices.Concat(parts[:1], []string{s.name(parts[1])}, parts[3:]) // without the number of keys
	}
	for i, p := range parts {
		if p == "" || strings.ContainsAny(p, " \t\r\n") && !(script && i == 1) {
			parts[i] = strconv.Quote(p)
		}
	}
	return resp.Clip(resp.Printable(strings.Join(parts, " ")), 160)
}

// name returns how to show a script, which is given as its text or its hash.
func (s *Scripts) name(script string) string {
	body := script
	if isSHA(script) {
		if body = s.TextOf(script); body == "" {
			return script[:8] + "…"
		}
	}
	if title := s.titles[body]; title != "" {
		return title
	}
	first, _, _ := strings.Cut(strings.TrimSpace(body), "\n")
	return "{" + resp.Clip(strings.TrimSpace(strings.TrimPrefix(first, "--")), 40) + "}"
}

func isSHA(s string) bool {
	return len(s) == 40 && strings.Trim(s, "0123456789abcdefABCDEF") == ""
}
