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

type reply string

func (r reply) Error() string { return string(r) }
func (reply) RedisError()     {}

func TestErrorRepliesNameNoUser(t *testing.T) {
	said := reply("NOPERM User canary has no permissions to run the 'get' command")
	one, two, three := redis.NewStringCmd(t.Context()), redis.NewStringCmd(t.Context()), redis.NewStringCmd(t.Context())
	refuse := func(_ context.Context, cmd redis.Cmder) error { cmd.SetErr(said); return said }
	refuseFirst := func(ctx context.Context, cmds []redis.Cmder) error { return refuse(ctx, cmds[0]) }
	for _, err := range []error{
		discreet{"canary"}.ProcessHook(refuse)(t.Context(), one), one.Err(),
		discreet{"canary"}.ProcessPipelineHook(refuseFirst)(t.Context(), []redis.Cmder{two, three}), two.Err(),
	} {
		require.EqualError(t, err, "NOPERM User USER has no permissions to run the 'get' command")
		require.True(t, redis.HasErrorPrefix(err, "NOPERM"))
		require.ErrorIs(t, err, said)
	}
	require.NoError(t, three.Err())
	for user, same := range map[string]error{
		"canary": errors.New("something else"), "": said, "redis": redis.Nil, // callers compare it
		"read": &net.OpError{Op: "read", Net: "tcp", Err: os.ErrDeadlineExceeded},
	} {
		require.Equal(t, same, discreet{user}.redact(same))
	}
	require.EqualError(t, discreet{"NOPERM"}.redact(said), said.Error(), "what is wrong stays")
}
