package workloads

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/lua"
)

// draw calls a generator n times with the same proposal.
func draw(t *testing.T, q Sequencer, key, proposed string, n int) []string {
	t.Helper()
	var all []string
	for range n {
		v, err := q.Next(t.Context(), key, proposed)
		require.NoError(t, err)
		all = append(all, v)
	}
	return all
}

// stored returns what the server stores for a sequence, wherever the variant keeps it.
func stored(t *testing.T, r redis.UniversalClient, key string) string {
	t.Helper()
	if v, err := r.HGet(t.Context(), sequencesHash, key).Result(); err == nil {
		return v
	}
	v, err := r.Get(t.Context(), key).Result()
	require.NoError(t, err)
	return v
}

func TestEveryGeneratorKeepsItsContractAlone(t *testing.T) {
	_, alone := realRedis(t)
	replicated := realSentinel(t)
	for _, v := range sequenceVariants() {
		v = patientWait(v)
		t.Run(v.ID, func(t *testing.T) {
			r := alone
			if v.Acks > 0 {
				r = replicated
			}
			got := draw(t, v.newSequencer(r), t.Name(), "23", 3)
			first, err := strconv.Atoi(got[0])
			require.NoError(t, err)
			require.Equal(t, []string{strconv.Itoa(first), strconv.Itoa(first + 1), strconv.Itoa(first + 2)}, got)
			require.Equal(t, got[2], stored(t, r, t.Name()))
			require.Equal(t, strconv.Itoa(first+3), draw(t, v.newSequencer(r), t.Name(), "23", 1)[0],
				"of a second client")
		})
	}
}

const month = 30 * 24 * time.Hour

func TestOnlyStringCompareLosesTheTTL(t *testing.T) {
	ctx := t.Context()
	_, r := realRedis(t)
	left := func(key string) time.Duration { return r.TTL(ctx, key).Val().Round(time.Hour) }
	for _, proposed := range []string{"11", "11"} {
		draw(t, newLuaSequence(lua.SequenceStringCompare)(r), "plain", proposed, 1)
		require.Equal(t, month, left("plain"))
	}
	draw(t, newLuaSequence(lua.SequenceStringCompare)(r), "plain", "15", 1)
	require.Equal(t, time.Duration(-1), r.TTL(ctx, "plain").Val(), "SET has kept the TTL")

	for _, source := range []string{lua.SequenceStringCompareHash, lua.SequenceNumericCompare} {
		require.NoError(t, r.Del(ctx, sequencesHash).Err())
		draw(t, newHashSequence(source)(r), "biz", "11", 2)
		draw(t, newHashSequence(source)(r), "biz", "15", 2)
		require.Equal(t, month, left(sequencesHash))
	}
}

func TestDigitsCompareForgetsOnlyWhatIsLeftAlone(t *testing.T) {
	ctx := t.Context()
	_, r := realRedis(t)
	q := newLuaSequence(lua.SequenceDigitsCompare)(r)
	for _, proposed := range []string{"11", "15", "12"} { // the first, a larger one, a smaller one
		draw(t, q, "biz", proposed, 1)
		require.Equal(t, month, r.TTL(ctx, "biz").Val().Round(time.Hour))
		require.NoError(t, r.Expire(ctx, "biz", time.Minute).Err())
	}
	end(t, r, "biz")
	require.Equal(t, []string{"12"}, draw(t, q, "biz", "12", 1))
}

func TestLeadingZerosAreNumbersOnlyToThoseThatCompareNumbers(t *testing.T) {
	_, r := realRedis(t)
	numeric := newHashSequence(lua.SequenceNumericCompare)(r)
	require.Equal(t, []string{"100"}, draw(t, numeric, "zeros", "000100", 1))
	require.Equal(t, []string{"101"}, draw(t, numeric, "zeros", "000099", 1))
	for name, q := range map[string]Sequencer{
		"plain": newLuaSequence(lua.SequenceStringCompare)(r),
		"hash":  newHashSequence(lua.SequenceStringCompareHash)(r),
	} {
		require.Equal(t, []string{"09"}, draw(t, q, name, "09", 1))
		_, err := q.Next(t.Context(), name, "09")
		require.ErrorContains(t, err, "not an integer", "09 was counted on from")
		require.Equal(t, []string{"9"}, draw(t, q, name, "9", 1), "09 once more")
	}
}

func TestIncrIgnoresTheProposal(t *testing.T) {
	_, r := realRedis(t)
	require.Equal(t, []string{"1", "2", "3"}, draw(t, newIncrSequence(r), "biz", Timestamp17.sample(0, 0), 3))
}

// orders lists all orders of three calls, two of client 0 and one of client 1.
var orders = [][]int{{0, 0, 1}, {0, 1, 0}, {1, 0, 0}}

// sampled lets the clients in order draw numbers, with a regime's samples as proposals. It adds the violations to
// found.
func sampled(
	t *testing.T, q Sequencer, r redis.UniversalClient, regime Regime, order []int, found map[harness.Class]bool,
) {
	t.Helper()
	require.NoError(t, r.FlushAll(t.Context()).Err())
	var calls [2]int
	var seen []int
	last := 0
	for _, client := range order {
		got := draw(t, q, "biz", regime.sample(client, calls[client]), 1)
		calls[client]++
		number, kept := numbers(t, got)[0], numbers(t, []string{stored(t, r, "biz")})[0]
		for class, shows := range map[harness.Class]bool{
			harness.DuplicateNumber:   slices.Contains(seen, number),
			harness.Regression:        len(seen) > 0 && number < slices.Max(seen),
			harness.SequenceRestart:   kept < last,
			harness.ReturnedNotStored: kept != number,
		} {
			if shows {
				found[class] = true
			}
		}
		seen, last = append(seen, number), kept
	}
}

// The samples of a regime show, within three calls, all classes that are declared for the regime, and no other class.
func TestSamplesShowTheFlawsOfTheirRegime(t *testing.T) {
	_, r := realRedis(t)
	for _, v := range sequenceVariants() {
		if v.Acks > 0 {
			continue
		}
		for _, regime := range Regimes() {
			t.Run(v.ID+"/"+string(regime), func(t *testing.T) {
				want, found := map[harness.Class]bool{}, map[harness.Class]bool{}
				for _, f := range v.Flaws {
					if f.When == In(regime) {
						want[f.Class] = true
					}
				}
				for _, order := range orders {
					sampled(t, v.newSequencer(r), r, regime, order, found)
				}
				require.Equal(t, want, found)
			})
		}
	}
}
