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

// access is what a command touches. It decides which commands may change places without anybody noticing.
type access struct {
	reads, writes []string
	everything    bool // touches who knows what: scripts, commands that are not in the table
	scripts       bool // needs the script cache
	ttl           bool // inside a MULTI: may give a key a TTL
}

// touch says how commands touch keys.
type touch uint8

const (
	unknown  touch = iota
	nothing        // connection state only: passes ungated
	own            // what the connection wrote itself: nobody else's commands matter, but the world may
	reads          // reads its first argument
	readsAll       // reads all its arguments
	writes         // writes its first argument
	writeAll       // writes all its arguments
)

// touches lists the commands that algorithms of this kind use. What is missing here is taken to touch everything, which
// costs schedules and no verdict.
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

// name is the command's name in lower case.
func name(args [][]byte) string { return string(bytes.ToLower(args[0])) }

// accessOf looks at a command.
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

// add makes a touch what b touches, too.
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

// seenByOthers reports whether a CLIENT command tells others, or asks, about connections.
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

// timely reports whether what the command does depends on the time of day: it asks for a TTL, gives one, or may do
// either.
func (c command) timely() bool {
	switch name(c.args) {
	case "ttl", "pttl", "expiretime", "pexpiretime":
		return true
	}
	return c.everything || c.setsTTL()
}

// clockWords are the commands and options by which Redis tells its time of day, or is told one.
var clockWords = []string{"time", "expireat", "pexpireat", "expiretime", "pexpiretime", "exat", "pxat", "lastsave"}

// quotedClockWord finds them in a Lua text.
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

// acks is how many replicas a WAIT asks for; 0 for everything else.
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

// waits is how long a WAIT waits at most; 0 for everything else, and for one that waits for ever.
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

// text writes the command as a person would. A script goes by its name, or by its first line where the explorer has seen
// its text.
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

// scriptName is the name of a script that goes by its text or hash.
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
