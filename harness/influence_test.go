package harness_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

func TestHowLongAFaultExplainsWhatWentWrong(t *testing.T) {
	const s = time.Second
	for name, c := range map[string]struct {
		f, other harness.Fault
		last     time.Duration
	}{
		"alone: until the system was whole": {f: harness.Fault{Start: 5 * s, Heal: 7 * s, End: 11 * s},
			last: 11 * s},
		"alone, never seen whole": {f: harness.Fault{Start: 5 * s, Heal: 7 * s},
			last: harness.Forever},
		"the record stops while it is in force": {f: harness.Fault{Start: 5 * s},
			other: harness.Fault{Start: 6 * s}, last: harness.Forever},
		"another went on: nobody saw when": {f: harness.Fault{Start: 5 * s, Heal: 7 * s, End: 14 * s},
			other: harness.Fault{Start: 6 * s, Heal: 13 * s, End: 14 * s}, last: 10 * s},
		"another went on for a moment": {f: harness.Fault{Start: 5 * s, Heal: 7 * s, End: 8 * s},
			other: harness.Fault{Start: 6 * s, Heal: 7100 * time.Millisecond, End: 8 * s}, last: 8 * s},
		"another goes on as the record stops": {f: harness.Fault{Start: 5 * s, Heal: 7 * s},
			other: harness.Fault{Start: 6 * s}, last: 10 * s},
		"another had healed before": {f: harness.Fault{Start: 5 * s, Heal: 7 * s, End: 12 * s},
			other: harness.Fault{Start: 4 * s, Heal: 6 * s, End: 12 * s}, last: 12 * s},
		"another began when the system was whole": {f: harness.Fault{Start: 5 * s, Heal: 7 * s, End: 12 * s},
			other: harness.Fault{Start: 13 * s, Heal: 15 * s, End: 16 * s}, last: 12 * s},
		"another was over before this one had begun": {f: harness.Fault{Start: 5 * s, Heal: 7 * s, End: 12 * s},
			other: harness.Fault{Start: s, Heal: 2 * s, End: 3 * s}, last: 12 * s},
	} {
		faults := []harness.Fault{c.f}
		if c.other.Start > 0 {
			faults = []harness.Fault{c.other, c.f}
		}
		all := harness.Influences(faults)
		require.Equal(t, c.last, all[len(all)-1].Last, name)
	}
}

// TestAnAnomalyNamesNoFaultThatWasOverLongBefore covers a fault that healed while another one was still in force.
func TestAnAnomalyNamesNoFaultThatWasOverLongBefore(t *testing.T) {
	const s = time.Second
	faults := []harness.Fault{
		{Number: 1, Name: "latency", Start: s, Heal: 20 * s, End: 21 * s},
		{Number: 2, Name: "refuse", Start: 5 * s, Heal: 7100 * time.Millisecond, End: 21 * s},
	}
	for _, c := range []struct {
		from, to time.Duration
		want     []string
	}{
		{12700 * time.Millisecond, 12710 * time.Millisecond, []string{"latency"}},
		{6 * s, 12700 * time.Millisecond, []string{"latency", "refuse"}}, // it was in force at one of the grants
		{8 * s, 9 * s, []string{"latency", "refuse"}},                    // it may not be over yet
		{500 * time.Millisecond, 600 * time.Millisecond, nil},
	} {
		h := harness.History{Ops: harness.OpsOf([]harness.Op{{Call: c.from, Return: c.to}}), Faults: faults}
		j := harness.Judge(t.Context(), h, []harness.Checker{finder{}})
		require.Equal(t, c.want, j.Anomalies[0].Faults, "from %v to %v", c.from, c.to)
	}
}
