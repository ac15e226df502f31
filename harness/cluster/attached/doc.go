// Package attached has the clients of a Redis deployment that somebody else runs, with links of our own that faults can strike.
//
// A connection of a client group to a node passes a link of package fabric, with TLS inside of it: what strikes the link strikes the
// connection as a network would. The deployment itself is left alone. There are no links between its nodes here, and nothing is asked
// of them but what clients ask, and a PING to see whether a link carries anything.
//
// Package cluster uses the same clients for the nodes that it runs. [Open] and [On] turn off go-redis's logger for the whole process:
// it would write each dial that a fault makes fail, with the address, to standard error.
package attached
