package workloads

import "github.com/doublegrant/doublegrant/lua"

// sequence/digits-compare, which compares numbers digit by digit.
//
//	next     script: GET; if the proposal is longer, or as long and larger as a string, SET it EX 30 days; else INCR,
//	         EXPIRE 30 days, and GET
//
// Source: this project. No Lua number is involved, so it is exact for all that INCR can count, 19 digits. A sequence
// that is not used for 30 days starts again, with the number proposed then.
func sequenceDigitsCompare() Variant {
	return sequenceVariant("sequence/digits-compare", newLuaSequence(lua.SequenceDigitsCompare), Variant{
		Doc:    "script; compares with the proposal by length, then by characters; returns what it stored",
		Source: "this project",
		Claim:  OneNode,
		Flaws:  forgottenNumbers(),
	})
}
