package clients

import (
	"cmp"
	"fmt"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
)

// Options holds the settings of clients. The zero value is a usable default.
type Options struct {
	Groups      int           // number of client groups, each with a link to each node; default 5
	Clients     int           // expected number of connections of all groups together; default 100
	OpTimeout   time.Duration // read and write timeout; default 500ms
	Retries     int           // how often a command without an answer is sent again; default: not at all
	OwnSentinel bool          // group g asks only Sentinel g mod Sentinels; default: group g asks all

	// GroupIP returns the source address, without a port, of a group's connections. LookIP returns the source address
	// of the connections that probe the group's links. If such a function is nil or returns "", the kernel chooses the
	// address.
	GroupIP, LookIP func(group int) string

	// OnServes is called with the first node that serves a group, and whenever another node takes over. kind is
	// harness.EventServesWrites for the node that acknowledges the group's writes. It is harness.EventAnswers for the node
	// that answers the group at all: a replica answers reads and refuses writes. The calls for one group come in the order
	// of the answers that the group got. OnServes must not block. nil: not called.
	OnServes func(kind string, group int, node string)

	// Hook is the first go-redis hook of the groups' clients, so hooks that callers of Connect add run inside it. nil:
	// none.
	Hook redis.Hook

	// Wrap wraps each new connection of a group's client to a Redis node. The wrapper sees plain bytes, since TLS is below
	// it. Connections of Probe, Echo and Hangup are not wrapped. nil: no wrapping.
	Wrap func(group int, node string, conn net.Conn) net.Conn
}

// maxGroups is the largest number of client groups.
const maxGroups = 200

func (o Options) withDefaults() (Options, error) {
	if o.Groups < 0 || o.Groups > maxGroups || o.Clients < 0 || o.OpTimeout < 0 || o.Retries < 0 {
		return o, fmt.Errorf("clients: Clients, OpTimeout and Retries cannot be negative, and Groups is at most %d",
			maxGroups)
	}
	o.Groups = cmp.Or(o.Groups, 5)
	o.Clients = cmp.Or(o.Clients, 100)
	o.OpTimeout = cmp.Or(o.OpTimeout, 500*time.Millisecond)
	return o, nil
}
