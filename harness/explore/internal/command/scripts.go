package command

import (
	"crypto/sha1"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Scripts holds the Lua scripts that were seen. It is not safe for concurrent use.
type Scripts struct {
	texts  map[string]string // texts, by hash
	titles map[string]string // names, by text; may be nil
	read   map[string]Traits // traits, by text
}

// NewScripts returns an empty table. The parameter titles holds the names of scripts, by text.
func NewScripts(titles map[string]string) *Scripts {
	return &Scripts{map[string]string{}, titles, map[string]Traits{}}
}

// Learn stores the text of the script in an EVAL or SCRIPT LOAD.
func (s *Scripts) Learn(args [][]byte) {
	if body, ok := ScriptIn(args); ok {
		s.texts[Hash(body)] = body
	}
}

// LearnFrom stores the texts of another table.
func (s *Scripts) LearnFrom(other *Scripts) { maps.Copy(s.texts, other.texts) }

// Hashes lists the hashes of all scripts, sorted.
func (s *Scripts) Hashes() []string { return slices.Sorted(maps.Keys(s.texts)) }

// TextOf returns the text of the script with the given hash; empty: the script was never seen.
func (s *Scripts) TextOf(hash string) string { return s.texts[strings.ToLower(hash)] }

// callsHidden reports whether a command calls a Redis function, whose text is unknown.
func callsHidden(name string) bool { return name == "fcall" || name == "fcall_ro" }

// runsScript reports whether a command runs a script, by its text or by its hash.
func runsScript(name string) bool {
	return name == "eval" || name == "evalsha" || name == "eval_ro" || name == "evalsha_ro"
}

// Of returns the text of the script that a command runs or loads; empty: there is none, or its text was never seen.
func (s *Scripts) Of(args [][]byte) string {
	if body, ok := ScriptIn(args); ok {
		return body
	}
	if n := Name(args); (n == "evalsha" || n == "evalsha_ro") && len(args) > 1 {
		return s.TextOf(string(args[1]))
	}
	return ""
}

// IsUnseen reports whether a command runs a script that was never seen.
func (s *Scripts) IsUnseen(args [][]byte) bool {
	if n := Name(args); n != "evalsha" && n != "evalsha_ro" || len(args) < 2 {
		return false
	}
	_, seen := s.texts[strings.ToLower(string(args[1]))]
	return !seen
}

// TraitsOf returns what the text of a script says about its outcome.
func (s *Scripts) TraitsOf(body string) Traits {
	t, known := s.read[body]
	if !known {
		t = traitsOf(body)
		s.read[body] = t
	}
	return t
}

// ScriptIn returns the text of the script in an EVAL or SCRIPT LOAD.
func ScriptIn(args [][]byte) (body string, ok bool) {
	switch n := Name(args); {
	case (n == "eval" || n == "eval_ro") && len(args) > 1:
		return string(args[1]), true
	case n == "script" && len(args) > 2 && second(args) == "load":
		return string(args[2]), true
	}
	return "", false
}

// Hash returns the hash by which Redis knows a script.
func Hash(body string) string { return fmt.Sprintf("%x", sha1.Sum([]byte(body))) } // Redis uses SHA-1
