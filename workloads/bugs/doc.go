// Package bugs is the track record: bugs of real libraries, each with the search or run that shows it. README.md has
// the table, and says how to add one.
//
// An entry is a folder by the name of its id. It holds bug.yaml, which is a Bug, and the adapter that runs the
// unmodified library. All of it is embedded, so the program needs no clone. Package harness/trackrecord builds the
// adapters and shows the bugs.
package bugs
