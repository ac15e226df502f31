package nemesis_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/nemesis"
)

// late makes two faults see the node well, each, before one of them goes on.
type late struct {
	*cluster.Cluster
	both *sync.WaitGroup
}

func (l late) Sentinels() []string {
	l.both.Done()
	l.both.Wait()
	return nil
}

func TestTwoFaultsDoNotShareADeath(t *testing.T) {
	t.Parallel()
	b := start(t, cluster.Standalone(cluster.Options{}))
	for want, make := range map[string]func(c late) harness.Nemesis{
		"r1 is down already":            func(c late) harness.Nemesis { return nemesis.KillPrimary(c) },
		"r1 is down or stopped already": func(c late) harness.Nemesis { return nemesis.PausePrimary(c) },
	} {
		c := late{b.Cluster, new(sync.WaitGroup)}
		c.both.Add(2)
		var injs [2]harness.Injection
		var errs [2]error
		var injecting sync.WaitGroup
		for i := range 2 {
			injecting.Go(func() { injs[i], errs[i] = make(c).Inject(b.ctx, rng()) })
		}
		injecting.Wait()
		if errs[0] != nil {
			injs[0], injs[1], errs[0], errs[1] = injs[1], injs[0], errs[1], errs[0]
		}
		require.NoError(t, errs[0])
		require.ErrorContains(t, errs[1], want)
		require.Nil(t, injs[1].Heal, "it would undo the other fault")
		b.heal(injs[0])
	}
}
