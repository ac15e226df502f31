// Package trackrecord shows the bugs of package bugs: it builds the adapter of an entry with the pinned version of the
// library, makes the entry's search or run, and compares what it finds with what the entry states. Then it does the
// same with a version that has to hold, if there is one: the version with the fix, or the last version before the bug.
package trackrecord
