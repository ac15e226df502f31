// Package tally holds the results of a suite: its runs, its cases, and the memory of the harness itself.
//
// [Run] and [Sample] are lines of suite.jsonl and [Suite] is suite.json, so their JSON is a format that must not
// change. The suite fills them in while it runs, or from its record. Reports show them. Durations are in nanoseconds,
// memory is in bytes.
package tally
