package harness

import (
	"context"
	"errors"
	"time"
)

// Listener is a [ClientTime] that decides when an adapter reads a message of its subscription. The explorer has one.
type Listener interface {
	ClientTime
	// AwaitMessage implements the function AwaitMessage of this package.
	AwaitMessage(ctx context.Context, within time.Duration) (comes bool, err error)
	// Subscribe implements the function Subscribe of this package.
	Subscribe()
}

// ErrNotSubscribed is the error of AwaitMessage for a program that has not subscribed.
var ErrNotSubscribed = errors.New("it has not subscribed")

// AwaitMessage waits until the program of ctx's client has something to read on its subscribed connection: a message,
// or the end of the connection. It returns true when the message or the end is about to reach the program. It returns
// false if the given time passes first on the client's clock. A time of 0 makes it wait for ever. It returns an error
// if the client has crashed or ctx has ended.
//
// Without a [Listener] it returns true at once, and the program waits by itself.
func AwaitMessage(ctx context.Context, within time.Duration) (comes bool, err error) {
	if l, ok := ctx.Value(clientTimeKey{}).(Listener); ok {
		return l.AwaitMessage(ctx, within)
	}
	return ctx.Err() == nil, ctx.Err()
}

// Subscribe announces that the program of ctx's client is about to subscribe on a new connection. The program will not
// wait for the confirmation, which arrives as a message does. Without a [Listener] it does nothing.
func Subscribe(ctx context.Context) {
	if l, ok := ctx.Value(clientTimeKey{}).(Listener); ok {
		l.Subscribe()
	}
}
