package command

import (
	"regexp"
	"slices"
	"strings"
)

// This file recognises Lua scripts whose outcome follows from the store, their arguments and the time.

var (
	// luaCall finds where a script calls a command. luaCommand finds the calls that name it.
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
	clock   bool // names a command or option that returns the server's time of day
	ttl     bool // names a command or option that returns the rest of a lease
	idle    bool // asks how long a key was not used

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

// What follows recognises Lua scripts that touch only their KEYS, so that they need not be monitored.

var (
	// luaKeyCall finds calls whose first argument is one of KEYS or a variable, and whether the call has more arguments.
	luaKeyCall = regexp.MustCompile(
		`\b(?:redis|server)\s*\.\s*p?call\s*\(\s*["'](\w+)["']\s*,\s*(KEYS\s*\[\s*\d+\s*\]|[A-Za-z_]\w*)\s*([,)])`)
	// luaKeyName finds local variables that hold one of KEYS.
	luaKeyName = regexp.MustCompile(`\blocal\s+([A-Za-z_]\w*)\s*=\s*KEYS\s*\[\s*\d+\s*\]\s*(?:;|\n|$)`)
	luaKeys    = regexp.MustCompile(`\bKEYS\b`)
	luaOneKey  = regexp.MustCompile(`\bKEYS\s*\[\s*\d+\s*\]`)
	luaKeySet  = regexp.MustCompile(`\bKEYS\s*\[\s*\d+\s*\]\s*(?:=[^=]|,[^()]*=[^=])`)
)

// TouchesKEYSOnly reports whether EVAL or EVALSHA runs a script that certainly touches only its KEYS. The script has to
// name its commands, each with one of KEYS as its only key.
func (s *Scripts) TouchesKEYSOnly(args [][]byte) bool {
	if n := Name(args); n != "eval" && n != "evalsha" {
		return false
	}
	body := s.Of(args)
	return body != "" && s.TraitsOf(body).keysOnly
}

// touchesKEYSOnly is TouchesKEYSOnly for a script's text.
func touchesKEYSOnly(body string) bool {
	calls := luaKeyCall.FindAllStringSubmatch(body, -1)
	if len(calls) < len(luaCall.FindAllString(body, -1)) || luaHidden.MatchString(body) ||
		luaKeySet.MatchString(body) ||
		len(luaKeys.FindAllString(body, -1)) > len(luaOneKey.FindAllString(body, -1)) {
		return false
	}
	var names []string
	for _, name := range luaKeyName.FindAllStringSubmatch(body, -1) {
		word := `\b` + name[1] + `\b`
		assigned := regexp.MustCompile(word + `[^=~<>()\n]*=[^=]|\bfor\s[^\n]*` + word + `|function[^)]*` + word)
		if len(assigned.FindAllString(body, -1)) == 1 {
			names = append(names, name[1])
		}
	}
	return !slices.ContainsFunc(calls, func(call []string) bool {
		return !luaOneKey.MatchString(call[2]) && !slices.Contains(names, call[2]) ||
			!hasOneKey(call[1], call[3] == ",")
	})
}

// hasOneKey reports whether a command's only key is its first argument. others says whether it has more arguments.
func hasOneKey(name string, others bool) bool {
	args := [][]byte{[]byte(name), []byte("k")}
	if others {
		args = append(args, []byte("1"), []byte("1"), []byte("1"))
	}
	access, _ := AccessOf(args)
	keys := slices.Compact(slices.Sorted(slices.Values(slices.Concat(access.Reads, access.Writes))))
	return !access.Everything && slices.Equal(keys, []string{"k"})
}
