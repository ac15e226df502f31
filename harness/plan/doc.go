// Package plan is the language of runs and searches. A [Plan] and a [Search] are data, read from YAML or made of flags.
// [Plan.Resolve] and [Search.Resolve] look names up, refuse what is impossible with file and line, and make what the harness and
// the explorer take. An [Expectation] compares results with what is documented of the variants. This package starts nothing:
// package results does.
package plan
