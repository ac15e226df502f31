// Package plan defines runs and searches as data. A [Plan] and a [Search] are read from YAML or built from flags.
// [Plan.Resolve] and [Search.Resolve] look up names, refuse what is impossible with file and line, and build the specs
// of the harness and the explorer. An [Expectation] compares results with the documented flaws of the variants. This
// package starts nothing; package results does.
package plan
