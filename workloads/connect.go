package workloads

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
)

// Connector returns the Redis client of a client group. Package harness/cluster has one. The client must not retry by
// itself (MaxRetries -1), unless retries are under test: a SET NX that is sent again may be refused because the first
// SET NX took the lock.
type Connector interface {
	Connect(group int) (redis.UniversalClient, error)
}

// call traces the commands of one operation, to decide what an error of the operation means. If one of its commands may
// have been executed, the operation may have had an effect. Otherwise it certainly had none.
type call struct {
	sent       atomic.Bool // the tracer has seen a command
	mayHaveRun atomic.Bool // a command may have been executed
	masters    ballot      // used only for a system of several masters
}

// attempt traces one command of a call. Commands of one call may run concurrently.
type attempt struct{ unsent atomic.Bool }

type (
	callKey    struct{}
	attemptKey struct{}
)

func withCall(ctx context.Context) (context.Context, *call) {
	c := &call{}
	return context.WithValue(ctx, callKey{}, c), c
}

// finish sets the outcome of op from err, the error of the operation. It returns true if err is nil.
func (c *call) finish(op *harness.Op, err error) bool {
	if err == nil {
		op.Outcome = harness.OK
		return true
	}
	op.Outcome, op.Err = harness.Info, reason(err)
	// If no command was seen, they were sent in another context, so nothing is known about them.
	if c.sent.Load() && !c.mayHaveRun.Load() || errors.Is(err, ErrNoEffect) {
		op.Outcome = harness.Fail
	}
	return false
}

// tracer is a go-redis hook that notes the commands of each call. If several workloads share a client, each may install
// a tracer; the one that sees a command first decides.
type tracer struct {
	master  int  // number of the master that the client leads to, from 1; 0: there is only one master
	retries bool // the client resends commands without an answer, so no error proves that nothing was executed
}

// retriesByItself reports whether a client resends commands by itself.
func retriesByItself(r redis.UniversalClient) bool {
	c, ok := r.(*redis.Client)
	return ok && c.Options().MaxRetries > 0
}

func (tracer) DialHook(next redis.DialHook) redis.DialHook { return next }

func (t tracer) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "hello" { // go-redis sends HELLO in the context of the command that needs the connection
			err := next(ctx, cmd)
			var refused redis.Error // go-redis goes on after an error reply
			if a, ok := ctx.Value(attemptKey{}).(*attempt); ok && err != nil && !errors.As(err, &refused) {
				a.unsent.Store(true)
			}
			return err
		}
		return t.trace(ctx, []redis.Cmder{cmd}, false, func(ctx context.Context) error { return next(ctx, cmd) })
	}
}

func (t tracer) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		return t.trace(ctx, cmds, true, func(ctx context.Context) error { return next(ctx, cmds) })
	}
}

// trace sends the commands: a single command, or the commands of a pipeline. trace notes whether any of the commands
// can have been executed. The client may crash or be paused just before they are sent and just after.
func (t tracer) trace(ctx context.Context, cmds []redis.Cmder, pipeline bool, send func(context.Context) error) error {
	c, ok := ctx.Value(callKey{}).(*call)
	if !ok {
		return send(ctx)
	}
	if a, ok := ctx.Value(attemptKey{}).(*attempt); ok { // another tracer is outside this one
		err := send(ctx)
		c.masters.note(t.master, t.retries && err != nil || a.mayHaveRun(err, cmds, pipeline), err)
		return err
	}
	a := &attempt{}
	c.sent.Store(true)
	if err := harness.Checkpoint(ctx); err != nil && !onlyCleansUp(cmds) {
		c.masters.note(t.master, false, err)
		return setError(cmds, err)
	}
	err := send(context.WithValue(ctx, attemptKey{}, a))
	ran := t.retries && err != nil || a.mayHaveRun(err, cmds, pipeline)
	if ran {
		c.mayHaveRun.Store(true)
	}
	if crash := harness.Checkpoint(ctx); crash != nil {
		err = setError(cmds, crash)
	}
	c.masters.note(t.master, ran, err)
	return err
}

// mayHaveRun reports whether any of the commands can have been executed. err is the error of sending them.
func (a *attempt) mayHaveRun(err error, cmds []redis.Cmder, pipeline bool) bool {
	return !a.unsent.Load() && !(notExecuted(err) && (!pipeline || noneExecuted(cmds)))
}

// onlyCleansUp reports whether the only command is an UNWATCH or DISCARD. These are sent even for a crashed client. A
// real crash would close the client's connection, but here other clients use the connection next.
func onlyCleansUp(cmds []redis.Cmder) bool {
	return len(cmds) == 1 && (cmds[0].Name() == "unwatch" || cmds[0].Name() == "discard")
}

// setError sets err as the answer to each of the commands, and returns it.
func setError(cmds []redis.Cmder, err error) error {
	for _, cmd := range cmds {
		cmd.SetErr(err)
	}
	return err
}

// noneExecuted reports whether no command of a failed pipeline can have been executed. It looks at each command's
// error, since the pipeline's error is only the first of them. If no command has one, the pipeline failed
// before it was sent. WAIT does not count, since it changes nothing.
func noneExecuted(pipeline []redis.Cmder) bool {
	failed := func(cmd redis.Cmder) bool { return cmd.Err() != nil }
	mayHaveRun := func(cmd redis.Cmder) bool { return cmd.Name() != "wait" && !notExecuted(cmd.Err()) }
	return !slices.ContainsFunc(pipeline, failed) || !slices.ContainsFunc(pipeline, mayHaveRun)
}

// refusals lists the beginnings of error replies which say that the command was not executed. A script that gets such a
// reply has not written anything before.
var refusals = []string{"READONLY", "NOREPLICAS", "LOADING", "MASTERDOWN", "NOSCRIPT", "MISCONF", "OOM", "NOAUTH",
	"CLUSTERDOWN", "CROSSSLOT"}

// notExecuted reports whether err proves that its command had no effect.
func notExecuted(err error) bool {
	var dial *net.OpError
	switch {
	case err == nil:
		return false
	case errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrPoolExhausted), errors.Is(err, redis.ErrClosed):
		return true // it never had a connection
	case errors.As(err, &dial) && dial.Op == "dial":
		return true
	case strings.Contains(err.Error(), "sentinels specified in configuration are unreachable"):
		return true // there was no primary to send it to
	}
	for _, p := range refusals {
		if redis.HasErrorPrefix(err, p) {
			return true
		}
	}
	return false
}

// reason returns a short name for err, the same for all errors of one cause, so that reports can count them.
func reason(err error) string {
	var reply redis.Error
	var network net.Error
	switch {
	case errors.As(err, &reply):
		word, _, _ := strings.Cut(reply.Error(), " ")
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
	case errors.Is(err, harness.ErrCrashed):
		return harness.Crashed
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded),
		errors.As(err, &network) && network.Timeout():
		return "timeout"
	case errors.Is(err, context.Canceled):
		return "cancelled"
	}
	return err.Error()
}

// pool opens the clients of each group once and installs the tracer in them.
type pool struct {
	connector Connector
	mu        sync.Mutex
	clients   map[int]redis.UniversalClient
	quorums   map[int][]redis.UniversalClient
}

func newPool(c Connector) *pool {
	return &pool{connector: c, clients: map[int]redis.UniversalClient{}, quorums: map[int][]redis.UniversalClient{}}
}

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
	r.AddHook(tracer{retries: retriesByItself(r)})
	p.clients[group] = r
	return r, nil
}

// masters returns a group's clients, one for each master.
func (p *pool) masters(group int) ([]redis.UniversalClient, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if all, ok := p.quorums[group]; ok {
		return all, nil
	}
	c, ok := p.connector.(QuorumConnector)
	if !ok {
		return nil, errors.New("the system has one master: a quorum lock needs several")
	}
	all, err := c.ConnectAll(group)
	if err != nil {
		return nil, err
	}
	for i, r := range all {
		r.AddHook(tracer{master: i + 1, retries: retriesByItself(r)})
	}
	p.quorums[group] = all
	return all, nil
}
