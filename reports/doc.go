// Package reports turns a finished run into files for people and CI.
//
// Data flows one way: a history and its judgement become a [Report], and a Report becomes report.html, verdict.json,
// junit.xml and summary.md. Nothing here judges or measures: the content of the files is in the history, in the
// judgement, or computed by package analysis. Package drawing makes the pictures. Many runs become one [Row] each, for
// an index page, a comparison table or one junit.xml. A search through interleavings is an [Exploration], and becomes
// files with the same names.
//
// Keys, errors, notes and names come from the system under test. They are shown, never trusted. Pages are rendered by
// html/template and have a policy that forbids scripts and network access. Markdown is escaped.
package reports
