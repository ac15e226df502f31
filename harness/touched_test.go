package harness_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

// TestAFaultThatTouchedNothingIsNotProved also checks that Touched is called once, at the end of the fault.
func TestAFaultThatTouchedNothingIsNotProved(t *testing.T) {
	faultThat := func(name string, touched func() (string, error)) harness.TimedFault {
		return harness.TimedFault{For: 30 * time.Millisecond,
			Nemesis: strike{name, func(context.Context, *rand.Rand) (harness.Injection, error) {
				return harness.Injection{Bite: "bitten", Touched: touched,
					Heal: func(context.Context) error { return nil }}, nil
			}}}
	}
	asked := 0
	d := newDiary()
	res := ran(t, d.spec([]harness.TimedFault{
		faultThat("idle", func() (string, error) { asked++; return "", errors.New("idle: no traffic") }),
		faultThat("busy", func() (string, error) { return "touched: 7 B", nil }),
		faultThat("uncounted", nil),
	}))
	f := faultsOf(res.History)
	require.Equal(t, 1, asked)
	for name, proof := range map[string]string{"idle": "bitten; idle: no traffic", "busy": "bitten; touched: 7 B",
		"uncounted": "bitten"} {
		require.Equal(t, name != "idle", f[name].Proved)
		require.Equal(t, proof, f[name].Proof)
	}
}
