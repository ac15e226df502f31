package command

import (
	"strings"
)

// This file knows which commands have an outcome that follows from the store and the time.

// repeatable lists commands, in addition to those in the table touches, whose reply and effect follow from the store
// and the time of day. Those that list a set or a hash are among them, since one server lists it in the same order each
// time.
var repeatable = setOf("eval evalsha eval_ro evalsha_ro exec time getbit setbit bitcount incrbyfloat hincrbyfloat " +
	"hstrlen hkeys hvals zincrby zcount zrank zrevrange zrangebyscore zremrangebyscore zremrangebyrank rpushx lpushx " +
	"linsert lset lpos smove sunion sinter sdiff mset msetnx rename renamenx copy pfadd pfcount wait publish")

func setOf(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

// Repeats reports whether a command has the same outcome each time that the store and the time are the same.
func Repeats(args [][]byte) bool {
	n := Name(args)
	if n == "script" {
		return len(args) > 2 && second(args) == "load"
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
