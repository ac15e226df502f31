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

// RoundsOptions shape the workload of a published experiment. Zero values mean the defaults, which are those of Jepsen's
// Redis of 2013.
type RoundsOptions struct {
	Name    string        // name of the workload in reports; default "rounds"
	Clients int           // n: must equal the number of clients of the run, Spec.Clients or Rider.Clients; default 5
	Rounds  int           // of each client; default 400
	Every   time.Duration // from one round of a client to its next; default 100ms

	Acks   int           // replicas whose acknowledgement every write waits for; default 0: none, no WAIT is sent
	Within time.Duration // timeout of the WAIT, in whole milliseconds, below the clients' OpTimeout; default 20ms

	Lock bool          // in each round a client also tries the lock of that round
	TTL  time.Duration // lease of those locks; default 60s, longer than the experiment

	Prefix string // with which the names of the set and of the locks begin
}

// Rounds repeats the workload of published experiments, in which it is known who wrote what when, and everybody wants the
// same thing at the same time. Client w of n adds in round i the unique integer w + i*n to a set. With Lock it then tries
// once to take the lock "round-i" of that round, in its own name (SET NX PX), and never gives it up: of all clients one
// should get it.
//
// A client's round i begins Every*i after its first. It does one thing at a time, so rounds that are overdue follow at
// once, until it has caught up. When its rounds are over it idles until the load ends: let Spec.Duration be some seconds
// more than Rounds*Every, and end faults before that.
//
// With Acks each write is followed by WAIT on the same connection. An integer that too few replicas have ends in info. A
// lock that too few replicas have is given back, by its own name. The acquire is a fail if the lock was there to give back,
// else info.
//
// At the end the set is read as [SAdd]'s is. Checkers: Writes, and Mutex with Lock.
//
// Jepsen's clients asked the Sentinel of their own node for the primary before each operation. Here the clients of a group
// share one go-redis failover client. It asks the Sentinels in order for a new connection, follows the announcement of a
// switch by one of them, and keeps its connections until then. So a group whose Sentinels disagree may stay with its first
// primary for longer. A group that sees a single Sentinel, as each side of a split brain may, goes where that one leads.
func Rounds(c Connector, o RoundsOptions) harness.Workload {
	o.Name = cmp.Or(o.Name, "rounds")
	o.Clients = cmp.Or(o.Clients, 5)
	o.Rounds = cmp.Or(o.Rounds, 400)
	o.Every = cmp.Or(o.Every, 100*time.Millisecond)
	o.Within = cmp.Or(o.Within, waitTimeout)
	o.TTL = cmp.Or(o.TTL, time.Minute)
	return &rounds{pool: newPool(c), opts: o, participants: map[*harness.Session]*participant{}, taken: map[int]bool{}}
}

const roundsKey = "rounds"

type rounds struct {
	pool *pool
	opts RoundsOptions

	mu           sync.Mutex
	participants map[*harness.Session]*participant
	taken        map[int]bool
	extra        int // workers beyond opts.Clients
}

// participant is a worker's place in the experiment. Its clients may change, as they crash.
type participant struct {
	number int // w; opts.Clients for one that is too many
	round  int // the next
	first  time.Duration
}

func (w *rounds) Name() string { return w.opts.Name }

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
	if w.opts.Acks > 0 {
		newLocker = newSetNXPXWait(w.wait())
	}
	return &roundsClient{rounds: w, redis: r, lock: &lockClient{lock: newLocker(r), opts: LockOptions{TTL: w.opts.TTL}}}, nil
}

func (w *rounds) wait() waitArguments { return waitArguments{w.opts.Acks, w.opts.Within} }

// participantOf gives a worker its seat: that of its number, so that the first integers are those of the first client group.
func (w *rounds) participantOf(s *harness.Session) *participant {
	w.mu.Lock()
	defer w.mu.Unlock()
	if known := w.participants[s]; known != nil {
		return known
	}
	n := w.opts.Clients
	at := &participant{number: n, first: s.Now()}
	w.participants[s] = at
	for i := range n {
		if want := (s.Client() + i) % n; !w.taken[want] {
			at.number, w.taken[want] = want, true
			return at
		}
	}
	w.extra++
	return at
}

type roundsClient struct {
	*rounds
	redis redis.UniversalClient
	lock  *lockClient
	at    *participant
}

// Step does one round, at its time. After the last round it idles until the load ends.
func (c *roundsClient) Step(ctx context.Context, s *harness.Session) {
	if c.at == nil {
		c.at = c.participantOf(s)
	}
	if c.at.number == c.opts.Clients || c.at.round == c.opts.Rounds {
		for s.Sleep(time.Second) {
		}
		return
	}
	if !s.Sleep(c.at.first + time.Duration(c.at.round)*c.opts.Every - s.Now()) {
		return
	}
	i := c.at.round
	c.at.round++ // before anything is sent: whoever comes after a crash must not write it again
	add(ctx, s, c.redis, c.wait(), c.opts.Prefix+roundsKey, int64(c.at.number+i*c.opts.Clients))
	if c.opts.Lock {
		c.lock.acquire(ctx, s, fmt.Sprintf("%sround-%d", c.opts.Prefix, i), fmt.Sprintf("client-%d", c.at.number))
	}
}

// Finish reads the whole set. It fails if more clients ran than the experiment has, since those beyond did nothing.
func (w *rounds) Finish(ctx context.Context, s *harness.Session) error {
	w.mu.Lock()
	extra := w.extra
	w.mu.Unlock()
	if extra > 0 {
		return fmt.Errorf("%d clients ran, and RoundsOptions.Clients is %d: let it be the number of clients of the run",
			w.opts.Clients+extra, w.opts.Clients)
	}
	return readFinally(ctx, s, w.pool, w.opts.Prefix+roundsKey)
}
