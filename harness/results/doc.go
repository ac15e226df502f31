// Package results runs plans and searches, and keeps what they leave behind in results folders: [Execute] and [Explore] make
// one, [Recheck], [ReportRun] and [Replay] read one.
package results
