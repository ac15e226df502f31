package command

import (
	"regexp"
	"slices"
	"strings"
)

// This file knows which commands depend on the time of day.

// clockWords lists the commands and options that return the server's time of day, or take a time of day as an argument.
var clockWords = []string{"time", "expireat", "pexpireat", "expiretime", "pexpiretime", "exat", "pxat", "lastsave"}

// quotedClockWord finds clockWords in a Lua script.
var quotedClockWord = regexp.MustCompile(`(?i)["'](` + strings.Join(clockWords, "|") + `|xadd)["']`)

// ReadsClock reports whether the outcome of a command depends on the server's time of day, as far as can be seen. It is
// true for a Redis function, whose text is unknown.
func (s *Scripts) ReadsClock(args [][]byte) bool {
	switch n := Name(args); {
	case callsHidden(n):
		return true
	case runsScript(n):
		return s.TraitsOf(s.Of(args)).clock
	case n == "xadd":
		return hasWord(args, 0, "*")
	case n == "set", n == "getex":
		return hasWord(args, 2, clockWords...)
	default:
		return slices.Contains(clockWords, n)
	}
}

// ttlWords lists the commands whose outcome depends on a key's remaining TTL.
var ttlWords = []string{"ttl", "pttl", "expiretime", "pexpiretime"}

// quotedTTLWord finds ttlWords in a Lua script, and also the options GT and LT of EXPIRE, which compare TTLs.
var quotedTTLWord = regexp.MustCompile(`(?i)["'](` + strings.Join(ttlWords, "|") + `|gt|lt)["']`)

// ReadsTTL reports whether the outcome of a command depends on a key's remaining TTL, as far as can be seen. It is true
// for a Redis function, whose text is unknown.
func (s *Scripts) ReadsTTL(args [][]byte) bool {
	switch n := Name(args); {
	case callsHidden(n):
		return true
	case runsScript(n):
		return s.TraitsOf(s.Of(args)).ttl
	case strings.Contains(n, "expire") && len(args) > 3:
		return hasWord(args, 3, "gt", "lt")
	default:
		return slices.Contains(ttlWords, n)
	}
}

// quotedIdleTime finds where a Lua script asks how long a key was not used, or how often it was used.
var quotedIdleTime = regexp.MustCompile(`(?i)["']object["']\s*,\s*["'](idletime|freq)["']`)

// ReadsIdleTime reports whether the outcome of a command depends on how long a key was not used, as far as can be seen.
// Redis measures that by the machine's clock, whatever the time of day is set to.
func (s *Scripts) ReadsIdleTime(args [][]byte) bool {
	if runsScript(Name(args)) {
		return s.TraitsOf(s.Of(args)).idle
	}
	return Name(args) == "object" && (second(args) == "idletime" || second(args) == "freq")
}
