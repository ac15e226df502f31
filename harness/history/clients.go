package history

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// clients keeps who spoke in a history, and checks that each operation can be its client's. Checkers rest on that: a client
// that does one thing after the other is one owner, and any other client is a second one.
type clients struct {
	workers int // of the run; 0: every client is a worker of its own
	meta    harness.Meta
	said    map[int]*lastSaid          // by worker
	left    map[string][]heldLock      // by lock: what clients held when they ended in info
	waiting int                        // number of entries in left
	kept    int                        // number of entries in left after the last sweep
	late    map[lockToken]unansweredOp // by lock and token: the first operation that ended in info, which may still be executed
}

// unansweredOp is an operation that ended in info: its client, and its Return.
type unansweredOp struct {
	client   int
	returned time.Duration
}

// lastSaid holds what a worker said last.
type lastSaid struct {
	client   int
	line     int
	called   time.Duration
	returned time.Duration
	info     bool
	began    time.Duration               // its first call
	held     map[lockToken]time.Duration // what it was granted and did not ask to be released, with the last instant of the lease
	kept     int                         // number of entries in held after the last sweep
}

// lockToken is a lock with the token of its owner.
type lockToken struct{ key, token string }

// heldLock is a lock that a client held when it ended in info.
type heldLock struct {
	token       string
	client      int
	since, last time.Duration // its last Return, and the last instant of its lease
}

// sweepAt is the number of locks that are kept before the first sweep, which drops those whose lease is over.
const sweepAt = 64

func newClients(m harness.Meta) *clients {
	return &clients{workers: m.Workers, meta: m, said: map[int]*lastSaid{}, left: map[string][]heldLock{}, late: map[lockToken]unansweredOp{}}
}

// checkNext returns an error if op, of that line, cannot come after the operations before it, which are in order of Return.
func (c *clients) checkNext(op harness.Op, line int) error {
	worker := c.meta.Worker(op.Client)
	s, known := c.said[worker]
	if !known {
		s = &lastSaid{began: op.Call}
		c.said[worker] = s
	}
	if known && worker != harness.HarnessClient {
		if err := c.checkReturning(s, op); err != nil {
			return err
		}
	}
	if known && c.meta.Widened && op.Call < s.called {
		return fmt.Errorf("%s calls at %d, before its operation of line %d was called: times that were widened keep the order in which it asked",
			c.nameClient(op.Client), op.Call, s.line)
	}
	if known && !c.meta.Widened && op.Call < s.returned {
		return fmt.Errorf("%s calls at %d, before its operation of line %d returned: a client does one thing at a time",
			c.nameClient(op.Client), op.Call, s.line)
	}
	if err := c.checkOwner(s, op); err != nil {
		return err
	}
	s.client, s.line, s.called, s.returned, s.info = op.Client, line, op.Call, op.Return, op.Outcome == harness.Info
	s.noteGrant(op, c.meta.Drift)
	if s.info && c.workers == 0 && op.Client != harness.HarnessClient {
		c.leave(s, op)
	}
	return nil
}

// leave notes what s holds, and that op, in which it ended with info, may still be executed. A client leaves one such
// operation at most, since it goes on under a new id.
func (c *clients) leave(s *lastSaid, op harness.Op) {
	if t := (lockToken{op.Key, op.Arg}); onLock(op) {
		if _, earlier := c.late[t]; !earlier {
			c.late[t] = unansweredOp{op.Client, op.Return}
		}
	}
	if c.waiting > 2*c.kept+sweepAt {
		c.waiting = 0
		for key, all := range c.left {
			all = slices.DeleteFunc(all, func(l heldLock) bool { return l.last < s.returned })
			if c.left[key] = all; len(all) == 0 {
				delete(c.left, key)
			}
			c.waiting += len(all)
		}
		c.kept = c.waiting
	}
	for t, last := range s.held {
		c.left[t.key] = append(c.left[t.key], heldLock{t.token, s.client, s.returned, last})
		c.waiting++
	}
	s.held = nil
}

// nameClient names a client, and its worker if that is not the same.
func (c *clients) nameClient(client int) string {
	if w := c.meta.Worker(client); w != client {
		return fmt.Sprintf("client %d, which is worker %d of %d,", client, w, c.workers)
	}
	return fmt.Sprintf("client %d", client)
}

// checkReturning returns an error unless the worker of s may go on under the id of op. It keeps its id until an operation ends in
// info, and never uses that id again.
func (c *clients) checkReturning(s *lastSaid, op harness.Op) error {
	switch {
	case s.info && op.Client <= s.client && c.workers > 0:
		return fmt.Errorf("client %d speaks again after line %d, whose outcome is info: nobody knows whether that still takes effect; "+
			"its worker goes on as client %d", op.Client, s.line, s.client+c.workers)
	case s.info && op.Client == s.client:
		return fmt.Errorf("client %d speaks again after line %d, whose outcome is info: nobody knows whether that still takes effect; "+
			"give the client a new id from there on", op.Client, s.line)
	case !s.info && op.Client != s.client:
		return fmt.Errorf("%s speaks, and client %d of line %d is the same worker: "+
			"a worker changes its id only after an info", c.nameClient(op.Client), s.client, s.line)
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

// checkOwner returns an error if op uses a lock and nobody can tell who its client is: a new client, or one that ended in info and
// goes on under a new id. The two may be one if op's client was not heard of before that info. It looks at grants, extends and
// releases under a token that op's own client does not hold. It refuses them while the lease of the client that ended may last.
// If the info was about this lock and token, it refuses grants at any later time too, since the operation that ended in info may
// be executed on what op was granted. An extend or release without a token is an error as well if its client holds
// the lock under one.
func (c *clients) checkOwner(s *lastSaid, op harness.Op) error {
	switch {
	case !onLock(op):
		return nil
	case op.Kind == harness.Acquire && op.Outcome != harness.OK:
		return nil
	}
	if _, own := s.held[lockToken{op.Key, op.Arg}]; own {
		return nil
	}
	unnamed := op.Kind != harness.Acquire && op.Arg == ""
	if token, other := s.token(op.Key, unnamed); other {
		return fmt.Errorf("the %s has no arg, and client %d acquired %q with %q: give the same token", op.Kind, op.Client, op.Key, token)
	}
	at := op.Return
	if op.Kind == harness.Release {
		at = op.Call
	}
	for _, l := range c.left[op.Key] {
		if (unnamed || l.token == op.Arg) && s.began >= l.since && at <= l.last {
			return fmt.Errorf("client %d did not acquire %q with the token %q, and client %d did, which ended in info: %s",
				op.Client, op.Key, l.token, l.client, sayWho)
		}
	}
	if a, is := c.late[lockToken{op.Key, op.Arg}]; is && grantsLock(op) && s.began >= a.returned {
		return fmt.Errorf("client %d did not acquire %q with the token %q, and what client %d asked for with it, which ended in info, "+
			"may still be executed: %s", op.Client, op.Key, op.Arg, a.client, sayWho)
	}
	return nil
}

// sayWho says what to do about two clients that may be one.
const sayWho = "if they are one, give the number of clients as workers in meta, and let each go on as its id plus that number; " +
	"if each id is a client of its own, give a number of workers above all ids"

// token returns the first token, in order, under which s holds the lock key. It reports false if there is none, or if asked
// is false.
func (s *lastSaid) token(key string, asked bool) (token string, held bool) {
	if !asked {
		return "", false
	}
	for t := range s.held {
		if t.key == key && (!held || t.token < token) {
			token, held = t.token, true
		}
	}
	return token, held
}

// noteGrant notes what op says about the locks that its worker may hold. A worker that asks for a release has given up the lock,
// unless it was refused. Whether the release is executed later makes no difference to what is held.
func (s *lastSaid) noteGrant(op harness.Op, drift float64) {
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
		if len(s.held) > 2*s.kept+sweepAt {
			maps.DeleteFunc(s.held, func(_ lockToken, last time.Duration) bool { return last < op.Return })
			s.kept = len(s.held)
		}
	}
}

// lastInstant returns the last instant of the lease that op asked for, if it was executed before its Return (soundness rule
// 1 in checkers/README.md). Redis counts in whole milliseconds and keeps a key to the end of its last one. A lease under a
// millisecond is not Redis's and ends without that. A TTL of 0 never ends: then it returns math.MaxInt64.
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
