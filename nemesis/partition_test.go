package nemesis_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/nemesis"
)

// TestWhoLosesWhom checks the targets of each shape and the links that it cuts, both ways. In its table r and s stand
// for the replicas and Sentinels among the targets, R and S for the others.
func TestWhoLosesWhom(t *testing.T) {
	for _, c := range []struct {
		shape         nemesis.Shape
		targets       int
		groups        []int
		these, others string // who loses whom
	}{
		{nemesis.SplitBrain(), 4, []int{0, 1}, "r1 s few", "R S many"},
		{nemesis.SplitBrainWithReplica(), 5, []int{0, 1}, "r1 r s few", "R S many"},
		{nemesis.ClientsFromPrimary(), 3, []int{0, 1}, "few>", "r1"},
		{nemesis.PrimaryFromReplica(), 2, nil, "r1", "r"},
		{nemesis.PrimaryFromReplicas(), 3, nil, "r1", "r"},
		{nemesis.PrimaryFromSentinel(), 2, nil, "r1", "s"},
		{nemesis.PrimaryFromSentinels(), 4, nil, "r1", "s"},
		{nemesis.IsolatePrimary(), 6, nil, "r1", "r s"},
		{nemesis.Bridge(), 5, []int{0, 1}, "r1 s few", "R S many"},
		{nemesis.OneWay(nemesis.Primary(), nemesis.Replicas()), 3, nil, "r1>", "r"},
		{nemesis.OneWay(nemesis.Replicas(), nemesis.Primary()), 3, nil, "r>", "r1"},
	} {
		s := threeOf("s1", "s2", "s3")
		n := nemesis.Partition(s, c.shape, harness.Withhold())
		require.Equal(t, strings.TrimPrefix("partition-"+c.shape.String(), "partition-one-way"),
			strings.TrimPrefix(n.Name(), "one-way"))
		inj, err := n.Inject(t.Context(), rng())
		require.NoError(t, err)
		require.Len(t, inj.Targets, c.targets, c.shape)
		require.Equal(t, c.groups, inj.Groups, c.shape)

		among := func(hosts []string, struck bool) []string {
			return slices.DeleteFunc(slices.Clone(hosts),
				func(h string) bool { return slices.Contains(inj.Targets, h) != struck })
		}
		called := func(names string) (hosts []string) {
			for name := range strings.FieldsSeq(strings.TrimSuffix(names, ">")) {
				hosts = append(hosts, map[string][]string{
					"r1": {"r1"}, "r": among(s.nodes[1:], true), "R": among(s.nodes[1:], false), "s": among(s.sentinels,
						true),
					"S": among(s.sentinels, false), "few": s.groups[:2], "many": s.groups[2:],
				}[name]...)
			}
			return hosts
		}
		want := harness.Links(called(c.these), called(c.others))
		if !strings.HasSuffix(c.these, ">") {
			want = harness.Between(called(c.these), called(c.others))
		}
		require.ElementsMatch(t, want, s.links, c.shape)
		require.NoError(t, inj.Heal(t.Context()))
		require.Empty(t, s.links)
	}
}

// TestPartitionsThatDoNotApply checks that a partition which the topology is too small for, or which makes no sense,
// returns an error of one line and touches nothing.
func TestPartitionsThatDoNotApply(t *testing.T) {
	s := oneNode()
	for _, shape := range nemesis.AllShapes() {
		require.NotEmpty(t, shape.Doc())
		known, err := nemesis.ParseShape(shape.String())
		require.NoError(t, err)
		require.Equal(t, shape.String(), known.String())
		inj, err := nemesis.Partition(s, shape, harness.Withhold()).Inject(t.Context(), rng())
		if shape.String() == "clients-primary" {
			require.NoError(t, err)
			require.NoError(t, inj.Heal(t.Context()))
			continue
		}
		require.ErrorContains(t, err, shape.String())
		require.Equal(t, shape.Check(s), err)
		require.NotContains(t, err.Error(), "\n")
		require.Nil(t, inj.Heal)
	}
	_, err := nemesis.ParseShape("left-right")
	require.ErrorContains(t, err, "split-brain, ")
	lonely := threeOf("s1", "s2", "s3")
	lonely.groups = lonely.groups[:1]
	for want, n := range map[string]harness.Nemesis{
		"2 client groups":     nemesis.PartitionPrimary(lonely),
		"no link fault given": nemesis.Partition(s, nemesis.ClientsFromPrimary(), harness.LinkFault{}),
		"no shape given":      nemesis.Partition(s, nemesis.Shape{}, harness.Withhold()),
		"is not a partition":  nemesis.Partition(s, nemesis.ClientsFromPrimary(), harness.Latency(time.Second, 0)),
		"across this partition": nemesis.Partition(s, nemesis.OneWay(nemesis.Primary(), nemesis.Clients()),
			harness.Withhold()),
		"no host \"r9\"": nemesis.Partition(s, nemesis.OneWay(nemesis.Named("r9"), nemesis.Primary()),
			harness.Withhold()),
	} {
		inj, err := n.Inject(t.Context(), rng())
		require.ErrorContains(t, err, want)
		if inj.Heal != nil {
			require.NoError(t, inj.Heal(t.Context()))
		}
		require.Empty(t, append(s.links, lonely.links...))
	}
}

// drowsy is a cluster on which every other probe from g2 gets no answer.
type drowsy struct {
	*sketch
	probes *atomic.Int32
}

func (d drowsy) Probe(ctx context.Context, from, to string) error {
	if from == "g2" && d.probes.Add(1)%2 == 1 {
		return errors.New("drowsy")
	}
	return d.sketch.Probe(ctx, from, to)
}

func TestALateAnswerBesideAFaultIsAnAnswer(t *testing.T) {
	beside := drowsy{oneNode(), new(atomic.Int32)}
	inj, err := nemesis.Partition(beside, nemesis.ClientsFromPrimary(), harness.Withhold()).Inject(t.Context(), rng())
	require.NoError(t, err)
	seen, err := inj.Prove(t.Context())
	require.NoError(t, err)
	require.Equal(t, "g2 goes on with r1; r1 is still primary", seen)
	require.EqualValues(t, 4, beside.probes.Load(), "of the bite, and of the proof")
}
