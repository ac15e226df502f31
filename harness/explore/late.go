package explore

import (
	"github.com/doublegrant/doublegrant/harness/explore/internal/command"
	"github.com/doublegrant/doublegrant/harness/explore/internal/model"
	"github.com/doublegrant/doublegrant/harness/explore/internal/resp"
)

// This file handles late commands, which their client has given up and Redis may still execute.

// giveUp lets the client go on without an answer to its next command. It returns the command as a late one, with the
// connection on which Redis may still execute it.
func (c *conn) giveUp() (late lateCommand, err error) {
	if err := c.reconnectToPrimary(); err != nil || c.failed != nil {
		return late, err
	}
	late = lateCommand{wire: c.wire, node: c.Node, commands: c.Queue, pending: c.Snapshot()}
	c.dialer.world.abandonedWires = append(c.dialer.world.abandonedWires, c.wire)
	c.wire, c.Queue, c.unread, c.Watched, c.failed = nil, nil, nil, nil, errUnanswered
	return late, nil
}

// lateCommand is a command that its client has given up and that Redis may still execute, with the rest of its
// pipeline.
type lateCommand struct {
	client   int // client that sent it, from 0
	wire     *resp.Conn
	node     int               // node to which wire leads
	commands []command.Command // the command that the client waited for, then the rest of its pipeline
	arrived  bool
	at       int // length of the schedule when the command was given up

	// state of the connection, if the model learns from the schedule or the schedule is run from memory
	pending *command.Pending
	watched []model.Watched // keys watched on the connection
}

// access returns what the commands touch.
func (l lateCommand) access() (a command.Access) {
	for _, c := range l.commands {
		a.Add(c.Access)
	}
	return a
}
