package command

import (
	"regexp"
	"slices"
)

// This file recognises Lua scripts that touch only their KEYS, so that they need not be monitored.

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

// hasOneKey reports whether a command's only key is its first argument. The parameter others says whether the command
// has more arguments.
func hasOneKey(name string, others bool) bool {
	args := [][]byte{[]byte(name), []byte("k")}
	if others {
		args = append(args, []byte("1"), []byte("1"), []byte("1"))
	}
	access, _ := AccessOf(args)
	keys := slices.Compact(slices.Sorted(slices.Values(slices.Concat(access.Reads, access.Writes))))
	return !access.Everything && slices.Equal(keys, []string{"k"})
}
