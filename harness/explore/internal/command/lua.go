package command

import (
	"regexp"
	"slices"
	"strings"
)

// This file recognises Lua scripts whose outcome follows from the store, their arguments and the time.

var (
	// luaCall finds where a script calls a command. luaCommand finds only those calls in which the command's name is
	// written.
	luaCall    = regexp.MustCompile(`\b(?:redis|server)\s*\.\s*p?call\b`)
	luaCommand = regexp.MustCompile(`\b(?:redis|server)\s*\.\s*p?call\s*\(\s*["'](\w+)["']\s*[,)]`)

	// luaHidden finds what may call a command without naming it: redis under another name, as an argument or with an
	// index; code that is generated while the script runs; and the script's own environment. It also finds the clock of
	// the process.
	luaHidden = regexp.MustCompile(`(?:=|,|\(|\{|\breturn\b|\bor\b|\band\b)\s*(?:redis|server)\b\s*(?:[^.\s]|$)|` +
		`\b(?:redis|server)\s*\[|\b_G\b|\b(?:getfenv|setfenv|loadstring|load|rawget|pairs\s*\(\s*redis)\b|\bos\s*\.`)
)

// Traits is what the text of a script says about its outcome.
type Traits struct {
	Repeats bool // see scriptRepeats
	clock   bool // the text names a command or option that returns the server's time of day
	ttl     bool // the text names a command or option that returns a remaining TTL
	idle    bool // the text asks how long a key was not used

	keysOnly bool // see TouchesKEYSOnly
}

func traitsOf(body string) Traits {
	return Traits{scriptRepeats(body), quotedClockWord.MatchString(body), quotedTTLWord.MatchString(body),
		quotedIdleTime.MatchString(body), touchesKEYSOnly(body)}
}

// scriptRepeats reports whether the outcome of a Lua script follows from the store, its arguments and the time. It is
// false for a script that does not name its commands where it calls them.
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
