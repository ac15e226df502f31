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
	raw       []byte
	args      [][]byte
	pipelined bool // came in one piece with the command before, as in a pipeline
	meaning   *meaning
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
	popsAny        // writes all its arguments but the last, which is a time-out
	moves          // writes its first two arguments
	counted        // writes the keys whose number is its second argument
	streams        // reads the keys that follow STREAMS
	group          // writes the keys that follow STREAMS
	publish        // sends to its first argument, a channel
	channel        // listens, or does not listen any more, to its arguments, which are channels
	pattern        // the same for patterns
)

// touches lists the commands that locks, filters and sequences use. A command that is missing here is taken to touch
// everything, which costs schedules but never changes a verdict.
var touches = func() map[string]touch {
	m := map[string]touch{}
	for t, names := range map[touch]string{
		own:     "wait",
		nothing: "hello auth client select ping echo multi unwatch discard readonly readwrite command quit",
		reads: "get ttl pttl expiretime pexpiretime type strlen getrange hget hexists hgetall hmget hlen scard smembers " +
			"sismember llen lrange lindex zscore zrange zcard xlen xrange",
		readsAll: "exists mget watch",
		writes: "set setnx setex psetex getset getdel getex incr incrby decr decrby append setrange expire pexpire expireat " +
			"pexpireat persist hset hsetnx hmset hincrby hdel sadd srem lpush rpush lpop rpop lrem ltrim zadd zrem zpopmin zpopmax " +
			"xadd xdel xtrim",
		writeAll: "del unlink",
		popsAny:  "blpop brpop bzpopmin bzpopmax",
		moves:    "brpoplpush blmove rpoplpush lmove",
		counted:  "blmpop bzmpop",
		streams:  "xread",
		group:    "xreadgroup",
		publish:  "publish spublish",
		channel:  "subscribe ssubscribe unsubscribe sunsubscribe",
		pattern:  "psubscribe punsubscribe",
	} {
		for _, n := range strings.Fields(names) {
			m[n] = t
		}
	}
	return m
}()

// commandName returns the command's name in lower case.
func commandName(args [][]byte) string { return string(bytes.ToLower(args[0])) }

// accessOf returns what a command touches, and how.
func accessOf(args [][]byte) (a access, t touch) {
	t, known := touches[string(args[0])] // most clients send one case
	n := ""
	if !known {
		n = commandName(args)
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
	case popsAny:
		a.writes = words(rest[:len(rest)-1])
	case moves:
		a.writes = words(rest[:min(2, len(rest))])
	case counted:
		a.writes = countedKeys(rest)
	case streams:
		a.reads = streamKeys(rest)
	case group:
		a.writes = streamKeys(rest)
	case publish:
		a.writes, a.reads = []string{channelKey(string(rest[0]))}, []string{patternsKey}
	case channel:
		for _, c := range words(rest) {
			a.writes = append(a.writes, channelKey(c))
		}
	case pattern:
		a.writes = []string{patternsKey}
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
	return !intersect(a.writes, b.reads) && !intersect(a.writes, b.writes) && !intersect(a.reads, b.writes)
}

func intersect(a, b []string) bool {
	return slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
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
	switch commandName(c.args) {
	case "ttl", "pttl", "expiretime", "pexpiretime", "xadd":
		return true
	}
	return c.everything || c.setsTTL()
}

// clockWords lists the commands and options by which Redis tells its time of day or is given one.
var clockWords = []string{"time", "expireat", "pexpireat", "expiretime", "pexpiretime", "exat", "pxat", "lastsave"}

// quotedClockWord finds clockWords in the text of a Lua script.
var quotedClockWord = regexp.MustCompile(`(?i)["'](` + strings.Join(clockWords, "|") + `|xadd)["']`)

// readsClock reports whether the outcome depends on the time of day that the server shows, as far as can be seen.
func (c command) readsClock(w *world) bool { return clockIn(c.args, w.scripts, w.read) }

// clockIn reports whether the outcome of a command depends on the time of day. scripts holds the texts of scripts by their hashes.
func clockIn(args [][]byte, scripts map[string]string, read readScripts) bool {
	switch n := commandName(args); {
	case n == "eval" && len(args) > 1:
		return read.traits(string(args[1])).clock
	case n == "evalsha" && len(args) > 1:
		return read.traits(scripts[strings.ToLower(string(args[1]))]).clock
	case n == "xadd":
		return slices.ContainsFunc(args, func(a []byte) bool { return bytes.Equal(a, []byte("*")) })
	case n == "set", n == "getex":
		return slices.ContainsFunc(args[min(2, len(args)):], func(a []byte) bool { return slices.Contains(clockWords, strings.ToLower(string(a))) })
	default:
		return slices.Contains(clockWords, n)
	}
}

// quotedIdleTime finds in the text of a Lua script where it asks how long, or how often, a key was not used.
var quotedIdleTime = regexp.MustCompile(`(?i)["']object["']\s*,\s*["'](idletime|freq)["']`)

// readsIdleTime reports whether the outcome depends on how long a key was not used, as far as can be seen. Redis measures that by the
// machine's time, whatever the time of day is set to.
func (c command) readsIdleTime(w *world) bool {
	switch n := commandName(c.args); {
	case n == "eval" && len(c.args) > 1:
		return w.read.traits(string(c.args[1])).idle
	case n == "evalsha" && len(c.args) > 1:
		return w.read.traits(w.scripts[strings.ToLower(string(c.args[1]))]).idle
	case n == "object" && len(c.args) > 1:
		what := strings.ToLower(string(c.args[1]))
		return what == "idletime" || what == "freq"
	}
	return false
}

// wantedAcks returns the number of replicas that a WAIT asks for. It is 0 for any other command.
func (c command) wantedAcks() int64 {
	if commandName(c.args) != "wait" || len(c.args) < 2 {
		return 0
	}
	n, err := strconv.ParseInt(string(c.args[1]), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// waitTimeout returns the time-out of a WAIT. It is 0 for any other command, and for a WAIT that waits for ever.
func (c command) waitTimeout() time.Duration {
	if commandName(c.args) != "wait" || len(c.args) < 3 {
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
	switch n := commandName(c.args); n {
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
