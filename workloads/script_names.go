package workloads

import (
	"regexp"
	"slices"
	"strings"
)

// This file decides whether a script may do more with the tokens of owners than ask whether two of them are the same. In
// doubt the answer is yes, which costs schedules and changes no verdict.

var (
	// luaComment matches a comment, or a string, since there is no comment inside of a string.
	luaComment = regexp.MustCompile(`(?s)"[^"\n]*"|'[^'\n]*'|--\[\[.*?\]\]|--[^\n]*`)
	luaQuoted  = regexp.MustCompile(`"[^"\n]*"|'[^'\n]*'`)
	luaWord    = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_.]*`)
	// luaOrders matches whatever could compare, cut or join values.
	luaOrders = regexp.MustCompile(`[<>#:\[\]{}%^*/\\]|\.\.`)
)

// plainWords lists the words that a script may use if it is to compare values for equality only. plainStrings lists what it
// may quote: commands that treat values as opaque, and their options.
var (
	plainWords = strings.Fields("if then else elseif end return local and or not nil true false redis.call redis.pcall " +
		"redis.status_reply redis.error_reply KEYS ARGV")
	plainStrings = strings.Fields("get set setnx setex psetex getset getdel exists del unlink expire pexpire persist ttl pttl " +
		"hget hset hsetnx hexists hdel hlen hincrby incr decr incrby nx px ex xx ok")
)

// comparesNames reports whether a script may compare owners' tokens for more than equality. So it may where a token is a part of what it is
// given, or a key, or where what it is given in any case is some client's name: then whose name it is matters.
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

// comparesNames reports whether a Lua text may compare what it is given for more than equality.
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
	for _, given := range []string{"KEYS", "ARGV"} {
		text = regexp.MustCompile(given+`\[\d+\]`).ReplaceAllString(text, given)
	}
	if luaOrders.MatchString(text) {
		return true
	}
	own := declaredNames(text)
	return slices.ContainsFunc(luaWord.FindAllString(text, -1), func(w string) bool {
		return !slices.Contains(plainWords, w) && !slices.Contains(own, w)
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
