package command

import (
	"slices"
	"strings"

	"github.com/doublegrant/doublegrant/harness/explore/internal/resp"
)

// This file knows which keys commands touch.

// Access lists the keys that a command reads and writes. It decides whether two commands may swap places without anyone
// noticing.
type Access struct {
	Reads, Writes []string
	Everything    bool // may touch anything: a script, or a command without an entry in the table touches
	Scripts       bool // needs the script cache
	TTL           bool // set only for commands in a MULTI: they may give a key a TTL
}

// touch is how a command uses its arguments as keys.
type touch uint8

const (
	unknown  touch = iota
	nothing        // no key: the command concerns its connection and passes without a step
	own            // WAIT: concerns what its connection wrote, so only a failover may change its reply
	reads          // reads its first argument
	readsAll       // reads all its arguments
	writes         // writes its first argument
	writeAll       // writes all its arguments
	popsAny        // writes all its arguments but the last, which is a time-out
	moves          // writes its first two arguments
	counted        // writes several keys; its second argument is how many
	streams        // reads the keys that follow STREAMS
	group          // writes the keys that follow STREAMS
	publish        // sends to its first argument, a channel
	channel        // subscribes to or unsubscribes from its arguments, which are channels
	pattern        // subscribes to or unsubscribes from patterns
)

// touches lists the commands that locks, filters and sequences use. A command that is not listed counts as touching
// everything, which costs schedules but never changes a verdict.
var touches = func() map[string]touch {
	m := map[string]touch{}
	for t, names := range map[touch]string{
		own: "wait",
		nothing: "hello auth client select ping echo multi unwatch discard readonly readwrite command quit info " +
			"cluster role",
		reads: "get ttl pttl expiretime pexpiretime type strlen getrange hget hexists hgetall hmget hlen scard " +
			"smembers sismember llen lrange lindex zscore zrange zcard xlen xrange",
		readsAll: "exists mget watch",
		writes: "set setnx setex psetex getset getdel getex incr incrby decr decrby append setrange expire pexpire " +
			"expireat pexpireat persist hset hsetnx hmset hincrby hdel sadd srem lpush rpush lpop rpop lrem ltrim " +
			"zadd zrem zpopmin zpopmax xadd xdel xtrim",
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

// AccessOf returns what a command touches. The result ungated is true if the command concerns only its connection, so
// that it needs no step of the schedule.
func AccessOf(args [][]byte) (a Access, ungated bool) {
	a, t := touched(args)
	return a, t == nothing
}

// touched returns the keys that a command reads and writes, and the entry of the table touches that says so.
func touched(args [][]byte) (a Access, t touch) {
	t, known := touches[string(args[0])] // most clients send names in one case
	n := ""
	if !known {
		n = Name(args)
		t = touches[n]
	}
	rest := args[1:]
	if len(rest) == 0 && t != nothing {
		t = unknown
	}
	switch t {
	case nothing, own:
	case reads:
		a.Reads = []string{string(rest[0])}
	case readsAll:
		a.Reads = resp.Words(rest)
	case writes:
		a.Writes = []string{string(rest[0])}
	case writeAll:
		a.Writes = resp.Words(rest)
	case popsAny:
		a.Writes = resp.Words(rest[:len(rest)-1])
	case moves:
		a.Writes = resp.Words(rest[:min(2, len(rest))])
	case counted:
		a.Writes = countedKeys(rest)
	case streams:
		a.Reads = streamKeys(rest)
	case group:
		a.Writes = streamKeys(rest)
	case publish:
		a.Writes, a.Reads = []string{ChannelKey(string(rest[0]))}, []string{patternsKey}
	case channel:
		for _, c := range resp.Words(rest) {
			a.Writes = append(a.Writes, ChannelKey(c))
		}
	case pattern:
		a.Writes = []string{patternsKey}
	default:
		a.Everything = true
		a.Scripts = strings.HasPrefix(n, "eval") || strings.HasPrefix(n, "script") || strings.HasPrefix(n, "fcall")
	}
	return a, t
}

// Add adds what b touches.
func (a *Access) Add(b Access) {
	a.Reads, a.Writes = append(a.Reads, b.Reads...), append(a.Writes, b.Writes...)
	a.Everything = a.Everything || b.Everything
	a.Scripts = a.Scripts || b.Scripts
	a.TTL = a.TTL || b.TTL
}

// Changes reports whether the command may write.
func (a Access) Changes() bool { return a.Everything || len(a.Writes) > 0 }

// Independent reports whether two commands have the same effects and replies in either order.
func (a Access) Independent(b Access) bool {
	if a.Everything || b.Everything {
		return false
	}
	return !Intersect(a.Writes, b.Reads) && !Intersect(a.Writes, b.Writes) && !Intersect(a.Reads, b.Writes)
}

// Intersect reports whether two lists have something in common.
func Intersect(a, b []string) bool {
	return slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
}

// ChannelKey returns the name that stands for a channel in lists of keys. No key of a client has this name.
func ChannelKey(channel string) string { return "\x00channel " + channel }

// IsNoKey reports whether a name in a list of keys stands for something else, such as a channel.
func IsNoKey(name string) bool { return strings.HasPrefix(name, "\x00") }

// patternsKey stands for all subscribed patterns: any channel may match one.
const patternsKey = "\x00patterns"

// Slot returns the Cluster slot of a key. If its first pair of braces is not empty, only what is inside counts. Source:
// Redis Cluster specification, "Hash tags", and its appendix on CRC-16.
func Slot(key string) int {
	if _, after, ok := strings.Cut(key, "{"); ok {
		if tag, _, ok := strings.Cut(after, "}"); ok && tag != "" {
			key = tag
		}
	}
	crc := uint16(0)
	for _, b := range []byte(key) {
		crc ^= uint16(b) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return int(crc % 16384)
}

// InOneSlot reports whether all keys belong to one slot.
func InOneSlot(keys ...string) bool {
	for _, k := range keys {
		if Slot(k) != Slot(keys[0]) {
			return false
		}
	}
	return true
}
