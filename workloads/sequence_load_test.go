package workloads

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

// counting is a Sequencer that counts and ignores proposals.
type counting struct{ n *atomic.Int64 }

func (c counting) Next(context.Context, string, string) (string, error) {
	return strconv.FormatInt(c.n.Add(1), 10), nil
}

// proposedTo lists what a client proposed to each sequence in the given number of draws.
func proposedTo(t *testing.T, o Options, draws int) map[string][]string {
	t.Helper()
	w := Sequences(nil, o, nil).(*sequences)
	timeline := &lockTime{}
	s := timeline.session(0)
	c := &sequenceClient{generator: counting{&atomic.Int64{}}, load: w}
	for range draws {
		c.Step(t.Context(), s)
	}
	all := map[string][]string{}
	for _, op := range timeline.ops {
		all[op.Key] = append(all[op.Key], op.Arg)
	}
	return all
}

func TestEveryRegimeHasASequenceOfItsOwn(t *testing.T) {
	all := proposedTo(t, Options{}, 3000)
	require.Len(t, all, len(Regimes()))
	for _, r := range Regimes() {
		require.Greater(t, len(all["seq-"+string(r)]), 300, r)
	}
	require.Subset(t, all["seq-fixed"], []string{"23"})
	require.Contains(t, all["seq-growing"], "1")
	require.Regexp(t, "^[0-9]{3}$", all["seq-growing"][len(all["seq-growing"])-1])
	require.Contains(t, all["seq-beyond-2^53"], strconv.Itoa(twoTo53))
	for _, proposal := range all["seq-timestamp17"] {
		require.Len(t, proposal, 17)
	}
	require.Len(t, proposedTo(t, Options{Keys: 3}, 3000), 3*len(Regimes()))
}

func TestARegimeThatIsNamedIsTheOnlyOne(t *testing.T) {
	all := proposedTo(t, Options{Regime: Growing, Keys: 2}, 300)
	require.Len(t, all, 2)
	require.Contains(t, all, "seq-0")
	require.Contains(t, all, "seq-1")
	own := Variant{ID: "own", Family: Sequence, OwnNumbers: true}.Workload(nil, Options{}).(*sequences)
	require.Equal(t, Fixed, own.opts.Regime, "one is as good as another")
}

func TestRegimesTakeTurnsWhereThereIsOneSequence(t *testing.T) {
	c, _ := realRedis(t)
	w := Sequences(c, Options{OneKey: true},
		func(r redis.UniversalClient) Sequencer { return oneCounter{r} }).(*sequences)
	client, err := w.Open(t.Context(), 0)
	require.NoError(t, err)
	timeline := &lockTime{}
	s := timeline.session(0)
	for range len(Regimes()) + 1 {
		for range 3 {
			client.Step(t.Context(), s)
		}
		timeline.now += sequenceTurn
	}
	require.Len(t, timeline.ops, 3*(len(Regimes())+1))
	for i, op := range timeline.ops {
		key := "seq-" + string(Regimes()[i/3%len(Regimes())])
		if i/3 == len(Regimes()) {
			key += "-2"
		}
		require.Equal(t, key, op.Key)
		require.Equal(t, strconv.Itoa(1+i%3), op.Result, "the store was emptied")
	}
}

// oneCounter is a Sequencer that ignores its key.
type oneCounter struct{ redis redis.UniversalClient }

func (o oneCounter) Next(ctx context.Context, _, _ string) (string, error) {
	n, err := o.redis.Incr(ctx, "k").Result()
	return strconv.FormatInt(n, 10), err
}

func TestATurnGoesOnIfTheStoreCannotBeEmptied(t *testing.T) {
	c, _ := realRedis(t)
	w := Sequences(c, Options{OneKey: true},
		func(redis.UniversalClient) Sequencer { return counting{&atomic.Int64{}} }).(*sequences)
	client, err := w.Open(t.Context(), 0)
	require.NoError(t, err)
	timeline := &lockTime{}
	s := timeline.session(0)
	client.Step(t.Context(), s)
	require.NoError(t, c.Kill("r1"))
	timeline.now += 2 * sequenceTurn
	client.Step(t.Context(), s)
	require.Equal(t, timeline.ops[0].Key, timeline.ops[1].Key)
	require.Equal(t, harness.OK, timeline.ops[1].Outcome)
}
