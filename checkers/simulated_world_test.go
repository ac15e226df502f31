package checkers

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// This file simulates one server and its clients, event by event and on virtual time. Answers come late or get lost,
// commands are executed late or twice, clients are slow, give up, crash and live on under a new id. A service decides
// what the server does: see simulated_lock_test.go and its neighbours.

// service is a simulated server together with the behaviour of its clients.
type service interface {
	// ask returns the next operation of c.
	ask(c *simClient) harness.Op
	// local reports whether c does op itself, without the server.
	local(op harness.Op) bool
	// do executes op now and sets Outcome, Result and Err.
	do(op harness.Op, worker int) harness.Op
	// told is called when op of c has ended.
	told(c *simClient, op harness.Op)
	// owes reports whether c has something to finish after the load. It does not crash before that.
	owes(c *simClient) bool
	// again reports whether a library may resend op if it had no answer in time.
	again(op harness.Op) bool
	// ended returns the time at which everything stored with an end is gone. It is never before now.
	ended() time.Duration
	// probe is called after the load, when nothing is under way any more.
	probe()
}

// Defaults of most services.

func (w *simWorld) local(harness.Op) bool       { return false }
func (w *simWorld) owes(*simClient) bool        { return false }
func (w *simWorld) again(harness.Op) bool       { return true }
func (w *simWorld) told(*simClient, harness.Op) {}
func (w *simWorld) ended() time.Duration        { return w.now }

// simWorld holds the surroundings of a simulated history. Its parameters are drawn first, so that rapid shrinks them
// first.
type simWorld struct {
	dice
	length  int           // number of operations that the clients ask for
	workers int           // number of clients at any time
	keys    int           // number of locks, messages, sequences or sets
	grid    time.Duration // unit of all delays
	drift   float64       // Meta.Drift
	rate    float64       // of the server's clock
	phase   time.Duration // of the server's clock
	slow    int           // percentage of long delays
	lossy   int           // percentage of lost requests and answers
	crashes int           // percentage of operations in which the client crashes
	late    bool          // abandoned requests may be executed later, once or twice
	retries bool          // libraries resend what is not answered in time
	flaw    string        // planted in the server; "": none

	service service
	now     time.Duration
	events  []simEvent // future events, in their order
	asked   int
	ops     []harness.Op // in order of Return
}

// newSimWorld draws the parameters of a world from d. A seed for everything that happens in the world is one of them.
func newSimWorld(d dice, flaw string) *simWorld {
	w := &simWorld{length: 20 + d.IntN(281), workers: 2 + d.IntN(6), keys: 1 + d.IntN(4), flaw: flaw}
	w.grid = []time.Duration{time.Millisecond, time.Millisecond, time.Millisecond / 4, 7 * time.Microsecond}[d.IntN(4)]
	w.drift = []float64{0, 0, 0.01, 0.2}[d.IntN(4)]
	w.rate = 1 / (1 + w.drift*[]float64{0, 1, -1, 0.5, -0.5}[d.IntN(5)])
	w.phase = time.Duration(d.IntN(2)*d.IntN(4)) * time.Millisecond / 4
	w.slow = []int{0, 2, 10, 30}[d.IntN(4)]
	w.lossy = []int{0, 3, 15}[d.IntN(3)]
	w.crashes = []int{0, 2, 8}[d.IntN(3)]
	w.late, w.retries = d.IntN(2) == 1, d.IntN(2) == 1
	w.dice = rand.New(rand.NewPCG(uint64(d.IntN(1<<40)), 0))
	return w
}

// percent returns true with a chance of n in 100.
func (w *simWorld) percent(n int) bool { return w.IntN(100) < n }

// clock returns the server's time of day, in whole milliseconds as Redis counts.
func (w *simWorld) clock() int64 {
	return int64(math.Floor((float64(w.now)*w.rate + float64(w.phase)) / float64(time.Millisecond)))
}

// after returns a time at which the server's clock has passed end: the first, or a little later.
func (w *simWorld) after(end int64) time.Duration {
	return time.Duration(math.Ceil((float64(end+1)*float64(time.Millisecond) - float64(w.phase)) / w.rate))
}

// ttl draws a lease or window of whole milliseconds.
func (w *simWorld) ttl() time.Duration { return time.Duration(1+w.IntN(25)) * time.Millisecond }

// delay draws how long a message or a client takes: mostly nothing or a few milliseconds, now and then longer than
// leases.
func (w *simWorld) delay() time.Duration {
	most := 4 * time.Millisecond
	if w.percent(w.slow) {
		most = 60 * time.Millisecond
	}
	if w.percent(30) {
		return 0
	}
	return time.Duration(w.IntN(int(most/w.grid))) * w.grid
}

// simEvent is something that happens at a time. Events of one instant happen in random order.
type simEvent struct {
	at  time.Duration
	tie int
	do  func()
}

// in schedules do after d.
func (w *simWorld) in(d time.Duration, do func()) {
	this := simEvent{w.now + d, w.IntN(4), do}
	i, _ := slices.BinarySearchFunc(w.events, this, func(e, this simEvent) int {
		// what was planned earlier comes first
		return cmp.Or(cmp.Compare(e.at, this.at), cmp.Compare(e.tie, this.tie), -1)
	})
	w.events = slices.Insert(w.events, i, this)
}

// run simulates until nothing is under way any more.
func (w *simWorld) run() {
	for len(w.events) > 0 {
		e := w.events[0]
		w.events = w.events[1:]
		w.now = e.at
		e.do()
	}
}

// simClient is a worker under its current id.
type simClient struct {
	worker, id int
	tokens     int          // tokens drawn so far
	held       []simHolding // locks that it believes to hold
	lost       []simHolding // tokens of locks that it no longer believes to hold
	message    string       // message that it has to deliver or confirm
	claimed    string       // token of its claim
	delivered  bool
	clock      float64 // error of its clock, as a part of the drift
}

// simulate lets all clients work, and the harness probe afterwards.
func (w *simWorld) simulate() harness.History {
	for i := range w.workers {
		c := &simClient{worker: i, id: i, clock: float64(w.IntN(3)-1) / 2}
		w.in(w.delay(), func() { w.step(c) })
	}
	w.run()
	if w.late {
		w.now = max(w.now, w.service.ended())
	}
	w.service.probe()
	h := of(w.ops...)
	h.Meta.Workers, h.Meta.Clients, h.Meta.Drift = w.workers, w.workers, w.drift
	h.End.At = w.now + 1
	return h
}

func (w *simWorld) step(c *simClient) {
	owes := w.service.owes(c)
	if w.asked >= w.length && !owes {
		return
	}
	w.asked++
	op := w.service.ask(c)
	op.Client, op.Call = c.id, w.now
	s := &sending{simWorld: w, client: c, op: op}
	s.begin(!owes && w.percent(w.crashes))
}

// sending is one operation under way.
type sending struct {
	*simWorld
	client     *simClient
	op         harness.Op
	over       bool
	unanswered bool // an attempt that may have been executed got no answer, and the request was sent again
}

// begin sends the request, perhaps repeatedly, and gives up after a while.
func (s *sending) begin(crash bool) {
	patience := 5*time.Millisecond + s.delay()
	if s.percent(20) {
		patience += 80 * time.Millisecond // waits for any answer
	}
	switch {
	case s.service.local(s.op):
		s.in(s.delay(), func() { s.finish(s.answer(harness.OK, "")) })
	case s.percent(2):
		s.in(s.delay(), func() { s.finish(s.answer(harness.Fail, "refused")) })
	default:
		s.attempt()
		if s.retries && s.service.again(s.op) {
			s.in(patience/2, s.retry)
		}
	}
	err := "timeout"
	if crash {
		err, patience = "crashed", s.delay()
	}
	s.in(patience, func() { s.giveUp(err) })
}

func (s *sending) answer(o harness.Outcome, err string) harness.Op {
	op := s.op
	op.Outcome, op.Err = o, err
	return op
}

// retry sends the request again. It is not known what the first attempt did.
func (s *sending) retry() {
	if !s.over {
		s.unanswered = true
		s.attempt()
	}
}

// attempt sends the request once. It may be lost, and so may its answer.
func (s *sending) attempt() {
	if s.percent(s.lossy) {
		return
	}
	s.in(s.delay(), func() {
		if s.over && (!s.late || s.op.Outcome != harness.Info) {
			return // a request that was answered or given up is not executed any more
		}
		got := s.service.do(s.op, s.client.worker)
		if !s.percent(s.lossy) {
			s.in(s.delay(), func() { s.finish(s.certain(got)) })
		}
	})
}

// certain returns the answer. But if an earlier attempt got no answer, a refusal says nothing, since that attempt may
// have succeeded. Then certain returns info.
func (s *sending) certain(got harness.Op) harness.Op {
	no := got.Outcome == harness.Fail || got.Kind == harness.Claim && got.Result == harness.ResultSeen
	if s.unanswered && no {
		return s.answer(harness.Info, "timeout")
	}
	return got
}

// giveUp ends the operation without an answer. Its request may be executed once or twice long after.
func (s *sending) giveUp(err string) {
	if s.over {
		return
	}
	s.finish(s.answer(harness.Info, err))
	if s.late && !s.service.local(s.op) {
		for range s.IntN(3) {
			s.in(s.delay()+time.Duration(s.IntN(30))*time.Millisecond, func() { s.service.do(s.op, s.client.worker) })
		}
	}
}

// finish records the operation and lets its client go on.
func (s *sending) finish(op harness.Op) {
	if s.over {
		return
	}
	s.over = true
	op.Return = s.now
	s.op.Outcome = op.Outcome
	s.ops = append(s.ops, op)
	if op.Outcome == harness.Info {
		s.client.id += s.workers
	}
	s.service.told(s.client, op)
	s.in(s.delay(), func() { s.step(s.client) })
}

// ours performs op for the harness after the time d, and records it. Now and then it gets no answer.
func (w *simWorld) ours(d time.Duration, op harness.Op) harness.Op {
	w.now += d
	op.Client, op.Call = harness.HarnessClient, w.now
	w.now += time.Duration(w.IntN(2)) * w.grid
	got := w.service.do(op, harness.HarnessClient)
	if w.percent(w.lossy) {
		got = op
		got.Outcome, got.Result, got.Err = harness.Info, "", "timeout"
	}
	w.now += time.Duration(w.IntN(2)) * w.grid
	got.Return = w.now
	w.ops = append(w.ops, got)
	return got
}
