package workloads

import (
	"regexp"
	"slices"
	"strings"
)

// This file decides whether a script may use the tokens of owners for anything else than asking whether two of them are
// equal. In doubt the answer is yes, which costs schedules and changes no verdict.

var (
	// luaComment matches a comment or a string. It matches strings so that it finds no comment inside of one.
	luaComment = regexp.MustCompile(`(?s)"[^"\n]*"|'[^'\n]*'|--\[\[.*?\]\]|--[^\n]*`)
	luaQuoted  = regexp.MustCompile(`"[^"\n]*"|'[^'\n]*'`)
	luaWord    = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_.]*`)
	// luaOrders matches what could order values, cut them or join them.
	luaOrders = regexp.MustCompile(`[<>#:\[\]{}%^*/\\]|\.\.`)
)

// plainWords lists the words that a script may use if it compares values for equality only. plainStrings lists the
// strings that it may contain: commands that treat values as opaque, and their options.
var (
	plainWords = strings.Fields("if then else elseif end return local and or not nil true false redis.call " +
		"redis.pcall redis.status_reply redis.error_reply KEYS ARGV")
	plainStrings = strings.Fields("get set setnx setex psetex getset getdel exists del unlink expire pexpire persist " +
		"ttl pttl hget hset hsetnx hexists hdel hlen hincrby incr decr incrby nx px ex xx ok")
)

// comparesNames reports whether a script may do more with owners' tokens than compare them for equality. A token that
// is a key or part of an argument counts as more. So does an argument that is the name of a client of the explorer.
func (s Script) comparesNames() bool {
	s = s.withDefaults()
	for i, t := range slices.Concat(s.Keys, s.Args, s.ReleaseArgs) {
		names := strings.Contains(t, "{owner}")
		if names && (t != "{owner}" || i < len(s.Keys)) || slices.Contains(exploredNames[:], t) {
			return true
		}
	}
	return comparesNames(s.Source) || comparesNames(s.Release)
}

// comparesNames reports whether a Lua text may do more with its arguments than compare them for equality.
func comparesNames(text string) bool {
	text = luaComment.ReplaceAllStringFunc(text, func(s string) string {
		if strings.HasPrefix(s, "--") {
			return " "
		}
		return s
	})
	for _, quoted := range luaQuoted.FindAllString(text, -1) {
		if !slices.Contains(plainStrings, strings.ToLower(strings.Trim(quoted, `"'`))) {
			return true
		}
	}
	text = luaQuoted.ReplaceAllString(text, " ")
	for _, table := range []string{"KEYS", "ARGV"} {
		text = regexp.MustCompile(table+`\[\d+\]`).ReplaceAllString(text, table)
	}
	if luaOrders.MatchString(text) {
		return true
	}
	declared := declaredNames(text)
	return slices.ContainsFunc(luaWord.FindAllString(text, -1), func(w string) bool {
		return !slices.Contains(plainWords, w) && !slices.Contains(declared, w)
	})
}

var luaLocal = regexp.MustCompile(`\blocal\s+([A-Za-z_][A-Za-z0-9_]*(?:\s*,\s*[A-Za-z_][A-Za-z0-9_]*)*)`)

// declaredNames lists the names that a text declares.
func declaredNames(text string) (names []string) {
	for _, m := range luaLocal.FindAllStringSubmatch(text, -1) {
		for name := range strings.SplitSeq(m[1], ",") {
			names = append(names, strings.TrimSpace(name))
		}
	}
	return names
}
