// Package tally holds the results of a suite: of its runs, of its cases, and the memory that the harness itself took.
//
// [Run] and [Sample] are the lines of suite.jsonl, [Suite] is suite.json, so their JSON stays. The suite fills them in while it
// runs, or from its record; reports show them. Times are lengths of time in nanoseconds, memory is in bytes.
package tally
