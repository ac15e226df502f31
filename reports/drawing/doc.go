// Package drawing makes the pictures of reports: charts over time ([Run]), the stages of a failover ([Waterfall]), the
// operations of an anomaly ([Anomaly]), the steps of a counterexample ([Story]), ranges of trials ([Ranges]) and the
// memory of a soak ([Memory]).
//
// A [Drawing] is data: shapes with x in percent and y in pixels. A template of package reports writes it as SVG and
// escapes all text. Nothing here measures or judges.
package drawing
