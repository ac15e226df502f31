package external

import (
	"context"
	"errors"
	"net"
	"os"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// reply is an error reply.
type reply string

func (r reply) Error() string { return string(r) }
func (reply) RedisError()     {}

func TestErrorRepliesNameNoUser(t *testing.T) {
	said := reply("NOPERM User canary has no permissions to run the 'get' command")
	refuse := func(_ context.Context, cmd redis.Cmder) error {
		cmd.SetErr(said)
		return said
	}
	cmd := redis.NewStringCmd(t.Context(), "get", "k")
	err := discreet{"canary"}.ProcessHook(refuse)(t.Context(), cmd)
	for _, err := range []error{err, cmd.Err()} {
		require.EqualError(t, err, "NOPERM User USER has no permissions to run the 'get' command")
		require.True(t, redis.HasErrorPrefix(err, "NOPERM"))
		require.ErrorIs(t, err, said)
	}
	one, two := redis.NewStringCmd(t.Context(), "get", "k"), redis.NewStringCmd(t.Context(), "get", "k")
	err = discreet{"canary"}.ProcessPipelineHook(func(context.Context, []redis.Cmder) error {
		one.SetErr(said)
		return said
	})(t.Context(), []redis.Cmder{one, two})
	require.NotContains(t, err.Error(), "canary")
	require.NotContains(t, one.Err().Error(), "canary")
	require.NoError(t, two.Err())
	other := errors.New("something else")
	require.Equal(t, other, discreet{"canary"}.without(other))
	require.Equal(t, error(said), discreet{}.without(said))
	require.Equal(t, redis.Nil, discreet{"redis"}.without(redis.Nil), "it is compared by what it is")
	timeout := &net.OpError{Op: "read", Net: "tcp", Err: os.ErrDeadlineExceeded}
	require.Equal(t, error(timeout), discreet{"read"}.without(timeout))
	require.EqualError(t, discreet{"NOPERM"}.without(said), said.Error(), "what is wrong stays")
}
