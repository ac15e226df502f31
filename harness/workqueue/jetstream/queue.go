package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
)

// Format of what a coordination keeps: raised when older programs cannot read it any more.
const Format = 3

// Head says what a coordination is of. Workers refuse one that they cannot work for.
type Head struct {
	Format  int    `json:"format"`
	ID      string `json:"id"`      // of this coordination alone: another of its name has another
	Kind    string `json:"kind"`    // such as "suite"
	Program string `json:"program"` // version of doublegrant
	Server  string `json:"server"`  // that units are done on
	// what is to be done, as the coordinator has it: a coordinator that goes on has an equal one
	Task  json.RawMessage `json:"task"`
	Lease time.Duration   `json:"lease"` // how long a worker may say nothing
	Seed  uint64          `json:"seed,omitempty"`

	Anew bool `json:"-"` // of a coordinator: what an earlier one has begun under the name is removed, not gone on with
}

// Queue is a coordination, as its coordinator or one worker has it.
type Queue struct {
	access Access
	name   string
	as     string // who we are
	head   Head

	nc       *nats.Conn
	js       jetstream.JetStream
	keys     jetstream.KeyValue
	objects  jetstream.ObjectStore
	consumer jetstream.Consumer

	mu      sync.Mutex
	changed chan struct{} // closed, and made anew, when an outcome may be there
	seen    watched

	opened bool               // the keys were there: if they are not, they were removed
	leads  bool               // this is the coordinator
	over   bool               // it went on with what had ended
	stop   context.CancelFunc // ends watching
	watch  sync.WaitGroup

	answers *nats.Subscription // to those who ask who is there
	ending  chan struct{}      // of a worker: has one when the coordinator has told of the end
}

// Keys of the bucket. Those of a unit and of a worker end in its name.
const (
	keyHead     = "head"
	keyOver     = "over"
	keyResults  = "results" // where the results are
	keyOutcome  = "outcome."
	keyTries    = "tries."
	keyBarred   = "barred."
	keyDisputed = "disputed" // the IDs of all disputed units, in one key: who reads it misses none
)

// nameFormat is what the name of a coordination has to match: it becomes part of names in NATS.
var nameFormat = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$`)

// CheckName returns an error that wraps ErrAccess if a coordination cannot have the name.
func CheckName(name string) error {
	if !nameFormat.MatchString(name) {
		return fmt.Errorf("%w: %q cannot be the name of a coordination: take 1 to 40 letters, digits, - and _",
			ErrAccess, name)
	}
	return nil
}

func (q *Queue) bucket() string  { return "doublegrant-" + q.name }
func (q *Queue) stream() string  { return "DOUBLEGRANT_" + q.name }
func (q *Queue) subject() string { return "doublegrant." + q.name + ".unit." } // ends in the unit's ID

// The streams of a bucket of keys and of an object store, and the subject of a key, as NATS names them.
func (q *Queue) keyStream() string            { return "KV_" + q.bucket() }
func (q *Queue) keySubject(key string) string { return "$KV." + q.bucket() + "." + key }
func (q *Queue) objectStream() string         { return "OBJ_" + q.bucket() }
func (q *Queue) chunkSubject(of string) string {
	return "$O." + q.bucket() + ".C." + of
}

// open connects.
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

// Join joins a coordination as a worker, whose name has to be its own. It waits for the coordination to begin, until
// the patience is over.
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
			return waiting(err, "no coordination called "+q.name+" has begun there")
		}
		e, err := q.keys.Get(ctx, keyHead)
		if err != nil {
			return waiting(err, "no coordination called "+q.name+" has begun there")
		}
		if err := json.Unmarshal(e.Value(), &q.head); err != nil || q.head.Format != Format {
			return fmt.Errorf("%w: %s is of format %d, and this program knows %d: take the version of doublegrant "+
				"that coordinates", ErrOther, q.name, q.head.Format, Format)
		}
		if q.objects, err = q.js.ObjectStore(ctx, q.bucket()); err != nil {
			return waiting(err, "its object store is not there")
		}
		if q.consumer, err = q.js.Consumer(ctx, q.stream(), "workers"); err != nil {
			return waiting(err, "its stream is not there")
		}
		return nil
	})
	if err != nil {
		return err
	}
	return q.answerAs(worker)
}

// notYet marks errors of what may be there later: a replica that has just come back answers with what it had.
type notYet struct{ why string }

func (e notYet) Error() string { return e.why }

// waiting replaces the error of what is not there by one that is worth trying again.
func waiting(err error, why string) error {
	if isGone(err) {
		return notYet{why}
	}
	return err
}

// token makes a name fit for a key.
func token(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, name)
}

// unique returns a name that nobody else has.
func unique() string { return nuid.Next() }

// isGone reports whether what was asked for is not there.
func isGone(err error) bool {
	for _, is := range []error{
		jetstream.ErrBucketNotFound, jetstream.ErrKeyNotFound, jetstream.ErrKeyDeleted, jetstream.ErrStreamNotFound,
		jetstream.ErrConsumerNotFound,
		jetstream.ErrConsumerDeleted, jetstream.ErrObjectNotFound, jetstream.ErrNoStreamResponse,
	} {
		if errors.Is(err, is) {
			return true
		}
	}
	return false
}

// wakeHolding wakes whoever waits for an outcome. The caller holds q.mu.
func (q *Queue) wakeHolding() {
	close(q.changed)
	q.changed = make(chan struct{})
}

func (q *Queue) change() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.changed
}

// Close leaves the coordination. The work that is left stays there.
func (q *Queue) Close() {
	q.stop()
	q.watch.Wait()
	q.nc.Close()
}
