package checkers

import (
	"strconv"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// simFilter is a filter that marks messages for a window, at the claim or at the confirm.
type simFilter struct {
	*simWorld
	marks      map[string]simMark
	confirming bool // claims are leases, and confirms mark
	owned      bool // confirms are refused if their claim has ended or is another's
	newest     int  // newest message
}

// simMark is a mark, which exists up to the end of its last millisecond. The zero value stands for no mark.
type simMark struct {
	end  int64  // end on the server's clock; 0: no end
	by   string // its owner; "": there is no mark
	made time.Duration
}

func newSimFilter(w *simWorld, d dice) service {
	f := &simFilter{simWorld: w, marks: map[string]simMark{}, confirming: d.IntN(2) == 0, owned: d.IntN(2) == 0}
	if !f.confirming && w.flaw != "filter that marks for clients that crash" {
		w.crashes = 0 // such a filter loses the messages that they have claimed
	}
	return f
}

func (s *simFilter) mark(key string) simMark {
	m := s.marks[key]
	if m.end > 0 && s.clock() > m.end {
		delete(s.marks, key)
		return simMark{}
	}
	return m
}

func (s *simFilter) set(key, by string, ttl time.Duration) {
	m := simMark{by: by, made: s.now}
	if ttl > 0 {
		m.end = s.clock() + int64(ttl/time.Millisecond)
	}
	s.marks[key] = m
}

func (s *simFilter) ask(c *simClient) harness.Op {
	switch {
	case c.message == "":
		if s.percent(20) {
			s.newest++
		}
		c.claimed = strconv.Itoa(s.asked)
		op := harness.Op{Kind: harness.Claim, Key: "m-" + strconv.Itoa(s.newest+s.IntN(s.keys)), Arg: c.claimed,
			TTL: s.ttl()}
		if s.percent(2) && !s.confirming {
			op.TTL = 0
		}
		return op
	case !c.delivered:
		return harness.Op{Kind: harness.Deliver, Key: c.message}
	}
	return harness.Op{Kind: harness.Confirm, Key: c.message, Arg: c.claimed, TTL: s.ttl() * time.Duration(1+s.IntN(3))}
}

func (s *simFilter) local(op harness.Op) bool { return op.Kind == harness.Deliver }
func (s *simFilter) owes(c *simClient) bool {
	return c.message != "" && !s.confirming && s.flaw != "filter that marks for clients that crash"
}

func (s *simFilter) do(op harness.Op, _ int) harness.Op {
	op.Outcome = harness.OK
	m := s.mark(op.Key)
	switch op.Kind {
	case harness.Claim:
		return s.claim(m, op)
	case harness.Confirm:
		switch {
		case s.owned && m.by != op.Arg:
			op.Outcome, op.Err = harness.Fail, "not mine"
		case s.flaw != "confirm that does not mark":
			s.set(op.Key, "done", op.TTL)
		}
	case harness.Inspect:
		op.Result, op.TTL = "", 0
		if m.by != "" {
			op.Result, op.TTL = "marked", s.left(m.end)
		}
	}
	return op
}

// left returns the reply of PTTL, at least a millisecond; 0 if there is no end.
func (w *simWorld) left(end int64) time.Duration {
	if end == 0 {
		return 0
	}
	return max(time.Millisecond, time.Duration(end-w.clock())*time.Millisecond)
}

func (s *simFilter) claim(m simMark, op harness.Op) harness.Op {
	op.Result = harness.ResultSeen
	ttl := op.TTL
	race := s.flaw == "claim that looks before it marks" && s.now-m.made < 2*time.Millisecond
	if m.by != "" && !race {
		return op
	}
	switch s.flaw {
	case "window forgotten after half of it":
		ttl = max(time.Millisecond, ttl/2)
	case "mark without an end":
		ttl = 0
	}
	s.set(op.Key, op.Arg, ttl)
	op.Result = harness.ResultFirst
	return op
}

func (s *simFilter) told(c *simClient, op harness.Op) {
	switch {
	case op.Err == "crashed":
		c.message, c.delivered = "", false
	case op.Kind == harness.Claim && op.Outcome == harness.OK && op.Result == harness.ResultFirst:
		c.message, c.delivered = op.Key, false
	case op.Kind == harness.Deliver && op.Outcome == harness.OK:
		c.delivered = true
		if !s.confirming {
			c.message = ""
		}
	case op.Kind == harness.Confirm && (op.Outcome != harness.Info || s.percent(50)):
		c.message = ""
	}
}

func (s *simFilter) ended() time.Duration {
	end := s.now
	for _, m := range s.marks {
		if m.end > 0 {
			end = max(end, s.after(m.end))
		}
	}
	return end
}

// probe inspects the marks and claims their messages, at times around their ends.
func (s *simFilter) probe() {
	for i := range s.newest + s.keys {
		key := "m-" + strconv.Itoa(i)
		for try := range 3 {
			d := time.Duration(s.IntN(2)) * s.grid
			if m := s.mark(key); m.end > 0 && try > 0 {
				d = max(0, s.after(m.end)-s.now+time.Duration(s.IntN(5)-3)*s.grid)
			}
			if s.percent(30) {
				s.ours(0, harness.Op{Kind: harness.Inspect, Key: key})
			}
			s.ours(d, harness.Op{Kind: harness.Claim, Key: key, Arg: "probe", TTL: s.ttl()})
		}
	}
}
