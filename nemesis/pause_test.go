package nemesis_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/nemesis"
)

func TestANodeThatDiedInItsPauseIsHealed(t *testing.T) {
	b := borrow(t, standalone)
	inj := b.inject(nemesis.PausePrimary(b.Cluster))
	require.Error(t, b.write(0))
	require.NoError(t, b.Kill("r1"))
	require.NoError(t, inj.Heal(b.ctx))
	require.NoError(t, b.Restart(b.ctx, "r1"))
	b.heal(inj)
}
