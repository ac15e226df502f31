package harness_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

func TestLinkFaultsSayWhatTheyAreAndDo(t *testing.T) {
	for want, c := range map[string]struct {
		fault harness.LinkFault
		does  harness.Effects
	}{
		"hold":              {harness.Withhold(), harness.CutsLinks},
		"drop":              {harness.Drop(), harness.CutsLinks},
		"drop-replies":      {harness.DropReplies(), harness.CutsLinks},
		"refuse":            {harness.Refuse(), harness.CutsLinks | harness.EndsConnections},
		"latency 80ms±20ms": {harness.Latency(80*time.Millisecond, 20*time.Millisecond), harness.SlowsLinks},
		"latency 1s":        {harness.Latency(time.Second, 0), harness.SlowsLinks},
		"bandwidth 5000B/s": {harness.Bandwidth(5000), harness.SlowsLinks},
		"slicer 64B/10µs":   {harness.Slice(64, 10*time.Microsecond), harness.SlowsLinks},
		"limit-data 100B":   {harness.LimitData(100), harness.EndsConnections},
		"slow-close 1.5s":   {harness.SlowClose(1500 * time.Millisecond), harness.SlowsLinks},
	} {
		require.Equal(t, want, c.fault.String())
		require.Equal(t, c.does, c.fault.Effects(), want)
		require.NoError(t, c.fault.Validate(), want)
	}
}

func TestBoundsOfLinkFaults(t *testing.T) {
	for _, at := range []harness.LinkFault{
		harness.Latency(time.Millisecond, time.Millisecond), harness.Latency(time.Minute, 0), harness.Bandwidth(1000),
		harness.Bandwidth(50_000_000),
		harness.Slice(1, time.Microsecond), harness.Slice(8192, time.Second), harness.LimitData(1),
		harness.LimitData(16 << 20),
		harness.SlowClose(10 * time.Millisecond), harness.SlowClose(time.Minute),
	} {
		require.NoError(t, at.Validate(), at.String())
	}
	for says, beyond := range map[string]harness.LinkFault{
		"latency is 0s: ask for 1ms to 1m0s":                         harness.Latency(0, 0),
		"latency is -1s: ask for 1ms to 1m0s":                        harness.Latency(-time.Second, 0),
		"latency is 1m0.000000001s: ask for 1ms to 1m0s":             harness.Latency(time.Minute+1, 0),
		"jitter is -1ns: ask for 0s to 1s":                           harness.Latency(time.Second, -1),
		"jitter is 2s: ask for 0s to 1s":                             harness.Latency(time.Second, 2*time.Second),
		"bandwidth is -1: ask for 1000 to 50000000":                  harness.Bandwidth(-1),
		"bandwidth is 999: ask for 1000 to 50000000":                 harness.Bandwidth(999),
		"bandwidth is 9223372036854775807: ask for 1000 to 50000000": harness.Bandwidth(math.MaxInt64),
		"size is 0: ask for 1 to 8192":                               harness.Slice(0, time.Second),
		"size is 8193: ask for 1 to 8192":                            harness.Slice(8193, time.Second),
		"delay is 0s: ask for 1µs to 1s":                             harness.Slice(10, 0),
		"delay is 1.000000001s: ask for 1µs to 1s":                   harness.Slice(10, time.Second+1),
		"bytes is 0: ask for 1 to 16777216":                          harness.LimitData(0),
		"bytes is 16777217: ask for 1 to 16777216":                   harness.LimitData(16<<20 + 1),
		"delay is -1ns: ask for 10ms to 1m0s":                        harness.SlowClose(-1),
		"delay is 1m0.000000001s: ask for 10ms to 1m0s":              harness.SlowClose(time.Minute + 1),
	} {
		var bounds *harness.BoundsError
		require.ErrorAs(t, beyond.Validate(), &bounds, says)
		require.EqualError(t, bounds, says)
	}
	require.ErrorIs(t, harness.LinkFault{}.Validate(), harness.ErrNoLinkFault)
	require.EqualError(t, harness.LinkFault{Kind: "gust"}.Validate(), `unknown link fault "gust"`)
}
