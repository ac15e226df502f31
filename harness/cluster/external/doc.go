// Package external runs loads on a Redis deployment that is already there: somebody else's.
//
// It starts and stops no node, changes no setting and empties nothing. All keys are under a prefix, and what would touch another key
// is not sent. Faults strike the links of our own clients only. Addresses, users and passwords stay out of names, events and errors.
package external
