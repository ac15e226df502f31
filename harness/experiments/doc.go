// Package experiments repeats published results: it has their plans, runs them, and compares their figures with the
// published ones.
package experiments
