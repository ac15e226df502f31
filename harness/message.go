package harness

import (
	"context"
	"errors"
	"time"
)

// Listener is a [ClientTime] that decides when a program outside this process reads a message of its subscription. The explorer's is one.
type Listener interface {
	ClientTime
	// AwaitMessage does what the function AwaitMessage does.
	AwaitMessage(ctx context.Context, within time.Duration) (comes bool, err error)
	// Subscribe does what the function Subscribe does.
	Subscribe()
}

// ErrNotSubscribed is the error of AwaitMessage where the program has not subscribed.
var ErrNotSubscribed = errors.New("it has not subscribed")

// AwaitMessage waits until the program that the client of ctx speaks for has something to read on the connection by which it has
// subscribed, or until within has passed on the client's clock; 0: for ever. It reports whether there is something: a message or the end of
// the connection, which is then on its way to the program. It returns an error if the client has crashed or ctx has ended before. Without a
// [Listener] it returns at once, as if there were something: the program waits by itself.
func AwaitMessage(ctx context.Context, within time.Duration) (comes bool, err error) {
	if l, ok := ctx.Value(clientTimeKey{}).(Listener); ok {
		return l.AwaitMessage(ctx, within)
	}
	return ctx.Err() == nil, ctx.Err()
}

// Subscribe announces that the program which the client of ctx speaks for is about to subscribe on a new connection, and does not wait for
// the confirmation: that comes as a message does. Without a [Listener] it does nothing.
func Subscribe(ctx context.Context) {
	if l, ok := ctx.Value(clientTimeKey{}).(Listener); ok {
		l.Subscribe()
	}
}
