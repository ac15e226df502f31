// Package suite runs lists of plans. It reads them from files, compares each run with what is expected of it, repeats them for
// hours if asked to, and keeps a record as runs end. It splits a suite into shards for several machines, and puts their results
// together.
package suite
