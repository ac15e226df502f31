package nemesis_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/nemesis"
)

func TestScriptFlush(t *testing.T) {
	t.Parallel()
	b := start(t, cluster.Sentinel(cluster.Options{}))
	r, err := b.Connect(0)
	require.NoError(t, err)
	sha, err := r.ScriptLoad(b.ctx, "return 1").Result()
	require.NoError(t, err)
	require.NoError(t, r.EvalSha(b.ctx, sha, nil).Err())
	inj := b.inject(nemesis.ScriptFlush(b.Cluster, nemesis.Primary()))
	require.ErrorContains(t, r.EvalSha(b.ctx, sha, nil).Err(), "NOSCRIPT")
	b.heal(inj)
	b.heal(b.inject(nemesis.ScriptFlush(b.Cluster, nemesis.Replicas())))
}
