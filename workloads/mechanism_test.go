package workloads

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

func TestAMechanismIsToldOnValuesOfTheEvidence(t *testing.T) {
	drew := func(class harness.Class, ops ...harness.Op) []harness.Anomaly {
		return []harness.Anomaly{{Class: class, Ops: ops}}
	}
	got := func(proposed, drawn string) harness.Op { return harness.Op{Arg: proposed, Result: drawn} }
	strings, doubles := sequenceStringCompare(), sequenceNumericCompareHash()
	twice := harness.DuplicateNumber
	for want, said := range map[string]string{
		`strings compare by characters, so "10" < "7"`:   strings.Mechanism(drew(twice, got("7", "10"), got("9", "9"))),
		`strings compare by characters, so "100" < "23"`: strings.Mechanism(drew(twice, got("23", "37"), got("23", "37"))),
		"Lua's numbers are doubles, exact up to 2^53, so 16081817202494579 becomes 16081817202494580": doubles.Mechanism(
			drew(twice, got("16081817202494579", "16081817202494580"))),
		"Lua's numbers are doubles, exact up to 2^53, so 26112817235085473 becomes 26112817235085472": doubles.Mechanism(
			drew(twice, got("26112817235085472", "26112817235085472"))),
		"a release comes after the lease": blindDel().Mechanism(drew(harness.StolenRelease)),
	} {
		require.Equal(t, want, said)
	}
	during := drew(twice, got("23", "37"))
	during[0].Faults = []string{"kill-primary"}
	for _, nothing := range []string{
		strings.Mechanism(nil), strings.Mechanism(during), strings.Mechanism(drew(twice, got("", "x"))),
		doubles.Mechanism(drew(twice, got("23", "37"))), setNXPX().Mechanism(drew(harness.DoubleGrant)),
	} {
		require.Empty(t, nothing)
	}
}
