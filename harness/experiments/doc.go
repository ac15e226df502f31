// Package experiments repeats published results: it has their plans, runs them, and compares what they show with what
// was published.
package experiments
