package history

import (
	"fmt"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// clients is who spoke in a history, and asks of each operation whether it can be theirs. Checkers rest on it: whoever does
// one thing after the other is one owner, and who that is decides what is a second one.
type clients struct {
	workers int // of the run; 0: every client is a worker of its own
	meta    harness.Meta
	said    map[int]*spoken // by worker
	left    map[tenure]int  // locks that clients held when they ended in info, with the client
}

// spoken is what a worker said last.
type spoken struct {
	client   int
	line     int
	returned time.Duration
	info     bool
	held     []tenure // locks it was granted and did not release, the latest last
}

// tenure is a lock with the token of its owner.
type tenure struct{ key, token string }

// maxHeld is how many locks of one worker are kept: those it acquired last and did not release.
const maxHeld = 8

func newClients(m harness.Meta) *clients {
	return &clients{workers: m.Workers, meta: m, said: map[int]*spoken{}, left: map[tenure]int{}}
}

// hear asks whether op, of that line, can come after the operations before it, which are in order of Return.
func (c *clients) hear(op harness.Op, line int) error {
	worker := c.meta.Worker(op.Client)
	s, known := c.said[worker]
	if !known {
		s = &spoken{}
		c.said[worker] = s
	}
	if known && worker != harness.HarnessClient {
		if err := c.again(s, op); err != nil {
			return err
		}
	}
	if known && op.Call < s.returned {
		return fmt.Errorf("%s calls at %d, before its operation of line %d returned: a client does one thing at a time",
			c.who(op.Client), op.Call, s.line)
	}
	if err := c.owns(s, op); err != nil {
		return err
	}
	s.client, s.line, s.returned, s.info = op.Client, line, op.Return, op.Outcome == harness.Info
	s.hold(op)
	if s.info && c.workers == 0 && op.Client != harness.HarnessClient {
		for _, t := range s.held {
			c.left[t] = op.Client
		}
		s.held = nil
	}
	return nil
}

// who names a client, and its worker if that is not the same.
func (c *clients) who(client int) string {
	if w := c.meta.Worker(client); w != client {
		return fmt.Sprintf("client %d, which is worker %d of %d,", client, w, c.workers)
	}
	return fmt.Sprintf("client %d", client)
}

// again asks whether the worker that said s may go on under the id of op: under the same one, until it ends in info, and
// then never again under that.
func (c *clients) again(s *spoken, op harness.Op) error {
	switch {
	case s.info && op.Client <= s.client && c.workers > 0:
		return fmt.Errorf("client %d speaks again after line %d, whose outcome is info: nobody knows whether that still takes effect; "+
			"its worker goes on as client %d", op.Client, s.line, s.client+c.workers)
	case s.info && op.Client == s.client:
		return fmt.Errorf("client %d speaks again after line %d, whose outcome is info: nobody knows whether that still takes effect; "+
			"give the client a new id from there on", op.Client, s.line)
	case !s.info && op.Client != s.client:
		return fmt.Errorf("%s speaks, and client %d of line %d is the same worker: "+
			"a worker changes its id only after an info", c.who(op.Client), s.client, s.line)
	}
	return nil
}

// owns asks whether it is plain which lock op extends or releases.
func (c *clients) owns(s *spoken, op harness.Op) error {
	if op.Kind != harness.Extend && op.Kind != harness.Release {
		return nil
	}
	this, other := tenure{op.Key, op.Arg}, ""
	for _, t := range s.held {
		switch {
		case t == this:
			return nil
		case t.key == op.Key:
			other = t.token
		}
	}
	if op.Arg == "" && other != "" {
		return fmt.Errorf("the %s has no arg, and client %d acquired %q with %q: give the same token", op.Kind, op.Client, op.Key, other)
	}
	if client, is := c.left[this]; is {
		return fmt.Errorf("client %d did not acquire %q with the token %q, and client %d did, which ended in info: if they are one, "+
			"give the number of clients as workers in meta, and let each go on as its id plus that number", op.Client, op.Key, op.Arg, client)
	}
	return nil
}

// hold notes what op says about the locks that its worker may hold.
func (s *spoken) hold(op harness.Op) {
	takes := (op.Kind == harness.Acquire || op.Kind == harness.Extend) && op.Outcome == harness.OK
	if !takes && op.Kind != harness.Release {
		return
	}
	this := tenure{op.Key, op.Arg}
	kept := s.held[:0]
	for _, t := range s.held {
		if t != this {
			kept = append(kept, t)
		}
	}
	if takes {
		kept = append(kept, this)
	}
	s.held = kept[max(0, len(kept)-maxHeld):]
}
