package nemesis_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/nemesis"
)

func TestHostsByName(t *testing.T) {
	three, five := threeOf("s1", "s2", "s3"), threeOf()
	three.promoted, five.nodes = "r2", []string{"r1", "r2", "r3", "r4", "r5"}
	for _, c := range []struct {
		name string
		on   *sketch
		want []string // empty: any n of among
		n    int
		of   []string
	}{
		{name: "primary", on: three, want: []string{"r2"}},
		{name: "replicas", on: three, want: []string{"r1", "r3"}},
		{name: "replica", on: three, n: 1, of: []string{"r1", "r3"}},
		{name: "sentinels", on: three, want: []string{"s1", "s2", "s3"}},
		{name: "sentinel", on: three, n: 1, of: []string{"s1", "s2", "s3"}},
		{name: "minority", on: five, n: 2, of: five.nodes},
		{name: "majority", on: five, n: 3, of: five.nodes},
		{name: "clients", on: three, want: three.groups},
		{name: "r3", on: three, want: []string{"r3"}},
		{name: "g1, s2", on: three, want: []string{"g1", "s2"}},
		{name: "primary,nodes", on: three, want: []string{"r2", "r1", "r3"}},
	} {
		h, err := nemesis.ParseTarget(c.name)
		require.NoError(t, err, c.name)
		got, err := h.Pick(t.Context(), c.on, rng())
		require.NoError(t, err, c.name)
		if c.want != nil {
			require.Equal(t, c.want, got, c.name)
			continue
		}
		require.Len(t, got, c.n, c.name)
		require.Subset(t, c.of, got, c.name)
	}
	require.Equal(t, []string{"r1", "r2", "r3", "r4", "r5"}, five.nodes, "a choice shuffled the topology's own list")
}

func TestHostsThatAreNotThere(t *testing.T) {
	one := oneNode()
	for name, want := range map[string]string{
		"sentinel": "there is no sentinel in this topology", "r9": `there is no host "r9": there are r1, g0`,
		"replica":    "there is no replica",
		"primary,s1": `there is no host "s1"`,
	} {
		h, err := nemesis.ParseTarget(name)
		require.NoError(t, err, name)
		_, err = h.Pick(t.Context(), one, rng())
		require.ErrorContains(t, err, want, name)
	}
	_, err := nemesis.ParseTarget("nobody")
	require.ErrorContains(t, err, "choose primary, replicas")
	one.headless = 1
	_, err = nemesis.Primary().Pick(t.Context(), one, nil)
	require.ErrorContains(t, err, "no primary")
}
