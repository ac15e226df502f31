package nemesis_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/nemesis"
)

func TestPartitionsOfSeveralMasters(t *testing.T) {
	t.Parallel()
	b := start(t, cluster.Masters(5, cluster.Options{}))
	reaches := func(b bench, group, want int) {
		all, err := b.ConnectAll(group)
		require.NoError(b, err)
		b.comesTo(want, func() (reached int) {
			for _, r := range all {
				if r.Set(b.ctx, "k", "v", 0).Err() == nil {
					reached++
				}
			}
			return reached
		})
	}
	for _, want := range []struct {
		sides         nemesis.Shape
		first, last   int
		groups, hosts int
	}{
		{nemesis.MinorityOfNodes(), 3, 3, 0, 7},
		{nemesis.ClientsFromMinority(), 3, 5, 2, 4},
	} {
		t.Run(want.sides.String(), func(t *testing.T) {
			b := bench{t, b.Cluster, b.ctx}
			reaches(b, 0, 5)
			inj := b.inject(nemesis.Partition(b.Cluster, want.sides, harness.Withhold()))
			b.Logf("%s: %s", want.sides, inj.Bite)
			require.Len(t, inj.Groups, want.groups)
			require.Len(t, inj.Targets, want.hosts)
			reaches(b, 0, want.first)
			reaches(b, 4, want.last)
			b.heal(inj)
			reaches(b, 0, 5)
		})
	}
	_, err := nemesis.Partition(b.Cluster, nemesis.PrimaryFromReplicas(), harness.Withhold()).Inject(b.ctx, rand.New(rand.NewPCG(1, 2)))
	require.ErrorContains(t, err, "no one primary")
}

// A partition that cannot be had says so in one line, and touches nothing.
func TestPartitionsThatDoNotApply(t *testing.T) {
	t.Parallel()
	b := start(t, cluster.Standalone(cluster.Options{}))
	for _, sides := range nemesis.AllShapes() {
		require.NotEmpty(t, sides.Doc())
		known, err := nemesis.ParseShape(sides.String())
		require.NoError(t, err)
		require.Equal(t, sides.String(), known.String())
		inj, err := nemesis.Partition(b.Cluster, sides, harness.Withhold()).Inject(b.ctx, rand.New(rand.NewPCG(1, 2)))
		if sides.String() == "clients-primary" {
			require.NoError(t, err)
			require.NoError(t, inj.Heal(b.ctx))
			continue
		}
		require.ErrorContains(t, err, sides.String())
		require.Equal(t, sides.Check(b.Cluster), err)
		require.NotContains(t, err.Error(), "\n")
		require.Nil(t, inj.Heal)
	}
	_, err := nemesis.ParseShape("left-right")
	require.ErrorContains(t, err, "split-brain, ")
	for want, n := range map[string]harness.Nemesis{
		"no link fault given": nemesis.Partition(b.Cluster, nemesis.ClientsFromPrimary(), harness.LinkFault{}),
		"no shape given":      nemesis.Partition(b.Cluster, nemesis.Shape{}, harness.Withhold()),
		"is not a partition":  nemesis.Partition(b.Cluster, nemesis.ClientsFromPrimary(), harness.Latency(time.Second, 0)),
		"over this cut":       nemesis.Partition(b.Cluster, nemesis.OneWay(nemesis.Primary(), nemesis.Clients()), harness.Withhold()),
		"no host \"r9\"":      nemesis.Partition(b.Cluster, nemesis.OneWay(nemesis.Named("r9"), nemesis.Primary()), harness.Withhold()),
	} {
		_, err := n.Inject(b.ctx, rand.New(rand.NewPCG(1, 2)))
		require.ErrorContains(t, err, want)
	}
}
