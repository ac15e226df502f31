// Package adapter runs programs in any language that hold an algorithm under test. It tells a process what to do by
// lines of JSON. README.md describes the protocol.
//
// In a search each client has a process of its own. The process reaches Redis through the client's gate: an address at
// which the search holds back each command until the schedule lets it pass.
package adapter
