// Package experiments has published results, the plans that repeat them, and the comparison of what came of it with what was
// published.
package experiments
