package interleave

import (
	"context"
	"errors"
)

// Gate is the way by which the clients of a program reach Redis.
type Gate uint8

// The gates. All but InProcess are for programs outside this process: each client gets an address of its own, and
// whatever connects to that address is the client. They speak RESP 2 or 3 in arrays of bulk strings, as client
// libraries do.
const (
	InProcess Gate = iota // the go-redis client that Program.Open is given
	TCP                   // a port of 127.0.0.1; the address is "127.0.0.1:PORT"
	Unix                  // a Unix socket; the address is its path
)

// ErrOutside marks what a client panics with when the program outside that it stands for has broken down: it died, or
// what it said makes no sense. The search then ends and says so. It is no violation.
var ErrOutside = errors.New("the program outside has broken down")

// forProgram is the key of contexts of ForProgram.
type forProgram struct{}

// ForProgram returns a context for dialling a connection that a program outside will use.
func ForProgram(ctx context.Context) context.Context {
	return context.WithValue(ctx, forProgram{}, true)
}

// IsForProgram reports whether ctx is one of ForProgram.
func IsForProgram(ctx context.Context) bool { return ctx.Value(forProgram{}) != nil }
