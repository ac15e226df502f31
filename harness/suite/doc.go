// Package suite runs lists of plans. It reads them from files, compares each run with its expectation, repeats them for
// hours on request, and keeps a record as runs end. It also splits a suite into shards for several machines, and merges
// their results.
package suite
