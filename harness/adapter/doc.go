// Package adapter runs programs in any language that hold an algorithm under test. It tells a process what to do by
// lines of JSON. In a search there is a process for each client. It reaches Redis through its client's gate, the
// address at which the search holds back each command until the schedule lets it pass. README.md describes the
// protocol.
package adapter
