package harness

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAPacerKeepsItsRateWhateverHappens(t *testing.T) {
	const n, mean = 100_000, 10 * time.Millisecond
	p := pacer{mean: mean, due: time.Second, rng: rand.New(rand.NewPCG(1, 2))}
	last, short := time.Second, 0
	for range n {
		due := p.nextDue()
		require.GreaterOrEqual(t, due, last)
		if due-last < mean/10 {
			short++
		}
		last = due
	}
	require.InEpsilon(t, float64(n*mean), float64(last-time.Second), 0.01)
	require.InEpsilon(t, 0.095*n, short, 0.05,
		"gaps are exponential: 1-e^-0.1 of them are shorter than a tenth of the mean")
}
