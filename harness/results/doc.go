// Package results runs plans and searches, and keeps their results folders. [Execute] and [Explore] make a folder.
// [Recheck], [ReportRun] and [Replay] read one.
package results
