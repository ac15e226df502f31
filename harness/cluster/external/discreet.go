package external

import (
	"context"
	"errors"
	"strings"

	"github.com/redis/go-redis/v9"
)

// discreet is a go-redis hook that takes the user's name out of error replies: a Redis of version 7.2 or newer writes it into NOPERM, and
// error replies end up in reasons of runs.
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

// hide returns err without the user's name, and takes it out of the commands' errors.
func (d discreet) hide(err error, cmds ...redis.Cmder) error {
	for _, cmd := range cmds {
		if d.named(cmd.Err()) {
			cmd.SetErr(d.without(cmd.Err()))
		}
	}
	return d.without(err)
}

// named reports whether err is an error reply with the user's name. Other errors mean something by what they are, and have no names.
func (d discreet) named(err error) bool {
	var reply redis.Error
	return err != nil && d.user != "" && !errors.Is(err, redis.Nil) && errors.As(err, &reply) && strings.Contains(err.Error(), d.user)
}

func (d discreet) without(err error) error {
	if !d.named(err) {
		return err
	}
	return refusal{withoutName(err.Error(), d.user), err}
}

// withoutName leaves the first word of an error reply as it is: it says what is wrong.
func withoutName(reply, user string) string {
	word, rest, found := strings.Cut(reply, " ")
	if !found {
		return reply
	}
	return word + " " + strings.ReplaceAll(rest, user, "USER")
}

// refusal is an error reply in which the user's name is left out.
type refusal struct {
	text string
	err  error
}

func (r refusal) Error() string { return r.text }
func (r refusal) Unwrap() error { return r.err }
func (refusal) RedisError()     {}
