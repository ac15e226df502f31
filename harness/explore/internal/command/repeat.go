package command

import "strings"

// This file tells which commands have an outcome that follows from what is stored, and from the time.

// repeatable lists commands, in addition to those of touches, whose reply and effect follow from what is stored and the
// time of day. That holds for the order in which one server lists a set or a hash, too.
var repeatable = func() map[string]bool {
	m := map[string]bool{}
	for _, n := range strings.Fields("eval evalsha eval_ro evalsha_ro exec time getbit setbit bitcount incrbyfloat " +
		"hincrbyfloat hstrlen hkeys hvals zincrby zcount " +
		"zrank zrevrange zrangebyscore zremrangebyscore zremrangebyrank rpushx lpushx linsert lset lpos smove sunion " +
		"sinter sdiff mset msetnx " +
		"rename renamenx copy pfadd pfcount wait publish") {
		m[n] = true
	}
	return m
}()

// Repeats reports whether the outcome of a command follows from what is stored, and from the time.
func Repeats(args [][]byte) bool {
	n := Name(args)
	if n == "script" {
		return len(args) > 2 && strings.EqualFold(string(args[1]), "load")
	}
	if repeatable[n] {
		return true
	}
	switch t := touches[n]; t {
	case reads, readsAll, writes, writeAll:
		return true
	case moves:
		return n == "rpoplpush" || n == "lmove"
	}
	return false
}
