// Package external runs loads on a Redis deployment that is already running and belongs to someone else.
//
// It starts and stops no node, changes no setting and empties nothing. All keys have a prefix, and a command with any
// other key is not sent. Faults act only on the links of the harness's own clients. Addresses, users and passwords stay
// out of names, events and errors.
package external
