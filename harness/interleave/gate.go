package interleave

import (
	"context"
	"errors"
)

// Gate is how a program's clients reach Redis.
type Gate uint8

// Kinds of Gate. All except InProcess are for adapters: each client gets an address, and
// connections to it are that client's. They speak RESP 2 or 3 in arrays of bulk strings, as client libraries do.
const (
	InProcess Gate = iota // the go-redis client that Program.Open is given
	TCP                   // a port of 127.0.0.1; the address is "127.0.0.1:PORT"
	Unix                  // a Unix socket; the address is its path
)

// ErrAdapter says that the adapter that a client stands for has broken down: it died, or what it
// said makes no sense. The search then ends and reports it. It is not a violation.
var ErrAdapter = errors.New("the adapter has broken down")

// forProgram is the context key of ForProgram.
type forProgram struct{}

// ForAdapter returns a context for dialling a connection for an adapter.
func ForAdapter(ctx context.Context) context.Context {
	return context.WithValue(ctx, forProgram{}, true)
}

// IsForProgram reports whether ctx comes from ForProgram.
func IsForProgram(ctx context.Context) bool { return ctx.Value(forProgram{}) != nil }
