// Package suite turns a [Plan], which is data, into a run: it names topologies, variants and nemeses, says what their
// documentation promises of a run ([Expectation]), and keeps what a run leaves behind in a results folder ([Execute]).
package suite
