package workloads

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

func TestAnErrorReplyCanBeADefiniteNo(t *testing.T) {
	_, r := realRedis(t)
	refuses := Script{As: Sequence, Name: "limited", Source: `return redis.error_reply('RATELIMITED try later')`}
	for _, c := range []struct {
		noErrors []string
		want     harness.Outcome
	}{{nil, harness.Info}, {[]string{"BUSY"}, harness.Info}, {[]string{"RATELIMITED"}, harness.Fail}} {
		refuses.NoErrors = c.noErrors
		text := refuses.main(r)
		_, err := text.number(t.Context(), sequenceValues("k", "1"))
		require.Error(t, err)
		op := harness.Op{}
		_, call := withCall(t.Context())
		call.seen.Store(true)
		call.executed.Store(true)
		call.settle(&op, err)
		require.Equal(t, c.want, op.Outcome, "%v", c.noErrors)
	}
	refuses.NoErrors = []string{" "}
	require.ErrorContains(t, refuses.validate(), "would make every error a no")

	refuses.As, refuses.NoErrors = Lock, []string{"RATELIMITED"}
	text := refuses.main(r)
	yes, err := text.says(t.Context(), lockValues("k", "me", time.Second))
	require.NoError(t, err)
	require.False(t, yes)
}
