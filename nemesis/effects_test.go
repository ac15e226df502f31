package nemesis_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/nemesis"
)

func TestWaysDeclareWhatTheyDoToLinks(t *testing.T) {
	for _, c := range []struct {
		way  nemesis.Way
		want harness.Effects
	}{
		{nemesis.Hold(), harness.CutsLinks},
		{nemesis.Drop(), harness.CutsLinks},
		{nemesis.DropReplies(), harness.CutsLinks},
		{nemesis.Refuse(), harness.CutsLinks | harness.EndsConnections},
		{nemesis.LimitData(1000), harness.EndsConnections},
		{nemesis.Latency(time.Second, 0), harness.SlowsLinks},
		{nemesis.Bandwidth(1000), harness.SlowsLinks},
		{nemesis.SlowClose(time.Second), harness.SlowsLinks},
	} {
		n := nemesis.Degrade(nil, nemesis.Clients(), nemesis.Primary(), c.way)
		require.Equal(t, c.want, n.(harness.Effective).Effects(), c.way.String())
	}
}
