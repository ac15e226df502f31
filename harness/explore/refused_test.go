package explore

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

func TestWhoseOwnerWasRefused(t *testing.T) {
	op := func(client int, kind harness.Kind, outcome harness.Outcome, at, ttl time.Duration) harness.Op {
		return harness.Op{Client: client, Kind: kind, Key: "k", Arg: "a", Outcome: outcome,
			Call: at, Return: at, TTL: ttl}
	}
	got := op(1, harness.Acquire, harness.OK, 1, 10)
	refused := op(1, harness.Release, harness.Fail, 5, 0)
	for name, c := range map[string]struct {
		want bool
		ops  []harness.Op
	}{
		"nobody has it":     {false, nil},
		"never had it":      {false, []harness.Op{refused}},
		"has it":            {false, []harness.Op{got}},
		"refused a release": {true, []harness.Op{got, refused}},
		"refused an extend": {true, []harness.Op{got, op(1, harness.Extend, harness.Fail, 5, 10)}},
		"refused twice": {true,
			[]harness.Op{got, refused, op(1, harness.Release, harness.Fail, 6, 0)}},
		"renewed before": {true,
			[]harness.Op{got, op(1, harness.Extend, harness.OK, 9, 10), op(1, harness.Release, harness.Fail, 15, 0)}},
		"released before": {false, []harness.Op{got, op(1, harness.Release, harness.OK, 4, 0), refused}},
		"no answer to a release before": {false,
			[]harness.Op{got, op(1, harness.Release, harness.Info, 4, 0), refused}},
		"after its lease": {false, []harness.Op{got, op(1, harness.Release, harness.Fail, 11, 0)}},
		"another one has it since": {false,
			[]harness.Op{got, refused, op(2, harness.Acquire, harness.OK, 6, 10)}},
		"another one was refused before": {true,
			[]harness.Op{got, op(2, harness.Acquire, harness.Fail, 3, 10), refused}},
		"that one was not its owner": {false, []harness.Op{got, op(2, harness.Release, harness.Fail, 5, 0)}},
	} {
		require.Equal(t, c.want, ownerRefused(c.ops, 10), name)
		require.False(t, ownerRefused(c.ops, 30), "%s: its lease is over by now", name)
	}
}
