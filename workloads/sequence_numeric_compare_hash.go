package workloads

import (
	"slices"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/lua"
)

// sequence/numeric-compare-hash, which compares numbers as Lua numbers.
//
//	next     script: HSETNX, EXPIRE 30 days; else HGET, and if it is smaller as a number HSET, else HINCRBY
//
// Source: "Unique serial numbers", final script, which its author calls correct. A Lua number is a double, exact up to
// 2^53, which is 16 digits; the article's own numbers have 17. Numbers repeat, and the number returned is not the one
// stored. The stored number only grows, and rounding keeps the order, so no number is smaller than an earlier one.
//
// The TTL is that of the hash: all sequences start again together, 30 days after the first number of the newest one,
// whether or not they are in use.
func sequenceNumericCompareHash() Variant {
	return sequenceVariant("sequence/numeric-compare-hash", newHashSequence(lua.SequenceNumericCompare), Variant{
		OwnKeys: true,
		Doc:     "script on a hash field; compares with the proposal as Lua numbers",
		Source:  "Unique serial numbers (article), final script",
		Claim:   OneNode,
		Flaws: slices.Concat(
			flawsUnder(In(Timestamp17), harness.DuplicateNumber, harness.ReturnedNotStored),
			flawsUnder(In(ClockBack), harness.DuplicateNumber, harness.ReturnedNotStored),
			flawsUnder(In(Beyond53), harness.DuplicateNumber, harness.ReturnedNotStored),
			forgottenNumbers(),
		),
		mechanism: comparesDoubles,
	})
}
