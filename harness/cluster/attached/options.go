package attached

import (
	"cmp"
	"fmt"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
)

// Options holds the settings of clients. The zero value is a usable default.
type Options struct {
	Groups      int           // client groups, hence links to each node; default 5
	Clients     int           // connections to prepare for, of all groups together; default 100
	OpTimeout   time.Duration // read and write timeout; default 500ms
	Retries     int           // times that a command that got no answer is sent again; default none
	OwnSentinel bool          // group g asks only the Sentinel of its number (g mod Sentinels); default: it asks all

	// GroupIP returns the source address (no port) of a group's connections, and LookIP that of the connections by which we look at
	// its links. nil, or an empty answer: the kernel chooses.
	GroupIP, LookIP func(group int) string

	// Serves is called when another node than before acknowledges a write of a group, or the first does: kind is harness.EventServes. It
	// is called as well when another node than before answers what a group asks, with harness.EventAnswers: a replica answers reads, and
	// refuses writes. Calls are in the order of the answers of a group. It must not block. nil: nobody looks.
	Serves func(kind string, group int, node string)

	// Hook sees the commands of the groups' clients, outside of what whoever connects adds. nil: none.
	Hook redis.Hook

	// Wrap returns what a group's client uses in place of a new connection to a Redis node. It sees plain bytes, with TLS below it. Own
	// connections of Probe, Echo and Hangup are not wrapped. nil: the connection itself.
	Wrap func(group int, node string, conn net.Conn) net.Conn
}

// mostGroups is the largest number of client groups.
const mostGroups = 200

func (o Options) withDefaults() (Options, error) {
	if o.Groups < 0 || o.Groups > mostGroups || o.Clients < 0 || o.OpTimeout < 0 || o.Retries < 0 {
		return o, fmt.Errorf("attached: Clients, OpTimeout and Retries cannot be negative, and Groups is at most %d", mostGroups)
	}
	o.Groups = cmp.Or(o.Groups, 5)
	o.Clients = cmp.Or(o.Clients, 100)
	o.OpTimeout = cmp.Or(o.OpTimeout, 500*time.Millisecond)
	return o, nil
}
