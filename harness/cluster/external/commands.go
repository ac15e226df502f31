package external

import (
	"fmt"
	"strconv"
	"strings"
)

// keysOf returns the keys among a command's arguments. Argument 0 is the command's name.
type keysOf func(args []string) ([]string, error)

// allowed lists the commands that may be sent. Any other command is refused, since the harness does not know the keys
// that it touches.
var allowed = map[string]keysOf{
	"hello": none, "auth": none, "select": none, "ping": none, "echo": none, "time": none, "quit": none, "reset": none,
	"multi": none, "exec": none, "discard": none, "unwatch": none, "wait": none, "waitaof": none,
	"client": allowSubcommands("setinfo", "setname", "getname", "id", "maint_notifications"),
	"script": allowSubcommands("load", "exists"),
	// to Sentinels that a client has discovered
	"sentinel":  allowSubcommands("get-master-addr-by-name", "sentinels", "replicas", "slaves", "master"),
	"subscribe": channels, "unsubscribe": none, "psubscribe": all, "punsubscribe": none, "publish": first,

	"get": first, "set": first, "setnx": first, "setex": first, "psetex": first, "getset": first, "getdel": first,
	"getex": first, "append": first, "strlen": first, "incr": first, "incrby": first, "incrbyfloat": first,
	"decr": first, "decrby": first,
	"del": all, "unlink": all, "exists": all, "touch": all, "watch": all, "mget": all, "mset": everySecond,
	"msetnx": everySecond,
	"expire": first, "pexpire": first, "expireat": first, "pexpireat": first, "persist": first, "ttl": first,
	"pttl": first, "expiretime": first, "pexpiretime": first, "type": first,
	"sadd": first, "srem": first, "smembers": first, "sismember": first, "scard": first, "sscan": first,
	"hset": first, "hsetnx": first, "hget": first, "hmget": first, "hdel": first, "hexists": first, "hincrby": first,
	"hgetall": first, "hlen": first, "hkeys": first, "hvals": first, "hscan": first,
	"lpush": first, "rpush": first, "lpop": first, "rpop": first, "llen": first, "lrange": first, "lrem": first,
	"ltrim": first, "blpop": allButLast, "brpop": allButLast,
	"zadd": first, "zrem": first, "zscore": first, "zcard": first, "zrange": first, "zrank": first, "zincrby": first,
	"zcount": first, "zremrangebyscore": first, "zrangebyscore": first, "zscan": first,
	"eval": counted, "evalsha": counted, "eval_ro": counted, "evalsha_ro": counted, "fcall": counted,
	"fcall_ro": counted,
}

func none([]string) ([]string, error)       { return nil, nil }
func first(args []string) ([]string, error) { return part(args, 1, 2) }
func all(args []string) ([]string, error)   { return part(args, 1, len(args)) }

// channels returns the channels of a SUBSCRIBE, which count as its keys. It leaves out channels whose names begin with
// +: on these, Sentinels announce events to clients.
func channels(args []string) (named []string, err error) {
	for _, c := range args[1:] {
		if !strings.HasPrefix(c, "+") {
			named = append(named, c)
		}
	}
	return named, nil
}

func allButLast(args []string) ([]string, error) { return part(args, 1, len(args)-1) }

func everySecond(args []string) (keys []string, err error) {
	for i := 1; i < len(args); i += 2 {
		keys = append(keys, args[i])
	}
	return keys, nil
}

// counted returns the keys of a script command, whose argument 2 is their number.
func counted(args []string) ([]string, error) {
	if len(args) < 3 {
		return nil, fmt.Errorf("%s gives no number of keys", args[0])
	}
	n, err := strconv.Atoi(args[2])
	if err != nil || n < 0 || n > len(args)-3 {
		return nil, fmt.Errorf("%s has fewer arguments than keys", args[0])
	}
	return args[3 : 3+n], nil
}

// allowSubcommands returns a keysOf for a command of which only the harmless subcommands may be sent. These touch no
// key. All other subcommands are refused.
func allowSubcommands(harmless ...string) keysOf {
	return func(args []string) ([]string, error) {
		for _, h := range harmless {
			if len(args) > 1 && strings.EqualFold(args[1], h) {
				return nil, nil
			}
		}
		return nil, fmt.Errorf("%s is not among the commands that are sent to an external Redis",
			strings.ToUpper(strings.Join(args[:min(2, len(args))], " ")))
	}
}

func part(args []string, from, to int) ([]string, error) {
	if to > len(args) || from >= to {
		return nil, fmt.Errorf("%s names no key", strings.ToUpper(args[0]))
	}
	return args[from:to], nil
}

// check returns an error that says why the command must not be sent. Only keys with the prefix belong to this run.
func check(args []string, prefix string) error {
	if len(args) == 0 {
		return nil
	}
	name := strings.ToLower(args[0])
	keys, ok := allowed[name]
	if !ok {
		return fmt.Errorf("%.40q is not among the commands that are sent to an external Redis", strings.ToUpper(name))
	}
	found, err := keys(args)
	if err != nil {
		return err
	}
	for _, k := range found {
		if !strings.HasPrefix(k, prefix) {
			return fmt.Errorf("%s names %.60q, which is outside the run's keys %s*", strings.ToUpper(name), k,
				prefix)
		}
	}
	return nil
}
