// Package experiments repeats published results. It has a plan for each published result, runs it, and compares the
// figures with the published ones.
package experiments
