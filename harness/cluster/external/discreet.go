package external

import (
	"context"
	"errors"
	"strings"

	"github.com/redis/go-redis/v9"
)

// discreet is a go-redis hook that removes the user's name from error replies. Redis 7.2 and newer write the name into
// NOPERM errors, and reports of runs quote error replies.
type discreet struct{ user string }

func (discreet) DialHook(next redis.DialHook) redis.DialHook { return next }

func (d discreet) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		return d.hide(next(ctx, cmd), cmd)
	}
}

func (d discreet) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		return d.hide(next(ctx, cmds), cmds...)
	}
}

// hide removes the user's name from err and from the commands' errors.
func (d discreet) hide(err error, cmds ...redis.Cmder) error {
	for _, cmd := range cmds {
		if d.namesUser(cmd.Err()) {
			cmd.SetErr(d.redact(cmd.Err()))
		}
	}
	return d.redact(err)
}

// namesUser reports whether err is an error reply of the server, other than redis.Nil, whose text has the user's name.
// Other errors do not contain the name. They stay as they are, because callers compare them.
func (d discreet) namesUser(err error) bool {
	var reply redis.Error
	return err != nil && d.user != "" && !errors.Is(err, redis.Nil) && errors.As(err, &reply) &&
		strings.Contains(err.Error(), d.user)
}

func (d discreet) redact(err error) error {
	if !d.namesUser(err) {
		return err
	}
	return refusal{&redactedError{withoutName(err.Error(), d.user), err}}
}

// withoutName replaces the user's name in an error reply, but not in its first word, which is the error code.
func withoutName(reply, user string) string {
	word, rest, found := strings.Cut(reply, " ")
	if !found {
		return reply
	}
	return word + " " + strings.ReplaceAll(rest, user, "USER")
}

// refusal is an error reply without the user's name.
type refusal struct{ *redactedError }

func (refusal) RedisError() {}
