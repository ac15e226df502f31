// Package interleave holds the data that the explorer shares with others: what the clients of a search do ([Program]),
// what may happen to them ([Budget]), and what was found ([Result], [Counterexample]).
//
// A schedule is a list of choices. A [Choice] says what happens next: a client sends its next command, or the world
// interferes. A [Step] says what came of a choice, in words.
//
// The package runs nothing. Package explore searches and replays. It imports clusters, so whoever only describes
// programs or reads results imports this package instead.
package interleave
