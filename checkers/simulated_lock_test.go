package checkers

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// simLocks are locks with owners' tokens and leases, as scripts on one Redis make them, and the resources that they
// guard.
type simLocks struct {
	*simWorld
	locks     map[string]*simLock
	resources map[string]*simResource
	updates   map[string]simUpdate // adds under way, by Arg
	reenter   bool                 // an owner that has the lock is granted it again
	fenced    bool                 // grants have fencing tokens, which the resources compare
	promises  bool                 // owners promise themselves when their leases end (Until)
}

// simLock is one key. It exists up to the end of its last millisecond.
type simLock struct {
	owner string
	end   int64         // end on the server's clock; 0: no end
	until time.Duration // end on the run's clock, as promised; 0: none
	fence int
	drawn int // fencing tokens drawn
}

// simResource keeps numbers, and the largest fencing token that it has seen.
type simResource struct {
	numbers []int
	seen    int
}

// simUpdate is a value to be written back.
type simUpdate struct {
	admitted bool
	fence    int
	numbers  []int
}

// simHolding is a lock with the token under which it was granted.
type simHolding struct {
	key, token string
	fence      int
}

func newSimLocks(w *simWorld, d dice) service {
	s := &simLocks{simWorld: w, reenter: d.IntN(2) == 0, fenced: d.IntN(3) > 0, promises: d.IntN(4) == 0,
		locks: map[string]*simLock{}, resources: map[string]*simResource{}, updates: map[string]simUpdate{}}
	for i := range w.keys {
		key := "lock-" + strconv.Itoa(i)
		s.locks[key], s.resources[key] = &simLock{}, &simResource{}
	}
	return s
}

func (s *simLocks) lock(key string) *simLock {
	l := s.locks[key]
	if l.owner != "" && (l.end > 0 && s.clock() > l.end || l.until > 0 && s.now >= l.until) {
		l.owner = ""
		if s.flaw == "fence that goes back when the lease ends" {
			l.drawn = 0
		}
	}
	return l
}

// admits compares a fencing token with the largest seen, and keeps it if it is larger.
func (r *simResource) admits(fence int) bool {
	if fence < r.seen {
		return false
	}
	r.seen = fence
	return true
}

func (s *simLocks) ask(c *simClient) harness.Op {
	if len(c.held) == 0 && len(c.lost) > 0 && s.percent(15) { // late
		x := c.lost[s.IntN(len(c.lost))]
		return s.request([]harness.Kind{harness.Release, harness.Extend, harness.Acquire}[s.IntN(3)], x.key, x.token, c)
	}
	if len(c.held) == 0 {
		return s.request(harness.Acquire, "lock-"+strconv.Itoa(s.IntN(s.keys)), s.token(c), c)
	}
	i := s.IntN(len(c.held))
	x := c.held[i]
	switch n := s.IntN(10); {
	case n < 3:
		c.lost = append(c.lost, x)
		c.held = slices.Delete(c.held, i, i+1)
		return s.request(harness.Release, x.key, x.token, c)
	case n < 5:
		return s.request(harness.Extend, x.key, x.token, c)
	case n < 6:
		return s.request(harness.Acquire, x.key, x.token, c) // re-entry
	case n < 8 && s.fenced:
		return s.update(x)
	}
	return s.request(harness.Acquire, "lock-"+strconv.Itoa(s.IntN(s.keys)), s.token(c), c)
}

// token returns the token that the worker always uses, or a new one. A worker's token may be a prefix of another's.
func (s *simLocks) token(c *simClient) string {
	if s.percent(60) {
		c.tokens++
	}
	return "w" + strconv.Itoa(c.worker+1) + "-" + strconv.Itoa(c.tokens)
}

func (s *simLocks) request(kind harness.Kind, key, token string, c *simClient) harness.Op {
	op := harness.Op{Kind: kind, Key: key, Arg: token}
	if kind == harness.Release {
		return op
	}
	if op.TTL = s.ttl(); s.percent(1) {
		op.TTL = 0
	}
	if s.promises && op.TTL > 0 {
		op.Until = s.now +
			time.Duration(float64(op.TTL)*(1-s.drift+s.drift*c.clock/2)) - time.Duration(s.IntN(3))*s.grid
		op.Until = max(1, op.Until)
	}
	return op
}

// update reads the numbers that the lock x guards, and returns the add that writes them back with one more number.
func (s *simLocks) update(x simHolding) harness.Op {
	number := len(s.updates)
	r := s.resources[x.key]
	admitted := r.admits(x.fence)
	arg := strconv.Itoa(number)
	s.updates[arg] = simUpdate{admitted, x.fence, append(slices.Clone(r.numbers), number)}
	return harness.Op{Kind: harness.Add, Key: harness.Guarded(x.key), Arg: arg, Result: x.token}
}

func (s *simLocks) again(op harness.Op) bool { return s.reenter || op.Kind != harness.Acquire }

func (s *simLocks) do(op harness.Op, _ int) harness.Op {
	op.Outcome, op.Err = harness.Fail, ""
	if lock, ok := harness.GuardedBy(op.Key); ok {
		return s.access(lock, op)
	}
	l := s.lock(op.Key)
	mine := l.owner == op.Arg
	switch op.Kind {
	case harness.Acquire:
		return s.acquire(l, op)
	case harness.Release:
		if mine && s.flaw == "release that is refused now and then" && s.percent(30) {
			return op
		}
		if mine || s.flaw == "release that ignores the token" {
			l.owner, op.Outcome = "", harness.OK
		}
	case harness.Extend:
		if mine && s.flaw == "extend that is refused now and then" && s.percent(30) {
			return op
		}
		takes := l.owner == "" && s.flaw == "extend that takes a free lock"
		if takes {
			l.owner = op.Arg
		}
		if mine || takes || l.owner != "" && s.flaw == "extend without a check of the owner" {
			op.Outcome = harness.OK
			if s.flaw != "extend that does not renew" {
				s.renew(l, op)
			}
		}
	}
	return op
}

func (s *simLocks) acquire(l *simLock, op harness.Op) harness.Op {
	again := l.owner == op.Arg && s.reenter
	steals := s.flaw == "acquire that takes the last two milliseconds of a lease" && l.end > 0 && s.clock() > l.end-2
	if l.owner != "" && !again && !steals {
		op.Err = harness.Held
		return op
	}
	if !again {
		l.owner = op.Arg
		if l.drawn == 0 || s.flaw != "fence that is drawn once" {
			l.drawn++
		}
		l.fence = l.drawn
	}
	s.renew(l, op)
	op.Outcome = harness.OK
	if s.fenced {
		op.Result = strconv.Itoa(l.fence)
	}
	return op
}

// renew starts a new lease. If the owner promised an end that is past, the lease ends at once.
func (s *simLocks) renew(l *simLock, op harness.Op) {
	l.end, l.until = 0, op.Until
	switch {
	case op.TTL == 0 || op.Kind == harness.Acquire && s.flaw == "acquire that forgets the lease":
	case s.flaw == "lease a tenth short":
		l.end = s.clock() + int64(float64(op.TTL/time.Millisecond)*0.9)
	default:
		l.end = s.clock() + int64(op.TTL/time.Millisecond)
	}
}

// access writes to a resource, or reads it.
func (s *simLocks) access(lock string, op harness.Op) harness.Op {
	r := s.resources[lock]
	if op.Kind == harness.Read {
		op.Outcome, op.Result = harness.OK, numbersOf(r.numbers)
		return op
	}
	u := s.updates[op.Arg]
	if s.flaw == "resource that ignores tokens" || u.admitted && r.admits(u.fence) {
		r.numbers, op.Outcome = u.numbers, harness.OK
	} else {
		op.Err = "stale token"
	}
	return op
}

// numbersOf formats numbers as the Result of a Read.
func numbersOf(all []int) string {
	var out []string
	for _, n := range slices.Compact(slices.Sorted(slices.Values(all))) {
		out = append(out, strconv.Itoa(n))
	}
	return strings.Join(out, ",")
}

func (s *simLocks) told(c *simClient, op harness.Op) {
	same := func(x simHolding) bool { return x.key == op.Key && x.token == op.Arg }
	switch {
	case op.Kind == harness.Add && op.Outcome == harness.Info:
		// An owner that does not know what it wrote does not write under that token again.
		c.held = slices.DeleteFunc(c.held, func(x simHolding) bool { return x.token == op.Result })
		c.lost = slices.DeleteFunc(c.lost, func(x simHolding) bool { return x.token == op.Result })
		c.tokens++
	case op.Err == "crashed":
		c.lost = append(c.lost, c.held...)
		c.held = nil
	case op.Kind == harness.Acquire && op.Outcome == harness.OK:
		fence, _ := strconv.Atoi(op.Result)
		c.held = append(slices.DeleteFunc(c.held, same), simHolding{op.Key, op.Arg, fence})
	case op.Kind == harness.Acquire && op.Outcome == harness.Info:
		c.lost = append(c.lost, simHolding{key: op.Key, token: op.Arg})
	case op.Kind == harness.Extend && op.Outcome == harness.Fail && op.Err == "" && s.percent(50):
		c.held = slices.DeleteFunc(c.held, same)
	}
}

func (s *simLocks) ended() time.Duration {
	end := s.now
	for _, l := range s.locks {
		if l.owner != "" && l.end > 0 {
			end = max(end, s.after(l.end))
		}
	}
	return end
}

// probe reads each resource and tries each lock, at times around the end of its lease.
func (s *simLocks) probe() {
	for i := range s.keys {
		key := "lock-" + strconv.Itoa(i)
		if s.fenced {
			s.ours(s.delay(), harness.Op{Kind: harness.Read, Key: harness.Guarded(key)})
		}
		for try := range 4 {
			d := s.delay()
			if l := s.lock(key); l.owner != "" && l.end > 0 && try > 0 {
				d = max(0, s.after(l.end)-s.now+time.Duration(s.IntN(5)-3)*s.grid)
			}
			op := harness.Op{Kind: harness.Acquire, Key: key, Arg: "probe-" + strconv.Itoa(try), TTL: s.ttl()}
			if got := s.ours(d, op); got.Outcome == harness.OK && s.percent(50) {
				s.ours(0, harness.Op{Kind: harness.Release, Key: key, Arg: op.Arg})
			}
		}
	}
}
