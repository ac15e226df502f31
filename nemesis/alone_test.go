package nemesis_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/nemesis"
)

// late is a cluster on which each of two faults sees that the node is well, before either goes on.
type late struct {
	*sketch
	both *sync.WaitGroup
}

func (l late) Sentinels() []string {
	l.both.Done()
	l.both.Wait()
	return nil
}

func TestTwoFaultsDoNotShareADeath(t *testing.T) {
	for want, make := range map[string]func(c late) harness.Nemesis{
		"r1 is down already":            func(c late) harness.Nemesis { return nemesis.KillPrimary(c) },
		"r1 is down or stopped already": func(c late) harness.Nemesis { return nemesis.PausePrimary(c) },
	} {
		c := late{oneNode(), new(sync.WaitGroup)}
		c.both.Add(2)
		var injs [2]harness.Injection
		var errs [2]error
		var injecting sync.WaitGroup
		for i := range 2 {
			injecting.Go(func() { injs[i], errs[i] = make(c).Inject(t.Context(), rng()) })
		}
		injecting.Wait()
		if errs[0] != nil {
			injs[0], injs[1], errs[0], errs[1] = injs[1], injs[0], errs[1], errs[0]
		}
		require.NoError(t, errs[0])
		require.ErrorContains(t, errs[1], want)
		require.Nil(t, injs[1].Heal, "it would undo the other fault")
		require.Equal(t, 1, c.down["r1"])
		require.NoError(t, injs[0].Heal(t.Context()))
		require.Zero(t, c.down["r1"])
	}
}
