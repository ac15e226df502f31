package harness

import "context"

// Starter is a [ClientTime] that starts its client's goroutines itself. The explorer has one: it decides when each
// goroutine takes its next step.
type Starter interface {
	ClientTime
	// Go implements the function Go of this package.
	Go(ctx context.Context, f func(context.Context)) (wait func())
	// HasGoroutines implements the function HasGoroutines of this package.
	HasGoroutines() bool
}

// Abandoner is a [ClientTime] that can end a search on behalf of one of its clients. The explorer has one.
type Abandoner interface {
	ClientTime
	// Abandon implements the function Abandon of this package.
	Abandon(why error)
}

// Abandon ends the search that the client of ctx belongs to. The argument why says why the client cannot go on. For
// example, the client's program has broken down, which is neither a violation nor a failure of the algorithm. In a
// search Abandon does not return: it ends the calling goroutine, which must be one of the client's. Without an
// [Abandoner], as under load, it does nothing.
func Abandon(ctx context.Context, why error) {
	if a, ok := ctx.Value(clientTimeKey{}).(Abandoner); ok {
		a.Abandon(why)
	}
}

// Go runs f in a goroutine of the client that ctx belongs to, such as a watchdog that renews a lease or a loop that
// reads a subscription. The function wait returns when f has returned. It may be called more than once, or never.
//
// An algorithm under test that works in the background has to start its goroutines here, so that the explorer knows
// about them. The commands, Sleep and Now that f calls with its own context are steps of a schedule, as the client's
// are. Goroutines of one client may share memory: the explorer runs one of them at a time, from one command, Sleep or
// Now to the next. To wait for each other they must call wait: neither channels nor mutexes may make them wait.
//
// When the client has crashed or ended, each further command and Sleep of f returns an error. f has to return then.
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

// HasGoroutines reports whether a goroutine that the client of ctx has started by Go is still running. Without a
// [Starter], which keeps track of goroutines, it returns false.
func HasGoroutines(ctx context.Context) bool {
	s, ok := ctx.Value(clientTimeKey{}).(Starter)
	return ok && s.HasGoroutines()
}
