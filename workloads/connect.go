package workloads

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
)

// Connector hands out the Redis client of a client group; harness/cluster has one. The client must not retry by
// itself (MaxRetries -1): a retried SET NX can be refused by the lock that it took.
type Connector interface {
	Connect(group int) (redis.UniversalClient, error)
}

// A call is the trace of one operation's commands. It decides what an error means for the operation as a whole: it has
// certainly not happened only if no command of it can have been executed.
type call struct {
	mu       sync.Mutex
	unsent   bool // the connection for the command under way could not be set up
	executed bool // some command may have been executed
}

type callKey struct{}

func track(ctx context.Context) (context.Context, *call) {
	c := &call{}
	return context.WithValue(ctx, callKey{}, c), c
}

// settle turns the error of an operation into its outcome, and reports whether there was none.
func (c *call) settle(op *harness.Op, err error) bool {
	if err == nil {
		op.Outcome = harness.OK
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	op.Outcome, op.Err = harness.Info, reason(err)
	if !c.executed {
		op.Outcome = harness.Fail
	}
	return false
}

// tracer is a go-redis hook that keeps calls. It is installed once on each client.
type tracer struct{}

func (tracer) DialHook(next redis.DialHook) redis.DialHook { return next }

func (tracer) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c, ok := ctx.Value(callKey{}).(*call)
		if !ok {
			return next(ctx, cmd)
		}
		if cmd.Name() == "hello" { // go-redis greets in the context of the command that needs the connection
			err := next(ctx, cmd)
			c.greeted(err)
			return err
		}
		c.begin()
		err := next(ctx, cmd)
		c.end(err)
		return err
	}
}

func (tracer) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		c, ok := ctx.Value(callKey{}).(*call)
		if !ok {
			return next(ctx, cmds)
		}
		c.begin()
		err := next(ctx, cmds)
		c.end(err)
		return err
	}
}

func (c *call) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unsent = false
}

func (c *call) greeted(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unsent = err != nil
}

func (c *call) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.unsent && !notExecuted(err) {
		c.executed = true
	}
}

// refusals are error replies that say that the command was not executed, even inside a script: the first write of a
// script meets them.
var refusals = []string{"READONLY", "NOREPLICAS", "LOADING", "MASTERDOWN", "NOSCRIPT", "MISCONF", "OOM", "NOAUTH", "CLUSTERDOWN"}

// notExecuted reports whether err proves that its command had no effect.
func notExecuted(err error) bool {
	var dial *net.OpError
	switch {
	case err == nil:
		return false
	case errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrPoolExhausted), errors.Is(err, redis.ErrClosed):
		return true // never had a connection
	case errors.As(err, &dial) && dial.Op == "dial":
		return true
	case strings.Contains(err.Error(), "sentinels specified in configuration are unreachable"):
		return true // no primary to send it to
	}
	for _, p := range refusals {
		if redis.HasErrorPrefix(err, p) {
			return true
		}
	}
	return false
}

// reason is a short name for err, the same for all errors of one cause, so that reports can count them.
func reason(err error) string {
	var reply redis.Error
	var network net.Error
	switch {
	case errors.As(err, &reply):
		word, _, _ := strings.Cut(err.Error(), " ")
		return word
	case strings.Contains(err.Error(), "sentinels specified"):
		return "no Sentinel"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "reset"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		return "closed"
	case errors.Is(err, redis.ErrPoolTimeout):
		return "no connection"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return "timeout"
	case errors.Is(err, context.Canceled):
		return "cancelled"
	}
	return err.Error()
}

// pool opens the client of each group once and installs the tracer in it.
type pool struct {
	connector Connector
	mu        sync.Mutex
	clients   map[int]redis.UniversalClient
}

func newPool(c Connector) *pool { return &pool{connector: c, clients: map[int]redis.UniversalClient{}} }

func (p *pool) client(group int) (redis.UniversalClient, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r, ok := p.clients[group]; ok {
		return r, nil
	}
	r, err := p.connector.Connect(group)
	if err != nil {
		return nil, err
	}
	r.AddHook(tracer{})
	p.clients[group] = r
	return r, nil
}
