package explore

import (
	"slices"
	"strings"

	"github.com/doublegrant/doublegrant/harness/explore/internal/command"
)

// This file knows what a library sends when it connects, which is no operation's: INFO, TIME, CLIENT SETNAME, the
// scripts that it loads. What a client sends first on a new connection while none of its operations is under way is its
// greeting. On every later connection it passes as it did then, so that a schedule is the same whether a connection was
// there or not.

// greets lets a command pass that greets the server, and reports whether it does. a is whose operation is under way;
// nil: none is.
func (c *conn) greets(a *actor) bool {
	next, d := &c.Queue[0], c.dialer
	if c.used || !d.client || c.Multi || !command.Greets(next.Args) {
		return false
	}
	said := greetingOf(next.Args)
	switch {
	case a == nil && !slices.Contains(d.greeting, said):
		d.greeting = append(d.greeting, said)
	// no operation names its connection
	case a != nil && !slices.Contains(d.greeting, said) && !(c.outside && strings.HasPrefix(said, "client ")):
		return false
	}
	next.Access, _ = command.AccessOf(next.Args)
	d.world.Scripts.Learn(next.Args)
	return true
}

// greetingOf returns a command without what it may say anew each time: with its subcommand, and the text of a script.
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

// noteStray notes a command that a client has sent when none of its operations was under way.
func (w *world) noteStray(c command.Command) {
	w.strayCommands++
	if text := c.Text(w.Scripts); len(w.strays) < mostStrays && !slices.Contains(w.strays, text) {
		w.strays = append(w.strays, text)
	}
}

// mostStrays is the number of such commands that are named.
const mostStrays = 3
