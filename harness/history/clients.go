package history

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// clients tracks the clients of a history. It refuses an operation that its client cannot have done, such as one that
// overlaps the client's previous one. Checkers rely on this, since they take each client for one owner.
type clients struct {
	meta           harness.Meta               // if Workers is 0, each client is a worker
	states         map[int]*workerState       // states of the workers, by worker
	abandoned      map[string][]heldLock      // locks that clients may have held at their end in info, by key
	abandonedCount int                        // number of entries in the map abandoned
	sweptCount     int                        // value of abandonedCount after the last sweep
	unanswered     map[lockToken]unansweredOp // first operation in info on a lock, which may still be executed
}

// unansweredOp is an operation that ended in info.
type unansweredOp struct {
	client   int
	returned time.Duration
}

// workerState holds a worker's latest operation and the locks that it may hold.
type workerState struct {
	client     int
	line       int
	called     time.Duration
	returned   time.Duration
	info       bool
	began      time.Duration               // Call of its first operation under this client id
	held       map[lockToken]time.Duration // last instant of the lease of each lock that it has not released
	sweptCount int                         // number of entries in the map held after the last sweep
}

// lockToken is a lock with the token of its owner.
type lockToken struct{ key, token string }

// heldLock is a lock that a client may still have held when the client's last operation ended in info.
type heldLock struct {
	token  string
	client int
	since  time.Duration // Return of the client's last operation, which ended in info
	last   time.Duration // last instant of the lease
}

// sweepAt is the number of locks that are kept before a sweep drops those whose lease is over.
const sweepAt = 64

func newClients(m harness.Meta) *clients {
	return &clients{meta: m, states: map[int]*workerState{}, abandoned: map[string][]heldLock{},
		unanswered: map[lockToken]unansweredOp{}}
}

// checkNext returns an error if op, which is on the given line, cannot follow the operations before it. Operations are
// passed in order of Return.
func (c *clients) checkNext(op harness.Op, line int) error {
	worker := c.meta.Worker(op.Client)
	s, known := c.states[worker]
	if !known {
		s = &workerState{began: op.Call}
		c.states[worker] = s
	}
	if known && worker != harness.HarnessClient {
		if err := c.checkReturning(s, op); err != nil {
			return err
		}
	}
	if known && c.meta.Widened && op.Call < s.called {
		return fmt.Errorf("%s calls at %d, before the call of its operation in line %d: a client's widened times "+
			"have to keep its order of calls",
			c.nameClient(op.Client), op.Call, s.line)
	}
	if known && !c.meta.Widened && op.Call < s.returned {
		return fmt.Errorf("%s calls at %d, before its operation in line %d returned: a client does one operation at "+
			"a time",
			c.nameClient(op.Client), op.Call, s.line)
	}
	if err := c.checkOwner(s, op); err != nil {
		return err
	}
	s.client, s.line, s.called, s.returned, s.info = op.Client, line, op.Call, op.Return, op.Outcome == harness.Info
	s.noteGrant(op, c.meta.Drift)
	if s.info && c.meta.Workers == 0 && op.Client != harness.HarnessClient {
		c.retire(s, op)
	}
	return nil
}

// retire handles a client whose operation op has just ended in info. It records the locks that this client may still
// hold. It also records op, which the server may still execute.
func (c *clients) retire(s *workerState, op harness.Op) {
	if t := (lockToken{op.Key, op.Arg}); onLock(op) {
		if _, earlier := c.unanswered[t]; !earlier {
			c.unanswered[t] = unansweredOp{op.Client, op.Return}
		}
	}
	if c.abandonedCount > 2*c.sweptCount+sweepAt {
		c.abandonedCount = 0
		for key, all := range c.abandoned {
			all = slices.DeleteFunc(all, func(l heldLock) bool { return l.last < s.returned })
			if c.abandoned[key] = all; len(all) == 0 {
				delete(c.abandoned, key)
			}
			c.abandonedCount += len(all)
		}
		c.sweptCount = c.abandonedCount
	}
	for t, last := range s.held {
		c.abandoned[t.key] = append(c.abandoned[t.key], heldLock{t.token, s.client, s.returned, last})
		c.abandonedCount++
	}
	s.held = nil
}

// nameClient names a client in an error. If the client is a worker under a new id, it names the worker, too.
func (c *clients) nameClient(client int) string {
	if w := c.meta.Worker(client); w != client {
		return fmt.Sprintf("client %d, which is worker %d of %d,", client, w, c.meta.Workers)
	}
	return fmt.Sprintf("client %d", client)
}

// checkReturning returns an error unless the worker with the state s may use the client id of op. A worker keeps its id
// until an operation ends in info. After that it takes a new id and never uses the old one again.
func (c *clients) checkReturning(s *workerState, op harness.Op) error {
	switch {
	case s.info && op.Client <= s.client && c.meta.Workers > 0:
		return fmt.Errorf("client %d acts again after line %d, whose outcome is info and which may still take "+
			"effect: let its worker continue as client %d", op.Client, s.line, s.client+c.meta.Workers)
	case s.info && op.Client == s.client:
		return fmt.Errorf("client %d acts again after line %d, whose outcome is info and which may still take "+
			"effect: give the client a new id from there on", op.Client, s.line)
	case !s.info && op.Client != s.client:
		return fmt.Errorf("%s is the same worker as client %d of line %d: a worker changes its id only after the "+
			"outcome info", c.nameClient(op.Client), s.client, s.line)
	}
	return nil
}

func onLock(op harness.Op) bool {
	return op.Kind == harness.Acquire || op.Kind == harness.Extend || op.Kind == harness.Release
}

// grantsLock reports whether op gave its owner a lock, or a longer lease of it.
func grantsLock(op harness.Op) bool {
	return (op.Kind == harness.Acquire || op.Kind == harness.Extend) && op.Outcome == harness.OK
}

// checkOwner returns an error if op may act on a lock that another client holds, and the two clients may be one: after
// an info a client continues under a new id.
//
// checkOwner accepts op if its client holds the lock under op's token. Otherwise it refuses op while an earlier client,
// whose last operation ended in info, may still have the lock under that token. If op is a grant, and that last
// operation asked for the same lock and token, checkOwner refuses op even later: the server may still execute that last
// operation, which would change what op was granted. An extend or release without a token is an error if its client
// holds the lock under a token.
func (c *clients) checkOwner(s *workerState, op harness.Op) error {
	switch {
	case !onLock(op):
		return nil
	case op.Kind == harness.Acquire && op.Outcome != harness.OK:
		return nil
	}
	if _, holds := s.held[lockToken{op.Key, op.Arg}]; holds {
		return nil
	}
	unnamed := op.Kind != harness.Acquire && op.Arg == ""
	if token, other := s.firstToken(op.Key); unnamed && other {
		return fmt.Errorf("the %s has no arg, and client %d acquired %q with %q: give that token", op.Kind,
			op.Client, op.Key, token)
	}
	at := op.Return
	if op.Kind == harness.Release {
		at = op.Call
	}
	for _, l := range c.abandoned[op.Key] {
		if (unnamed || l.token == op.Arg) && s.began >= l.since && at <= l.last {
			return fmt.Errorf("client %d did not acquire %q with the token %q, but client %d did, whose last "+
				"outcome was info: %s",
				op.Client, op.Key, l.token, l.client, whoHint)
		}
	}
	if a, open := c.unanswered[lockToken{op.Key, op.Arg}]; open && grantsLock(op) && s.began >= a.returned {
		return fmt.Errorf("client %d did not acquire %q with the token %q, and client %d's request with it, whose "+
			"outcome is info, may still be executed: %s", op.Client, op.Key, op.Arg, a.client, whoHint)
	}
	return nil
}

// whoHint tells the user what to do about two clients that may be one.
const whoHint = "if they are one worker, give the number of workers in meta, and let each continue as its id plus " +
	"that number; if they are different ones, give a number of workers above all ids"

// firstToken returns the first token, in alphabetical order, under which the worker with the state s holds the lock
// with the given key. If there is none, its second result is false.
func (s *workerState) firstToken(key string) (token string, held bool) {
	for t := range s.held {
		if t.key == key && (!held || t.token < token) {
			token, held = t.token, true
		}
	}
	return token, held
}

// noteGrant updates the locks that the worker of op may hold. A worker that calls a release gives up the lock, even if
// the server executes the release late. It keeps the lock if the release was refused.
func (s *workerState) noteGrant(op harness.Op, drift float64) {
	t := lockToken{op.Key, op.Arg}
	before, held := s.held[t]
	switch {
	case op.Kind == harness.Release && op.Outcome != harness.Fail:
		delete(s.held, t)
	case held && op.Kind != harness.Release && onLock(op) && op.Outcome == harness.Info:
		s.held[t] = max(before, lastInstant(op, drift))
	case grantsLock(op):
		if s.held == nil {
			s.held = map[lockToken]time.Duration{}
		}
		s.held[t] = lastInstant(op, drift)
		if len(s.held) > 2*s.sweptCount+sweepAt {
			maps.DeleteFunc(s.held, func(_ lockToken, last time.Duration) bool { return last < op.Return })
			s.sweptCount = len(s.held)
		}
	}
}

// lastInstant returns the last instant of the lease that op asked for. It assumes that the server executed op before
// op's Return (soundness rule 1 in checkers/README.md). Redis counts in whole milliseconds, and keeps a key until the
// end of the last one. Redis has no TTL below a millisecond, so nothing is added to such a lease. A lease without a TTL
// never ends: the result is math.MaxInt64.
func lastInstant(op harness.Op, drift float64) time.Duration {
	length := float64(op.TTL)
	if op.TTL >= time.Millisecond {
		length += float64(time.Millisecond)
	}
	length = math.Ceil(length * (1 + drift))
	if op.TTL == 0 || length >= float64(math.MaxInt64-op.Return) {
		return math.MaxInt64
	}
	return op.Return + time.Duration(length)
}
