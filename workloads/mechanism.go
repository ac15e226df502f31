package workloads

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"

	"github.com/doublegrant/doublegrant/harness"
)

// Mechanism explains in one clause how the violations in the evidence come about. It uses the flaws that the variant
// documents and, where that helps, numbers from the evidence. It ignores anomalies that happened during a fault, since
// the fault may have caused them. It returns "" if there are no other anomalies, or if no documented flaw explains
// them.
func (v Variant) Mechanism(evidence []harness.Anomaly) string {
	evidence = slices.DeleteFunc(slices.Clone(evidence), func(a harness.Anomaly) bool { return len(a.Faults) > 0 })
	if v.mechanism != nil {
		return v.mechanism(evidence)
	}
	var all []Condition
	for _, f := range v.Flaws {
		found := slices.ContainsFunc(evidence, func(a harness.Anomaly) bool { return a.Class == f.Class })
		if found && !slices.Contains(all, f.When) {
			all = append(all, f.When)
		}
	}
	if len(all) != 1 || all[0] == Failover { // much makes Redis forget what a failover does
		return ""
	}
	return string(all[0])
}

// comparesStrings explains violations by a script that compares numbers as strings. As an example it names a proposal
// that is smaller than a number that was drawn, but larger as a string.
func comparesStrings(evidence []harness.Anomaly) string {
	for _, a := range evidence {
		for _, drawn := range a.Ops {
			for _, op := range a.Ops {
				if isNumber(drawn.Result) && isNumber(op.Arg) && drawn.Result < op.Arg &&
					number(drawn.Result).Cmp(number(op.Arg)) > 0 {
					return compareByCharacters(drawn.Result, op.Arg)
				}
			}
		}
	}
	if anyProposed(evidence, fixedProposal) { // then the sequence starts again after 100
		return compareByCharacters("100", fixedProposal)
	}
	return ""
}

func compareByCharacters(stored, proposed string) string {
	return fmt.Sprintf("strings compare by characters, so %q < %q", stored, proposed)
}

// anyProposed reports whether a caller of the evidence proposed n.
func anyProposed(evidence []harness.Anomaly, n string) bool {
	return slices.ContainsFunc(evidence, func(a harness.Anomaly) bool {
		return slices.ContainsFunc(a.Ops, func(op harness.Op) bool { return op.Arg == n })
	})
}

// comparesDoubles explains violations by a script that turns numbers into Lua's doubles. As an example it names a
// number that a double changes: a proposed number, or the number after a drawn one.
func comparesDoubles(evidence []harness.Anomaly) string {
	for _, a := range evidence {
		for _, op := range a.Ops {
			for _, n := range []string{op.Arg, next(op.Result)} {
				if isNumber(n) && double(n) != n {
					return fmt.Sprintf("Lua's numbers are doubles, exact up to 2^53, so %s becomes %s", n, double(n))
				}
			}
		}
	}
	return ""
}

func isNumber(s string) bool {
	_, ok := new(big.Int).SetString(s, 10)
	return ok
}

// number returns the value of a text for which isNumber returns true.
func number(s string) *big.Int {
	n, _ := new(big.Int).SetString(s, 10)
	return n
}

// next returns the number after s, or an empty text if s is not a number.
func next(s string) string {
	if !isNumber(s) {
		return ""
	}
	return new(big.Int).Add(number(s), big.NewInt(1)).String()
}

// double returns what becomes of the number s when it is stored as a double.
func double(s string) string {
	f, _ := strconv.ParseFloat(s, 64)
	n, _ := big.NewFloat(f).Int(nil)
	return n.String()
}
