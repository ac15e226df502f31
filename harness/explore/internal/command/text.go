package command

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/doublegrant/doublegrant/harness/explore/internal/resp"
)

// This file writes commands for people.

const (
	longText  = 160 // limit of the text of a command, in bytes
	longWord  = 48  // a word with more bytes is shortened
	shortWord = 36  // bytes of a shortened word; more if another word would look the same
	longHead  = 40  // limit of the comment or line by which a script is shown, in bytes
	mostCalls = 4   // the largest number of commands by which a script is shown
)

// Names maps short forms of words and scripts to what they stand for, so that no short form stands for two things in
// one schedule. A nil Names keeps nothing: the same short form may stand for several things.
type Names map[string]string // short form to original

// Text writes the command for people. A script is shown by its title. Without a title it is shown by its first comment
// and the commands that it calls. If its text is unknown, it is shown by the beginning of its hash.
func (c Command) Text(s *Scripts) string { return c.TextAmong(s, nil) }

// TextAmong does what Text does, but uses short forms that are unique in the given table.
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

// Short leaves out the middle of a long word. If the result already stands for another word, it leaves out less.
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

// take makes one word the short form of another. It returns false if short stands for something else already.
func (n Names) take(short, original string) bool {
	if other, taken := n[short]; taken {
		return other == original
	}
	if n != nil {
		n[short] = original
	}
	return true
}

// script returns how to show a script, given as text or hash. If another script has the same name, the beginning of its
// hash is added.
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

// saysLittle matches comments that many scripts have, and that therefore identify none.
var saysLittle = regexp.MustCompile(`\b(?:KEYS|ARGV)\b|(?i)copyright|licen[cs]e`)

// callsText lists the commands that a script calls, in order, each once.
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
