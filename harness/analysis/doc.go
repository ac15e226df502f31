// Package analysis computes figures from the record of a run: what became of its operations over time ([Collect]), and for
// each failover its stages, its cause and its cost ([Failovers]). [Of] computes both in one reading.
//
// Nothing here judges, and nothing here draws: checkers say what is wrong, reports show what was found. All times are on the
// run's clock, which starts with the run.
package analysis
