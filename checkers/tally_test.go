package checkers

import (
	"strconv"
	"strings"
	"testing"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/stretchr/testify/require"
)

// Twenty reasons are named, with the number of the others.
func TestReasonsHaveAnEnd(t *testing.T) {
	all := strings.Split(strings.Repeat("x,", mostReasons)+"x", ",")
	require.Equal(t, strings.Join(all[:mostReasons], "; "), reasons(all[:mostReasons:mostReasons]))
	require.Equal(t, strings.Join(all[:mostReasons], "; ")+"; and 1 more", reasons(all))
}

// Twelve broken keys are counted one by one, the others together.
func TestBrokenKeys(t *testing.T) {
	c := newTally(of(), func(harness.Anomaly) {})
	for i := range keysNamed + 2 {
		for range 2 {
			c.countBroken(harness.Anomaly{Key: "k" + strconv.Itoa(i)})
		}
	}
	require.Len(t, c.broken, keysNamed+1)
	require.Equal(t, []int{2, 2, 4}, []int{c.broken["k0"], c.broken["k11"], c.broken["others"]})
}

// If nothing was recorded that could be judged, the judgement says so, unless it has other reasons as well.
func TestWhatIsAbsent(t *testing.T) {
	c := newTally(of(), func(harness.Anomaly) {})
	require.True(t, c.judge(judgement{absent: []string{"no lock"}, doubts: []string{""}}).NothingToJudge)
	require.False(t, c.judge(judgement{absent: []string{"no lock"}, doubts: []string{"torn"}}).NothingToJudge)
	require.False(t, c.judge(judgement{valid: "fine"}).NothingToJudge)
}
