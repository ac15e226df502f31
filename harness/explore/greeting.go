package explore

import (
	"slices"
	"strings"

	"github.com/doublegrant/doublegrant/harness/explore/internal/command"
)

// This file recognises greetings: what a library sends on a new connection outside of any operation, such as INFO,
// TIME, CLIENT SETNAME or SCRIPT LOAD. A greeting is learned when it is sent between operations. On later connections
// it passes without a step, so a schedule does not depend on whether the client reconnects.

// greets reports whether the next command is a greeting, which a library sends on a new connection and which takes no
// step. Between operations, where a is nil, every command for which command.Greets is true is a greeting, and greets
// remembers it. During an operation of the actor a, only a remembered command is one.
func (c *conn) greets(a *actor) bool {
	next, d := &c.Queue[0], c.dialer
	if c.used || !d.client || c.Multi || !command.Greets(next.Args) {
		return false
	}
	said := greetingOf(next.Args)
	switch {
	case a == nil && !slices.Contains(d.greeting, said):
		d.greeting = append(d.greeting, said)
	// operations do not name their connection
	case a != nil && !slices.Contains(d.greeting, said) && !(c.ofAdapter && strings.HasPrefix(said, "client ")):
		return false
	}
	next.Access, _ = command.AccessOf(next.Args)
	d.world.Scripts.Learn(next.Args)
	return true
}

// greetingOf returns what identifies a greeting: name, subcommand, and the text of a script. The rest may vary.
func greetingOf(args [][]byte) string {
	n := command.Name(args)
	switch {
	case len(args) < 2, n == "time", n == "dbsize":
		return n
	case n == "script" || n == "function":
		return n + " " + strings.ToLower(string(args[1])) + " " + string(args[len(args)-1])
	}
	return n + " " + strings.ToLower(string(args[1]))
}

// noteOutOfTurn counts a command that a client sent outside of its operations.
func (w *world) noteOutOfTurn(c command.Command) {
	w.outOfTurn++
	if text := c.Text(w.Scripts); len(w.strays) < mostStrays && !slices.Contains(w.strays, text) {
		w.strays = append(w.strays, text)
	}
}

// mostStrays bounds the different commands that a message names when clients sent commands outside of their operations.
const mostStrays = 3
