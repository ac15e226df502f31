package cli

// Source is the folder of this package's source: TestMain sets it, and works in an empty one.
var Source string

// SplitWords splits a command line as a shell does.
var SplitWords = splitWords
