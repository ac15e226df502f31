// Package clients has the clients of a Redis deployment that is already running, with links on which faults can act.
//
// Each connection from a client group to a node passes a link of package fabric, with TLS inside it. A fault on the
// link acts on the connection as a network would. The deployment itself is left alone: links between its nodes do not
// exist here, and nodes get only the requests of clients, and a PING to test a link.
//
// Package cluster uses the same clients for the nodes that it runs. [Open] and [OpenOver] turn off go-redis's logger
// for the whole process. Otherwise the logger would write to standard error, with the address, each time a fault makes
// a dial fail.
package clients
