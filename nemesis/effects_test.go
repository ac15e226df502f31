package nemesis_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/nemesis"
)

func TestFaultsOfLinksDoWhatTheirLinkFaultDoes(t *testing.T) {
	for _, fault := range append(nemesis.Cuts(), harness.LimitData(1000), harness.Latency(time.Second, 0)) {
		degrade := nemesis.Degrade(nil, nemesis.Clients(), nemesis.Primary(), fault)
		require.Equal(t, fault.Effects(), degrade.(harness.Effective).Effects(), fault.String())
		partition := nemesis.Partition(nil, nemesis.SplitBrain(), fault)
		require.Equal(t, fault.Effects(), partition.(harness.Effective).Effects(), fault.String())
	}
}
