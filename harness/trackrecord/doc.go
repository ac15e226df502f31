// Package trackrecord shows the bugs of package bugs. It builds the adapter of an entry with the pinned version of the
// library, and makes the entry's search or run. Then it compares what it finds with what the entry states. If the entry
// names a version that has to hold, the package does the same with that version: the version with the fix, or the last
// version before the bug.
package trackrecord
