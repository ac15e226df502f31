package command

import (
	"bytes"
	"slices"
	"strings"
)

// This file knows commands that would affect later schedules, or stop Redis.

// serverCommands concern the server, its copies or all of its data.
var serverCommands = setOf("shutdown replicaof slaveof failover debug module migrate psync sync swapdb move")

// WhyRefused says why a command cannot be explored, as the end of the sentence "client 1's NAME ..."; empty: the
// command can be explored.
func WhyRefused(args [][]byte) string {
	n := Name(args)
	sub := second(args)
	const outlives = "changes the server beyond the schedule"
	switch {
	case n == "select" && !bytes.Equal(args[len(args)-1], []byte("0")), n == "move", n == "swapdb",
		n == "copy" && hasWord(args, 3, "db"):
		return "uses another database, and only database 0 can be explored: use that"
	case n == "module" && sub == "list", n == "debug" && sub == "object":
		return ""
	case serverCommands[n], n == "acl" && (sub == "setuser" || sub == "deluser" || sub == "load"):
		return outlives
	case n == "client" && (sub == "reply" || sub == "pause"):
		return "suppresses answers that the search waits for"
	}
	return ""
}

// hasWord reports whether one of the given words is among the arguments, in upper or lower case. It ignores the
// arguments before the index in the parameter first.
func hasWord(args [][]byte, first int, words ...string) bool {
	return slices.ContainsFunc(args[min(first, len(args)):], func(a []byte) bool {
		return slices.Contains(words, strings.ToLower(string(a)))
	})
}

// second returns the second word of a command, such as a subcommand, in lower case; empty: there is none.
func second(args [][]byte) string {
	if len(args) < 2 {
		return ""
	}
	return strings.ToLower(string(args[1]))
}

// Loads reports whether a command changes the server's functions.
func Loads(args [][]byte) bool {
	return Name(args) == "function" && !slices.Contains([]string{"", "list", "dump", "stats"}, second(args))
}

// Greets reports whether a command is one that libraries send when they connect. Such a command touches no key.
func Greets(args [][]byte) bool {
	sub := second(args)
	switch n := Name(args); n {
	case "time", "dbsize", "lastsave", "lolwut", "module", "acl", "latency", "sentinel", "client":
		return true
	case "config":
		return sub == "get" || sub == "set"
	case "script":
		return sub == "load" || sub == "exists"
	case "function":
		return sub == "load" || sub == "list" || sub == "stats"
	default: // a command of a module, without arguments: whether the server has it
		return len(args) == 1 && strings.Contains(n, ".")
	}
}

// Configures returns the parameters that a CONFIG SET changes; nil: the command is no CONFIG SET.
func Configures(args [][]byte) (parameters []string) {
	if Name(args) != "config" || len(args) < 4 || second(args) != "set" {
		return nil
	}
	for i := 2; i+1 < len(args); i += 2 {
		parameters = append(parameters, strings.ToLower(string(args[i])))
	}
	return parameters
}

// FlushesScripts reports whether a command empties the script cache.
func FlushesScripts(args [][]byte) bool {
	return Name(args) == "script" && second(args) == "flush"
}
