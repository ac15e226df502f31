// Package plan is the language in which runs and searches are asked for. A [Plan] and a [Search] are data: read from YAML or made
// of flags, looked up and refused with file and line where they cannot be ([Plan.Resolve], [Search.Resolve]), turned into what the
// harness and the explorer take, and compared with what is documented of their variants ([Expectation]). Nothing is started
// here: package results does that.
package plan
