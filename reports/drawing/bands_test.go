package drawing

import (
	"testing"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/analysis/analysistest"
	"github.com/stretchr/testify/require"
)

func TestOverlappingFaultsFillThePlaneOnce(t *testing.T) {
	cut := analysistest.FaultOf("cut", 3*sec, 4*sec, "r1")
	cut.Groups = []int{1}
	never := analysistest.FaultOf("never", 8*sec, 9*sec, "r1")
	never.End = 0
	faults := []harness.Fault{analysistest.FaultOf("a", sec, 5*sec, "r1"),
		analysistest.FaultOf("b", 2*sec, 6*sec, "r2"), cut, never}
	type piece struct {
		class    string
		from, to time.Duration
	}
	pieces := func(group int) (all []piece) {
		for _, b := range bandsOf(faults, group, 10*sec) {
			all = append(all, piece{b.class, b.from, b.to})
		}
		return all
	}
	healing := []piece{{"band after", 6 * sec, 6500 * ms}, {"band", 8 * sec, 9 * sec},
		{"band after", 9 * sec, 10 * sec}}
	require.Equal(t, append([]piece{{"band", sec, 6 * sec}}, healing...), pieces(-1))
	split := []piece{{"band", sec, 3 * sec}, {"band cut", 3 * sec, 4 * sec}, {"band", 4 * sec, 6 * sec}}
	require.Equal(t, append(split, healing...), pieces(1))
	require.Equal(t, []string{"1 a, 1.000 s to 5.000 s", "2 b, 2.000 s to 6.000 s", "1 a heals, 5.000 s to 5.500 s"},
		bandsOf(faults[:2], -1, 10*sec)[0].faults)
	require.Empty(t, bandsOf(nil, -1, sec))
}

func TestNumbersInChartsHaveAKey(t *testing.T) {
	faults := make([]harness.Fault, 0, 90)
	for _, name := range []string{"refuse", "slicer", "kill", "kill", "kill", "refuse"} {
		faults = append(faults, analysistest.FaultOf(name, sec, 2*sec))
	}
	require.Empty(t, FaultKey(faults), "the charts have the names")
	faults = append(faults, analysistest.FaultOf("skew", sec, 2*sec))
	require.Equal(t, "1 refuse, 2 slicer, 3–5 kill, 6 refuse, 7 skew", FaultKey(faults))
	for len(faults) < 90 {
		faults = append(faults, faults[len(faults)-6])
	}
	require.Regexp(t, `, and \d+ more, listed under Faults$`, FaultKey(faults))
}

// TestAFaultThatTheRecordDoesNotSeeHealed checks that such a fault is drawn to the end: the run was killed during it.
func TestAFaultThatTheRecordDoesNotSeeHealed(t *testing.T) {
	faults := analysistest.OneKill().Faults
	faults[0].Heal, faults[0].End = 0, 0
	bands := bandsOf(faults, -1, 20*sec)
	require.Len(t, bands, 1)
	require.Equal(t, band{class: "band", from: 10 * sec, to: 20 * sec,
		faults: []string{"1 kill-primary, from 10.000 s on: the record stops before its heal"}}, bands[0])
	faults[0].Groups = []int{0}
	require.Equal(t, "band cut", bandsOf(faults, 0, 20*sec)[0].class)
	bands = bandsOf([]harness.Fault{{Name: "a", Start: 3 * sec}}, -1, 5*sec) // nor take effect
	require.Len(t, bands, 1)
	require.Equal(t, 3*sec, bands[0].from, "nothing before it is shaded")
}
