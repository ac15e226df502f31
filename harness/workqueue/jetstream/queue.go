package jetstream

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Format is the version of what a coordination stores. It is raised when older programs cannot read what newer ones
// store.
const Format = 3

// Head describes a coordination. Workers refuse one that they cannot work for.
type Head struct {
	Format  int    `json:"format"`
	ID      string `json:"id"`      // unique, even among coordinations that have the same name
	Kind    string `json:"kind"`    // for example "suite"
	Program string `json:"program"` // version of doublegrant
	Server  string `json:"server"`  // server on which units are done
	// The work, as the coordinator describes it. A coordinator that takes over has to describe the same work.
	Task  json.RawMessage `json:"task"`
	Lease time.Duration   `json:"lease"` // how long a worker may say nothing
	Seed  uint64          `json:"seed,omitempty"`

	StartOver bool `json:"-"` // for Lead: remove what was begun under the name instead of taking it over
}

// Queue is a coordination, as seen by its coordinator or a worker.
type Queue struct {
	access Access
	name   string
	as     string // name of this member
	head   Head

	nc       *nats.Conn
	js       jetstream.JetStream
	keys     jetstream.KeyValue
	objects  jetstream.ObjectStore
	consumer jetstream.Consumer

	mu      sync.Mutex
	changed chan struct{} // closed and replaced when an outcome may have arrived
	seen    watched

	opened bool               // the keys existed once, so if they are missing now, they were removed
	leads  bool               // this process is the coordinator
	over   bool               // this coordinator took over a coordination that had ended
	stop   context.CancelFunc // ends the watch
	watch  sync.WaitGroup

	answers *nats.Subscription // subscription to other members' questions about who has a role
	ending  chan struct{}      // for a worker: gets a value when the coordinator announces the end
}

// Keys of the bucket. A key that ends in a dot is followed by the ID of a unit or the name of a worker.
const (
	keyHead     = "head"
	keyOver     = "over"
	keyResults  = "results" // names the folder of the results
	keyOutcome  = "outcome."
	keyTries    = "tries."
	keyBarred   = "barred."
	keyDisputed = "disputed" // IDs of all disputed units; in one key, so that a reader misses none
)

// nameFormat matches valid names of coordinations. They become part of names in NATS.
var nameFormat = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$`)

// CheckName returns an error that wraps ErrAccess if the name is not valid for a coordination.
func CheckName(name string) error {
	if !nameFormat.MatchString(name) {
		return fmt.Errorf("%w: %q cannot be the name of a coordination: use 1 to 40 letters, digits, - and _",
			ErrAccess, name)
	}
	return nil
}

func (q *Queue) bucket() string  { return "doublegrant-" + q.name }
func (q *Queue) stream() string  { return "DOUBLEGRANT_" + q.name }
func (q *Queue) subject() string { return "doublegrant." + q.name + ".unit." } // followed by the unit's ID

// Names that NATS derives: those of the streams behind a key bucket and an object store, and that of a key's subject.
func (q *Queue) keyStream() string            { return "KV_" + q.bucket() }
func (q *Queue) keySubject(key string) string { return "$KV." + q.bucket() + "." + key }
func (q *Queue) objectStream() string         { return "OBJ_" + q.bucket() }
func (q *Queue) chunkSubject(of string) string {
	return "$O." + q.bucket() + ".C." + of
}

// open connects to NATS.
func open(ctx context.Context, a Access, name, as string) (*Queue, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	q := &Queue{access: a, name: name, as: as, changed: make(chan struct{}), stop: func() {},
		ending: make(chan struct{}, 1)}
	var err error
	if q.nc, err = a.connect(ctx, "doublegrant "+as); err != nil {
		return nil, err
	}
	if q.js, err = jetstream.New(q.nc, jetstream.WithDefaultTimeout(attemptTime)); err != nil {
		q.nc.Close()
		return nil, fmt.Errorf("jetstream: %w", a.redacted(err))
	}
	return q, nil
}

// Join joins a coordination as a worker. Each worker needs its own name. Join waits for the coordination to begin,
// until the patience is over.
func Join(ctx context.Context, a Access, name, worker string) (*Queue, Head, error) {
	q, err := open(ctx, a, name, worker)
	if err != nil {
		return nil, Head{}, err
	}
	if err = q.join(ctx); err != nil {
		q.nc.Close()
		return nil, Head{}, err
	}
	q.opened = true
	return q, q.head, nil
}

func (q *Queue) join(ctx context.Context) error {
	err := q.try(ctx, "join "+q.name, attemptTime, func(ctx context.Context) (err error) {
		if q.keys, err = q.js.KeyValue(ctx, q.bucket()); err != nil {
			return retryIfGone(err, "no coordination called "+q.name+" exists there")
		}
		e, err := q.keys.Get(ctx, keyHead)
		if err != nil {
			return retryIfGone(err, "no coordination called "+q.name+" exists there")
		}
		if err := json.Unmarshal(e.Value(), &q.head); err != nil || q.head.Format != Format {
			return fmt.Errorf("%w: %s has format %d, and this program reads %d: use the coordinator's version of "+
				"doublegrant", ErrOther, q.name, q.head.Format, Format)
		}
		if q.objects, err = q.js.ObjectStore(ctx, q.bucket()); err != nil {
			return retryIfGone(err, "its object store is missing")
		}
		if q.consumer, err = q.js.Consumer(ctx, q.stream(), "workers"); err != nil {
			return retryIfGone(err, "its stream is missing")
		}
		return nil
	})
	if err != nil {
		return err
	}
	return q.answerAs(worker)
}

// notYet is the error for something that is missing now and may come later, for example because a replica lags.
type notYet struct{ why string }

func (e notYet) Error() string { return e.why }

// retryIfGone returns notYet in place of an error that says that something is missing, so that the method try repeats
// its attempt.
func retryIfGone(err error, why string) error {
	if isGone(err) {
		return notYet{why}
	}
	return err
}

// token puts an underscore in place of each character that NATS does not allow in a key.
func token(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, name)
}

// isGone reports whether an error says that something is missing.
func isGone(err error) bool {
	return isAny(err, jetstream.ErrBucketNotFound, jetstream.ErrKeyNotFound, jetstream.ErrKeyDeleted,
		jetstream.ErrStreamNotFound, jetstream.ErrConsumerNotFound, jetstream.ErrConsumerDeleted,
		jetstream.ErrObjectNotFound, jetstream.ErrNoStreamResponse)
}

// wakeLocked wakes callers that wait for an outcome. The caller holds q.mu.
func (q *Queue) wakeLocked() {
	close(q.changed)
	q.changed = make(chan struct{})
}

func (q *Queue) change() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.changed
}

// Close leaves the coordination. Its remaining work stays in NATS.
func (q *Queue) Close() {
	q.stop()
	q.watch.Wait()
	q.nc.Close()
}
