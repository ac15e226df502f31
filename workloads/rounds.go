package workloads

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
)

// RoundsOptions shape the workload of a published experiment. Zero values mean the defaults, which are those of
// Jepsen's Redis of 2013.
type RoundsOptions struct {
	// Clients is the n in the description of Rounds. It must equal the number of clients of the run, Spec.Clients or
	// Rider.Clients; default 5.
	Clients int
	Rounds  int           // number of rounds of each client; default 400
	Every   time.Duration // time from one round of a client to its next; default 100ms
	Within  time.Duration // timeout of the WAIT, in whole milliseconds, below the clients' OpTimeout; default 20ms
	Lock    bool          // in each round a client also tries the lock of that round
}

// roundsLease is the lease of the rounds' locks, longer than the experiment.
const roundsLease = time.Minute

// Rounds repeats the workload of published experiments. In these it is known who wrote what when, and everybody wants
// the same thing at the same time. In round i, client w of n adds the unique integer w + i*n to a set. With Lock it
// then tries once to take the lock "round-i", in its own name (SET NX PX), and never releases it. Exactly one client
// should get it.
//
// A client's round i begins Every*i after its first. A client does one thing at a time, so overdue rounds follow at
// once until it has caught up. After its last round it idles until the load ends: make Spec.Duration some seconds
// longer than Rounds*Every, and end faults before that.
//
// With Acks each write is followed by WAIT on the same connection. If too few replicas have an integer, its write ends
// in info. If too few have a lock, the lock is released again, unless its value is no longer the client's name. The
// acquire ends in fail if that release found the lock, and in info otherwise.
//
// At the end the harness reads the set, as writes/sadd does. Checkers: Writes, and Mutex with Lock.
//
// Jepsen's clients asked the Sentinel of their own node for the primary before each operation. Here the clients of a
// group share one go-redis failover client, which asks the Sentinels in order, and only for a new connection. It keeps
// a connection until a Sentinel announces a switch. So a group whose Sentinels disagree may stay with its first primary
// for longer. A group that sees a single Sentinel, as each side of a split brain may, follows that one.
func Rounds(c Connector, o Options) harness.Workload {
	r := o.Rounds
	r.Clients = cmp.Or(r.Clients, 5)
	r.Rounds = cmp.Or(r.Rounds, 400)
	r.Every = cmp.Or(r.Every, 100*time.Millisecond)
	wait := waitArguments{o.Acks, cmp.Or(r.Within, waitTimeout)}
	return &rounds{name: cmp.Or(o.Name, "rounds"), prefix: o.Prefix, pool: newPool(c), opts: r, wait: wait,
		participants: map[*harness.Session]*participant{}, taken: map[int]bool{}}
}

const roundsKey = "rounds"

type rounds struct {
	name, prefix string
	pool         *pool
	opts         RoundsOptions
	wait         waitArguments

	mu           sync.Mutex
	participants map[*harness.Session]*participant
	taken        map[int]bool
	extra        int // number of workers beyond opts.Clients
}

// participant is a worker's place in the experiment. A worker keeps its place when its client crashes and its next
// client has another id.
type participant struct {
	number  int // the w of Rounds; if it is opts.Clients, all places were taken and this worker does nothing
	round   int // number of the next round
	firstAt time.Duration
}

func (w *rounds) Name() string { return w.name }

func (w *rounds) Kinds() []harness.Kind {
	kinds := []harness.Kind{harness.Add, harness.Read}
	if w.opts.Lock {
		kinds = append(kinds, harness.Acquire)
	}
	return kinds
}

func (w *rounds) Open(_ context.Context, group int) (harness.Client, error) {
	r, err := w.pool.client(group)
	if err != nil {
		return nil, err
	}
	newLocker := newSetNXPX
	if w.wait.acks > 0 {
		newLocker = newSetNXPXWait(w.wait)
	}
	return &roundsClient{rounds: w, redis: r,
		lock: &lockClient{lock: newLocker(r), opts: Options{TTL: roundsLease}}}, nil
}

// participantOf returns a worker's place. It chooses w by the worker's number, so that the first integers come from the
// first client group.
func (w *rounds) participantOf(s *harness.Session) *participant {
	w.mu.Lock()
	defer w.mu.Unlock()
	if existing := w.participants[s]; existing != nil {
		return existing
	}
	n := w.opts.Clients
	p := &participant{number: n, firstAt: s.Now()}
	w.participants[s] = p
	for i := range n {
		if want := (s.Client() + i) % n; !w.taken[want] {
			p.number, w.taken[want] = want, true
			return p
		}
	}
	w.extra++
	return p
}

type roundsClient struct {
	*rounds
	redis redis.UniversalClient
	lock  *lockClient
	place *participant
}

// Step does one round, when the round is due. After the last round it idles until the load ends.
func (c *roundsClient) Step(ctx context.Context, s *harness.Session) {
	if c.place == nil {
		c.place = c.participantOf(s)
	}
	if c.place.number == c.opts.Clients || c.place.round == c.opts.Rounds {
		for s.Sleep(time.Second) {
		}
		return
	}
	if !s.Sleep(c.place.firstAt + time.Duration(c.place.round)*c.opts.Every - s.Now()) {
		return
	}
	i := c.place.round
	c.place.round++ // before anything is sent: after a crash the next client must not write it again
	add(ctx, s, c.redis, c.wait, c.prefix+roundsKey, int64(c.place.number+i*c.opts.Clients))
	if c.opts.Lock {
		c.lock.acquire(ctx, s, fmt.Sprintf("%sround-%d", c.prefix, i), fmt.Sprintf("client-%d", c.place.number))
	}
}

// Finish reads the whole set. It fails if more clients ran than the experiment has, since the others did nothing.
func (w *rounds) Finish(ctx context.Context, s *harness.Session) error {
	w.mu.Lock()
	extra := w.extra
	w.mu.Unlock()
	if extra > 0 {
		return fmt.Errorf("%d clients ran, and RoundsOptions.Clients is %d: let it be the number of clients of the run",
			w.opts.Clients+extra, w.opts.Clients)
	}
	return readFinally(ctx, s, w.pool, w.prefix+roundsKey)
}
