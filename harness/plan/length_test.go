package plan

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestHowLongAPlanTakesIsKnownBefore(t *testing.T) {
	length := func(p Plan) time.Duration {
		d, err := p.Takes()
		require.NoError(t, err)
		return d
	}
	require.InDelta(t, 10, length(Plan{Variant: "sequence/incr"}).Seconds(), 3)
	require.InDelta(t, 7200, length(Plan{Variant: "sequence/incr", Duration: 2 * time.Hour}).Seconds(), 3)
	three := length(Plan{Variant: "sequence/incr", Nemesis: []string{"kill-primary"}, Repeat: 3})
	one := length(Plan{Variant: "sequence/incr", Nemesis: []string{"kill-primary"}})
	require.InDelta(t, 2*9, (three - one).Seconds(), 4, "a fault of 5 s, the calm before it and the recovery after it")
	_, err := Plan{Variant: "none"}.Takes()
	require.ErrorIs(t, err, ErrUsage)
}
