package workloads

import "github.com/doublegrant/doublegrant/lua"

// sequence/string-compare-hash is sequence/string-compare with all sequences in one hash.
//
//	next     script: HSETNX, EXPIRE 30 days; else HGET, and if it is smaller AS A STRING HSET, else HINCRBY
//
// Source: "Unique serial numbers", second script. It fails like sequence/string-compare, except for the TTL. That is
// the TTL of the hash, which HSET does not change: all sequences start again together, 30 days after the first number
// of the newest one, whether or not they are in use.
func sequenceStringCompareHash() Variant {
	return sequenceVariant("sequence/string-compare-hash", newHashSequence(lua.SequenceStringCompareHash), Variant{
		OwnKeys: true,
		Doc:     "script on a hash field; compares with the proposal as strings",
		Source:  "Unique serial numbers (article), second script",
		Claim:   Nothing,
		Flaws:   stringCompareFlaws(),

		mechanism: comparesStrings,
	})
}
