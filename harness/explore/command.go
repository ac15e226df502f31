package explore

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// command is one command of a client, as it was sent.
type command struct {
	raw  []byte
	args [][]byte
	rest bool // came in one piece with the command before, as in a pipeline
	access
}

// access lists the keys that a command reads and writes. It decides which commands may change places without anybody noticing.
type access struct {
	reads, writes []string
	everything    bool // may touch anything: scripts, and commands that are not in touches
	scripts       bool // needs the script cache
	ttl           bool // inside a MULTI: may give a key a TTL
}

// touch tells how a command touches keys.
type touch uint8

const (
	unknown  touch = iota
	nothing        // connection state only: passes ungated
	own            // WAIT: about what its connection wrote; commands of others do not change its reply, but the world may
	reads          // reads its first argument
	readsAll       // reads all its arguments
	writes         // writes its first argument
	writeAll       // writes all its arguments
)

// touches lists the commands that locks, filters and sequences use. A command that is missing here is taken to touch
// everything, which costs schedules but never changes a verdict.
var touches = func() map[string]touch {
	m := map[string]touch{}
	for t, names := range map[touch]string{
		own:     "wait",
		nothing: "hello auth client select ping echo multi unwatch discard readonly readwrite command quit",
		reads: "get ttl pttl expiretime pexpiretime type strlen getrange hget hexists hgetall hmget hlen scard smembers " +
			"sismember llen lrange lindex zscore zrange zcard",
		readsAll: "exists mget watch",
		writes: "set setnx setex psetex getset getdel getex incr incrby decr decrby append setrange expire pexpire expireat " +
			"pexpireat persist hset hsetnx hmset hincrby hdel sadd srem lpush rpush lpop rpop zadd zrem",
		writeAll: "del unlink",
	} {
		for _, n := range strings.Fields(names) {
			m[n] = t
		}
	}
	return m
}()

// name returns the command's name in lower case.
func name(args [][]byte) string { return string(bytes.ToLower(args[0])) }

// accessOf returns what a command touches, and how.
func accessOf(args [][]byte) (a access, t touch) {
	t, known := touches[string(args[0])] // most clients send one case
	n := ""
	if !known {
		n = name(args)
		t = touches[n]
	}
	rest := args[1:]
	if len(rest) == 0 && t != nothing {
		t = unknown
	}
	switch t {
	case nothing, own:
	case reads:
		a.reads = []string{string(rest[0])}
	case readsAll:
		a.reads = words(rest)
	case writes:
		a.writes = []string{string(rest[0])}
	case writeAll:
		a.writes = words(rest)
	default:
		a.everything = true
		a.scripts = strings.HasPrefix(n, "eval") || strings.HasPrefix(n, "script") || strings.HasPrefix(n, "fcall")
	}
	return a, t
}

func words(args [][]byte) []string {
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = string(a)
	}
	return out
}

// add adds to a what b touches.
func (a *access) add(b access) {
	a.reads, a.writes = append(a.reads, b.reads...), append(a.writes, b.writes...)
	a.everything, a.scripts, a.ttl = a.everything || b.everything, a.scripts || b.scripts, a.ttl || b.ttl
}

// changes reports whether the command may write.
func (a access) changes() bool { return a.everything || len(a.writes) > 0 }

// independent reports whether two commands have the same effects and replies in either order.
func (a access) independent(b access) bool {
	if a.everything || b.everything {
		return false
	}
	return !meet(a.writes, b.reads) && !meet(a.writes, b.writes) && !meet(a.reads, b.writes)
}

func meet(a, b []string) bool {
	return slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
}

// blocks reports whether Redis may keep the client waiting for others.
func (c command) blocks() bool {
	switch n := name(c.args); n {
	case "subscribe", "psubscribe", "ssubscribe", "monitor", "blpop", "brpop", "brpoplpush", "blmove", "blmpop", "bzpopmin",
		"bzpopmax", "bzmpop":
		return true
	case "xread", "xreadgroup":
		return slices.ContainsFunc(c.args, func(a []byte) bool { return strings.EqualFold(string(a), "block") })
	}
	return false
}

// seenByOthers reports whether a CLIENT command changes what others see of the connection, or asks about other connections.
func seenByOthers(args [][]byte) bool {
	if len(args) < 2 {
		return false
	}
	switch strings.ToLower(string(args[1])) {
	case "setinfo", "id", "getname", "reply", "maint_notifications", "help":
		return false
	}
	return true
}

// timely reports whether the command's effect or reply depends on the time of day: it asks for a TTL, sets one, or may do
// either.
func (c command) timely() bool {
	switch name(c.args) {
	case "ttl", "pttl", "expiretime", "pexpiretime":
		return true
	}
	return c.everything || c.setsTTL()
}

// clockWords lists the commands and options by which Redis tells its time of day or is given one.
var clockWords = []string{"time", "expireat", "pexpireat", "expiretime", "pexpiretime", "exat", "pxat", "lastsave"}

// quotedClockWord finds clockWords in the text of a Lua script.
var quotedClockWord = regexp.MustCompile(`(?i)["'](` + strings.Join(clockWords, "|") + `|xadd)["']`)

// readsClock reports whether the outcome depends on the time of day that the server shows, as far as can be seen.
func (c command) readsClock(w *world) bool {
	switch n := name(c.args); {
	case n == "eval" && len(c.args) > 1:
		return quotedClockWord.Match(c.args[1])
	case n == "evalsha" && len(c.args) > 1:
		return quotedClockWord.MatchString(w.scripts[strings.ToLower(string(c.args[1]))])
	case n == "xadd":
		return slices.ContainsFunc(c.args, func(a []byte) bool { return bytes.Equal(a, []byte("*")) })
	case n == "set", n == "getex":
		return slices.ContainsFunc(c.args[min(2, len(c.args)):], func(a []byte) bool { return slices.Contains(clockWords, strings.ToLower(string(a))) })
	default:
		return slices.Contains(clockWords, n)
	}
}

// acks returns the number of replicas that a WAIT asks for. It is 0 for any other command.
func (c command) acks() int64 {
	if name(c.args) != "wait" || len(c.args) < 2 {
		return 0
	}
	n, err := strconv.ParseInt(string(c.args[1]), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// waits returns the time-out of a WAIT. It is 0 for any other command, and for a WAIT that waits for ever.
func (c command) waits() time.Duration {
	if name(c.args) != "wait" || len(c.args) < 3 {
		return 0
	}
	ms, err := strconv.ParseInt(string(c.args[2]), 10, 64)
	if err != nil {
		return 0
	}
	return time.Duration(ms) * time.Millisecond
}

// setsTTL reports whether the command may give a key a TTL.
func (c command) setsTTL() bool {
	switch n := name(c.args); n {
	case "set":
		return len(c.args) > 3
	case "getex", "setex", "psetex":
		return true
	case "exec":
		return c.ttl || c.everything
	default:
		return c.everything || strings.Contains(n, "expire")
	}
}

// text writes the command as a person would. A script is shown by its name, else by its first line, else, if the explorer
// has not seen its text, by the beginning of its hash.
func (c command) text(w *world) string {
	parts := words(c.args)
	parts[0] = strings.ToUpper(parts[0])
	script := len(parts) > 2 && (parts[0] == "EVAL" || parts[0] == "EVALSHA")
	if script {
		parts = slices.Concat(parts[:1], []string{w.scriptName(parts[1])}, parts[3:]) // without the number of keys
	}
	for i, p := range parts {
		if p == "" || strings.ContainsAny(p, " \t\r\n") && !(script && i == 1) {
			parts[i] = strconv.Quote(p)
		}
	}
	return clip(printable(strings.Join(parts, " ")), 160)
}

// scriptName returns how to show a script, which is given as its text or its hash.
func (w *world) scriptName(script string) string {
	body := script
	if isSHA(script) {
		if body = w.scripts[strings.ToLower(script)]; body == "" {
			return script[:8] + "…"
		}
	}
	if title := w.titles[body]; title != "" {
		return title
	}
	first, _, _ := strings.Cut(strings.TrimSpace(body), "\n")
	return "{" + clip(strings.TrimSpace(strings.TrimPrefix(first, "--")), 40) + "}"
}

func isSHA(s string) bool {
	return len(s) == 40 && strings.Trim(s, "0123456789abcdefABCDEF") == ""
}
