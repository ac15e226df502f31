package workloads

import (
	"slices"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/lua"
)

// sequence/string-compare, which compares numbers as strings.
//
//	next     script: SETNX, EXPIRE 30 days; else GET, and if it is smaller AS A STRING SET, else INCRBY
//
// Source: "Unique serial numbers", first script. "100" < "23" is true for strings, so a sequence that crosses a power
// of ten starts again. If all callers propose 23, calls 1 to 78 return 23 to 100, and call 79 returns 23. A leading
// zero does the same: "09" < "9" is true, and INCRBY refuses a stored "09" with an error. Numbers of one width compare
// correctly.
//
// The sequence starts again 30 days after its first number, whether or not it is in use. The exception is a SET, which
// clears the TTL: after it the sequence never ends.
func sequenceStringCompare() Variant {
	return sequenceVariant("sequence/string-compare", newLuaSequence(lua.SequenceStringCompare), Variant{
		Doc:    "script; compares with the proposal as strings",
		Source: "Unique serial numbers (article), first script",
		Claim:  Nothing,
		Flaws:  append(stringCompareFlaws(), Flaw{harness.TTLLost, LargerProposal}),

		mechanism: comparesStrings,
	})
}

// stringCompareFlaws returns the flaws of comparing numbers as strings, which show with numbers of different widths.
func stringCompareFlaws() []Flaw {
	var all []Flaw
	for _, r := range []Regime{Fixed, Growing, LeadingZeros} {
		all = append(all, flawsUnder(In(r), harness.DuplicateNumber, harness.Regression, harness.SequenceRestart)...)
	}
	return slices.Concat(all, forgottenNumbers())
}
