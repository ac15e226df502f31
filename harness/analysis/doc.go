// Package analysis computes figures from the record of a run: its operations over time ([Collect]), and the stages, the
// cause and the costs of each failover ([Failovers]). [Compute] computes both in one reading.
//
// It neither judges nor draws: checkers say what is wrong, and reports show it. All times are on the run's clock, which
// starts with the run.
package analysis
