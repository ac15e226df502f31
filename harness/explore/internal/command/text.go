package command

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/doublegrant/doublegrant/harness/explore/internal/resp"
)

// This file writes commands as a person would.

const (
	longText  = 160 // bounds a command, in bytes
	longWord  = 48  // a word of more is shortened
	shortWord = 36  // to so much, or more where another would look the same
	longHead  = 40  // bounds the comment or the line by which a script is shown
	mostCalls = 4   // bounds the commands by which a script is shown
)

// Names holds how the texts of one schedule show long words and scripts, each its own way. A nil Names takes each for
// itself.
type Names map[string]string // what is shown for what

// Text writes the command as a person would. A script is shown by its name, else by the comment with which it begins
// and the commands that it calls, else, if the explorer has not seen its text, by the beginning of its hash.
func (c Command) Text(s *Scripts) string { return c.TextAmong(s, nil) }

// TextAmong is Text, beside other texts with the same names.
func (c Command) TextAmong(s *Scripts, names Names) string {
	parts := resp.Words(c.Args)
	parts[0] = strings.ToUpper(parts[0])
	script := len(parts) > 2 && (parts[0] == "EVAL" || parts[0] == "EVALSHA")
	if script {
		parts = slices.Concat(parts[:1], []string{names.script(parts[1], s)}, parts[3:]) // without the number of keys
	}
	words := parts[1:]
	if script {
		words = parts[2:]
	}
	for i, p := range words {
		p = names.Short(p)
		if words[i] = p; p == "" || strings.ContainsAny(p, " \t\r\n") {
			words[i] = strconv.Quote(p)
		}
	}
	return resp.Clip(resp.Printable(strings.Join(parts, " ")), longText)
}

// Short leaves out the middle of a word that is long, and less of it where another word would look the same.
func (n Names) Short(word string) string {
	if len(word) <= longWord {
		return word
	}
	for most := shortWord; most < len(word); most++ {
		if short := resp.Clip(word, most); n.take(short, word) {
			return short
		}
	}
	return word
}

// take makes short stand for what it was made of. It reports false if it stands for something else.
func (n Names) take(short, of string) bool {
	if other, taken := n[short]; taken {
		return other == of
	}
	if n != nil {
		n[short] = of
	}
	return true
}

// script returns how to show a script, which is given as its text or its hash. Where another is shown by the same name,
// the beginning of its hash follows.
func (n Names) script(script string, s *Scripts) string {
	body := script
	if isSHA(script) {
		if body = s.TextOf(script); body == "" {
			return script[:8] + "…"
		}
	}
	name := s.name(body)
	if !n.take(name, body) {
		name += "#" + Hash(body)[:4]
	}
	return name
}

// name returns the name of a script with that text.
func (s *Scripts) name(body string) string {
	if title := s.titles[body]; title != "" {
		return title
	}
	first, _, _ := strings.Cut(strings.TrimSpace(body), "\n")
	head, comment := strings.CutPrefix(first, "--")
	calls := callsText(body)
	switch head = resp.Clip(strings.TrimSpace(head), longHead); {
	case calls == "":
		return "{" + head + "}"
	case comment && head != "" && !strings.HasPrefix(head, "[[") && !saysLittle.MatchString(head):
		return "{" + head + ": " + calls + "}"
	}
	return "{" + calls + "}"
}

// saysLittle matches comments that many scripts begin with.
var saysLittle = regexp.MustCompile(`\b(?:KEYS|ARGV)\b|(?i)copyright|licen[cs]e`)

// callsText lists the commands that a script names where it calls them, in order, each once.
func callsText(body string) string {
	var names []string
	for _, call := range luaCommand.FindAllStringSubmatch(body, -1) {
		if n := strings.ToUpper(call[1]); !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	if len(names) > mostCalls {
		names = append(names[:mostCalls], "…")
	}
	return strings.Join(names, ", ")
}

func isSHA(s string) bool {
	return len(s) == 40 && strings.Trim(s, "0123456789abcdefABCDEF") == ""
}
