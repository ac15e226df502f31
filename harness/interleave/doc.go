// Package interleave holds the data of a search: what its clients do ([Program]), what may happen to them ([Budget]),
// and what was found ([Result], [Counterexample]).
//
// A schedule is a list of choices. A [Choice] says what happens next: a client sends its next command, or something
// goes wrong. A [Step] describes the effect of a choice.
//
// The package runs nothing: package explore searches and replays. That package links clusters, so code that only
// describes programs or reads results imports this one instead.
package interleave
