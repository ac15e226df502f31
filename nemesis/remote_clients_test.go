package nemesis_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/nemesis"
)

// sides stands for a cluster, or for the links of its generators. It notes each call in seen.
type sides struct {
	nemesis.Cluster
	name  string
	fails error
	seen  *[]string
}

func (s sides) ClientGroups() []string { return []string{"g0", "g1"} }

func (s sides) Impair(links []harness.Link, _ harness.LinkFault) (func() error, error) {
	for _, l := range links {
		*s.seen = append(*s.seen, s.name+" "+l.String())
	}
	return func() error { *s.seen = append(*s.seen, s.name+" healed"); return nil }, s.fails
}
func (s sides) Touched(harness.Link) harness.Touched {
	return harness.Touched{Passed: int64(len(s.name))}
}
func (s sides) Connections(string) int { return len(s.name) }
func (s sides) Probe(context.Context, string, string) error {
	return errors.New(s.name)
}
func (s sides) Echo(context.Context, string, string, int) error { return errors.New(s.name) }
func (s sides) Hangup(context.Context, string, string) error    { return errors.New(s.name) }

// TestLinksOfGeneratorsAreStruckThere checks that the generators get faults of links that clients open, and the cluster
// those of all other links.
func TestLinksOfGeneratorsAreStruckThere(t *testing.T) {
	var seen []string
	here, there := sides{name: "here", seen: &seen}, sides{name: "there", seen: &seen}
	c := nemesis.WithRemoteClients(here, there)
	links := []harness.Link{{From: "g0", To: "r1"}, {From: "r1", To: "r2"}, {From: "g0", To: "g1"},
		{From: "r1", To: "g1"}}
	heal, err := c.Impair(links, harness.Drop())
	require.NoError(t, err)
	require.NoError(t, heal())
	require.Equal(t, []string{"there g0>r1", "here r1>r2", "here r1>g1", "there healed", "here healed"}, seen)
	require.Equal(t, int64(5), c.Touched(links[0]).Passed)
	require.Equal(t, int64(4), c.Touched(links[1]).Passed)
	require.Equal(t, 9, c.Connections("r1"))
	for from, name := range map[string]string{"g1": "there", "r1": "here"} {
		require.EqualError(t, c.Probe(t.Context(), from, "r2"), name)
		require.EqualError(t, c.Echo(t.Context(), from, "r2", 1), name)
		require.EqualError(t, c.Hangup(t.Context(), from, "r2"), name)
	}
}

// TestWhatFailsInAGeneratorIsHealed checks that nothing is done to the cluster if a fault fails in a generator.
func TestWhatFailsInAGeneratorIsHealed(t *testing.T) {
	var seen []string
	c := nemesis.WithRemoteClients(sides{name: "here", seen: &seen},
		sides{name: "there", seen: &seen, fails: errors.New("away")})
	heal, err := c.Impair([]harness.Link{{From: "g0", To: "r1"}, {From: "r1", To: "r2"}}, harness.Drop())
	require.EqualError(t, err, "away")
	require.NoError(t, heal())
	require.Equal(t, []string{"there g0>r1", "there healed"}, seen)
}
