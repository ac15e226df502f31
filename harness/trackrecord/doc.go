// Package trackrecord shows the bugs of package bugs: it builds the adapter of an entry with the pinned version of the
// library, makes the entry's search or run, and compares what it finds with what the entry states. Then it does the
// same with a version without the bug, if there is one, which has to hold: that of the fix, or the last one before the
// bug.
package trackrecord
