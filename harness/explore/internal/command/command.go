// Package command knows what commands and Lua scripts do: what they touch, whether Redis may block them, and what their
// outcome depends on.
package command

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Command is one command of a client, as it was sent.
type Command struct {
	Raw       []byte
	Args      [][]byte
	Pipelined bool // arrived together with the command before it
	Meaning   *Meaning
	Access
}

// Name returns the command's name in lower case.
func Name(args [][]byte) string {
	if n, known := lowered[string(args[0])]; known {
		return n
	}
	return string(bytes.ToLower(args[0]))
}

// lowered maps command names, which are all lower case or all upper case, to lower case. A look-up allocates nothing.
var lowered = func() map[string]string {
	m := map[string]string{}
	for n := range touches {
		m[n], m[strings.ToUpper(n)] = n, n
	}
	for n := range repeatable {
		m[n], m[strings.ToUpper(n)] = n, n
	}
	return m
}()

// Subscribes reports whether n is the name of a command that subscribes or unsubscribes.
func Subscribes(n string) bool { return touches[n] == channel || touches[n] == pattern }

// SeenByOthers reports whether a CLIENT command changes what other clients see of the connection, or asks about other
// connections.
func SeenByOthers(args [][]byte) bool {
	return !slices.Contains([]string{"", "setinfo", "id", "getname", "reply", "maint_notifications", "help"},
		second(args))
}

// DependsOnTime reports whether the command's effect or reply depends on the time of day: the command reads a TTL, sets
// one, or may do either.
func (c Command) DependsOnTime() bool {
	switch Name(c.Args) {
	case "ttl", "pttl", "expiretime", "pexpiretime", "xadd":
		return true
	}
	return c.Everything || c.SetsTTL()
}

// WantedAcks returns the number of replicas that a WAIT asks for. It is 0 for any other command.
func (c Command) WantedAcks() int64 { return c.waitArg(1) }

// WaitTimeout returns the time-out of a WAIT. It is 0 for a WAIT without one, and for any other command.
func (c Command) WaitTimeout() time.Duration { return time.Duration(c.waitArg(2)) * time.Millisecond }

func (c Command) waitArg(i int) int64 {
	if Name(c.Args) != "wait" || len(c.Args) <= i {
		return 0
	}
	n, err := strconv.ParseInt(string(c.Args[i]), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// SetsTTL reports whether the command may give a key a TTL.
func (c Command) SetsTTL() bool {
	switch n := Name(c.Args); n {
	case "set":
		return len(c.Args) > 3
	case "getex", "setex", "psetex":
		return true
	case "exec":
		return c.TTL || c.Everything
	default:
		return c.Everything || strings.Contains(n, "expire")
	}
}

// ChangedNothing reports whether a reply says that the command wrote nothing: its condition was not met, a watched key
// was touched, or Redis lacks the script.
func (c Command) ChangedNothing(reply string) bool {
	n := Name(c.Args)
	if strings.HasPrefix(reply, "-NOSCRIPT") {
		return true
	}
	switch n {
	case "exec":
		return isNull(reply)
	case "set":
		return isNull(reply) && !hasWord(c.Args, 3, "get")
	case "setnx", "hsetnx", "expire", "pexpire", "expireat", "pexpireat", "del", "unlink":
		return strings.HasPrefix(reply, ":0\r\n")
	}
	return false
}

func isNull(reply string) bool {
	return strings.HasPrefix(reply, "$-1") || strings.HasPrefix(reply, "*-1") || strings.HasPrefix(reply, "_")
}

// Pending is what a connection has to send, and what the outcome depends on besides the store.
type Pending struct {
	Queue       []Command // commands not sent yet
	Node        int       // number of the node to which the connection leads
	Multi       bool      // inside a MULTI
	Queued      Access    // what the commands queued in the MULTI touch
	Transaction []byte    // bytes of those commands
	Watched     []string  // keys under WATCH, which EXEC checks
}

// Next returns the next command. The queue must not be empty.
func (p *Pending) Next() *Command { return &p.Queue[0] }

// OpenTransaction returns the commands queued since MULTI; nil: none, or p is nil.
func (p *Pending) OpenTransaction() []byte {
	if p == nil || !p.Multi {
		return nil
	}
	return p.Transaction
}

// Snapshot returns a copy that does not change.
func (p *Pending) Snapshot() *Pending {
	s := &Pending{Queue: slices.Clone(p.Queue), Node: p.Node, Multi: p.Multi, Queued: p.Queued,
		Watched: slices.Clone(p.Watched)}
	if p.Multi {
		s.Transaction = slices.Clone(p.Transaction)
	}
	return s
}
