package command

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness/explore/internal/resp"
)

// This file knows the commands that Redis may block.

// Blocks reports whether Redis may hold the command back until other clients act.
func (c Command) Blocks() bool {
	_, _, ok := c.timeoutArg()
	return ok
}

// Monitors reports whether the command shows other clients' commands.
func (c Command) Monitors() bool { return Name(c.Args) == "monitor" }

// timeoutArg returns the index of a blocking command's time-out among the arguments, and the unit of the time-out. ok
// is false for a command that does not block, and for one that Redis rejects.
func (c Command) timeoutArg() (place int, unit time.Duration, ok bool) {
	n := len(c.Args)
	switch Name(c.Args) {
	case "blpop", "brpop", "bzpopmin", "bzpopmax":
		return n - 1, time.Second, n >= 3
	case "brpoplpush":
		return n - 1, time.Second, n == 4
	case "blmove":
		return n - 1, time.Second, n == 6
	case "blmpop", "bzmpop":
		return 1, time.Second, n >= 5
	case "xread", "xreadgroup":
		block := slices.IndexFunc(c.Args, func(a []byte) bool { return strings.EqualFold(string(a), "block") })
		return block + 1, time.Millisecond, block > 0 && block+1 < n
	}
	return 0, 0, false
}

// BlocksFor returns the time-out of a blocking command. It is 0 if there is none, or if the command does not block.
func (c Command) BlocksFor() time.Duration {
	place, unit, ok := c.timeoutArg()
	if !ok {
		return 0
	}
	n, err := strconv.ParseFloat(string(c.Args[place]), 64)
	if err != nil || n <= 0 {
		return 0
	}
	return time.Duration(n * float64(unit))
}

// WithoutTimeout returns the bytes of a blocking command with its time-out set to 0. A time-out that Redis rejects
// stays.
func (c Command) WithoutTimeout() []byte {
	if c.BlocksFor() == 0 {
		return c.Raw
	}
	args := resp.Words(c.Args)
	place, _, _ := c.timeoutArg()
	args[place] = "0"
	return resp.Request(args...)
}

// streamKeys returns the keys of XREAD and XREADGROUP: the first half of what follows STREAMS.
func streamKeys(args [][]byte) []string {
	at := slices.IndexFunc(args, func(a []byte) bool { return strings.EqualFold(string(a), "streams") })
	if at < 0 {
		return nil
	}
	rest := args[at+1:]
	return resp.Words(rest[:len(rest)/2])
}

// countedKeys returns the keys of BLMPOP and BZMPOP, which follow their number.
func countedKeys(args [][]byte) []string {
	n, err := strconv.Atoi(string(args[min(1, len(args)-1)]))
	if err != nil || n < 1 || n+2 > len(args) {
		return nil
	}
	return resp.Words(args[2 : 2+n])
}
