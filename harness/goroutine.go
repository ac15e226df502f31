package harness

import "context"

// Starter is a [ClientTime] that starts its client's goroutines itself. The explorer's is one: it decides when each goroutine
// takes its next step.
type Starter interface {
	ClientTime
	// Go does what the function Go does.
	Go(ctx context.Context, f func(context.Context)) (wait func())
	// Goes does what the function Goes does.
	Goes() bool
}

// Abandoner is a [ClientTime] that can end a search on behalf of one of its clients. The explorer's is one.
type Abandoner interface {
	ClientTime
	// Abandon does what the function Abandon does.
	Abandon(why error)
}

// Abandon ends the search that the client of ctx belongs to. why says why the client cannot go on, such as that the
// program which it stands for has broken down: no violation, and not the algorithm's failure. In a search Abandon ends
// the goroutine that calls it, which has to be one of the client's, and does not return. Without an [Abandoner], as
// under load, it does nothing.
func Abandon(ctx context.Context, why error) {
	if a, ok := ctx.Value(clientTimeKey{}).(Abandoner); ok {
		a.Abandon(why)
	}
}

// Go runs f in a goroutine of the client that ctx belongs to, such as a watchdog that renews a lease or a loop that reads a
// subscription. wait returns when f has returned; it may be called more than once, or never.
//
// An algorithm under test that works in the background has to start its goroutines here, so that the explorer knows them: the
// commands of f, its Sleep and Now, with the context that f is given, then are steps of a schedule like those of the client
// itself. Goroutines of a client may share memory. The explorer lets one of them run at a time, from one command, Sleep or
// Now to the next. So they must not wait for each other in any other way than by wait: not by a channel or a held mutex.
//
// f has to return when a command or Sleep returns an error that no further try can avoid: its client has crashed, or ended.
func Go(ctx context.Context, f func(context.Context)) (wait func()) {
	if s, ok := ctx.Value(clientTimeKey{}).(Starter); ok {
		return s.Go(ctx, f)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(ctx)
	}()
	return func() { <-done }
}

// Goes reports whether a goroutine that the client of ctx has started by Go is still at work. Only a [Starter] knows: without one
// it returns false.
func Goes(ctx context.Context) bool {
	s, ok := ctx.Value(clientTimeKey{}).(Starter)
	return ok && s.Goes()
}
