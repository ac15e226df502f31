package command

import (
	"regexp"
	"slices"
	"strings"
)

// This file tells from the text of a Lua script whether its outcome follows from what is stored, its arguments and the
// time.

var (
	// luaCall finds where a script calls a command, luaCommand those of them that name it.
	luaCall    = regexp.MustCompile(`\b(?:redis|server)\s*\.\s*p?call\b`)
	luaCommand = regexp.MustCompile(`\b(?:redis|server)\s*\.\s*p?call\s*\(\s*["'](\w+)["']\s*[,)]`)

	// luaHidden finds what may call a command without showing it: redis under another name, as an argument or with an
	// index, code that is made while the script runs, and its own environment; and the clock of the process.
	luaHidden = regexp.MustCompile(`(?:=|,|\(|\{|\breturn\b|\bor\b|\band\b)\s*(?:redis|server)\b\s*(?:[^.\s]|$)|` +
		`\b(?:redis|server)\s*\[|\b_G\b|\b(?:getfenv|setfenv|loadstring|load|rawget|pairs\s*\(\s*redis)\b|\bos\s*\.`)
)

// Traits tells what the text of a script says about its outcome.
type Traits struct {
	Repeats bool // see scriptRepeats
	clock   bool // it names a command or an option by which Redis tells its time of day
	ttl     bool // it names a command or an option by which Redis tells what is left of a key
	idle    bool // it asks how long a key was not used

	keysOnly bool // see TouchesKEYSOnly
}

func traitsOf(body string) Traits {
	return Traits{scriptRepeats(body), quotedClockWord.MatchString(body), quotedTTLWord.MatchString(body),
		quotedIdleTime.MatchString(body), touchesKEYSOnly(body)}
}

// scriptRepeats reports whether the outcome of a Lua script follows from what is stored, its arguments and the time. It
// has to name its commands where it calls them. A script of which that cannot be seen does not count as one.
func scriptRepeats(body string) bool {
	calls := luaCommand.FindAllStringSubmatch(body, -1)
	if len(calls) < len(luaCall.FindAllString(body, -1)) || luaHidden.MatchString(body) {
		return false
	}
	return !slices.ContainsFunc(calls, func(call []string) bool {
		n := strings.ToLower(call[1])
		return runsScript(n) || n == "wait" || !Repeats([][]byte{[]byte(n), nil, nil})
	})
}
