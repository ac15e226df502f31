package jetstream

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/doublegrant/doublegrant/harness/workqueue"
)

// note is a unit's message in the stream.
type note struct {
	ID   string          `json:"id"`
	Unit *workqueue.Unit `json:"unit,omitempty"` // nil: the unit is larger than mostNoted and is stored as an object
}

// mostNoted bounds the body of a unit in a message. A message has less than a mebibyte.
const mostNoted = 64 << 10

func unitObject(id string) string { return "unit." + id }

// Put implements workqueue.Queue.
func (q *Queue) Put(ctx context.Context, u workqueue.Unit) error {
	id := u.ID()
	if _, err := q.outcome(ctx, id); err == nil || !isGone(err) {
		return err
	}
	n := note{id, &u}
	if len(u.Body) > mostNoted {
		n.Unit = nil
		if err := q.putLarge(ctx, id, u); err != nil {
			return err
		}
	}
	return q.try(ctx, "put a unit", attemptTime, func(ctx context.Context) error {
		_, err := q.js.Publish(ctx, q.subject()+id, encoded(n))
		if isDuplicate(err) {
			return nil
		}
		return err
	})
}

// putLarge stores a unit as an object.
func (q *Queue) putLarge(ctx context.Context, id string, u workqueue.Unit) error {
	return q.tryBody(ctx, "put a unit", func(ctx context.Context, moved func()) error {
		if _, err := q.objects.GetInfo(ctx, unitObject(id)); err == nil || !isGone(err) {
			return err
		}
		return q.putBody(ctx, unitObject(id), encoded(u), moved)
	})
}

// isDuplicate reports whether err says that the stream has the unit already. NATS reports that as a store error.
func isDuplicate(err error) bool {
	api, ok := errors.AsType[*jetstream.APIError](err)
	return ok && strings.Contains(api.Description, "maximum messages per subject exceeded")
}

// takeFor is how long one request for a unit waits.
const takeFor = time.Second

// Take implements workqueue.Queue.
func (q *Queue) Take(ctx context.Context) (workqueue.Job, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if over, err := q.askOver(ctx); err != nil || over {
			return nil, cmp.Or(err, workqueue.ErrOver)
		}
		msg, err := q.next(ctx)
		if err != nil { // askOver reports whether NATS is away or the coordination is gone
			if !isAny(err, nats.ErrTimeout, jetstream.ErrNoMessages) { // the error came at once
				rest(ctx)
			}
			continue
		}
		if ctx.Err() != nil {
			_ = msg.Nak() // if that fails, the lease ends
			return nil, ctx.Err()
		}
		job, err := q.accept(ctx, msg)
		if job != nil || err != nil {
			return job, err
		}
	}
}

// next waits for a message, until takeFor is over, ctx ends, or the coordinator announces the end.
func (q *Queue) next(ctx context.Context) (jetstream.Msg, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, takeFor, nats.ErrTimeout)
	defer cancel()
	go func() {
		select {
		case <-q.ending:
			cancel()
		case <-ctx.Done():
		}
	}()
	msg, err := q.consumer.Next(jetstream.FetchContext(ctx))
	if err != nil && ctx.Err() != nil {
		err = nats.ErrTimeout // the caller asks why
	}
	return msg, err
}

// accept turns a message into a job. It returns nil if the unit has an outcome already, or is given up now.
func (q *Queue) accept(ctx context.Context, msg jetstream.Msg) (workqueue.Job, error) {
	var n note
	if err := json.Unmarshal(msg.Data(), &n); err != nil || !isID(n.ID) {
		q.acknowledge(ctx, msg) // not a message of ours
		return nil, nil
	}
	j := &job{q: q, msg: msg, id: n.ID, tryID: nuid.Next()}
	defer j.sayAlive()()
	if _, err := q.outcome(ctx, n.ID); err == nil {
		j.discard(ctx)
		return nil, nil
	} else if !isGone(err) {
		return nil, err
	}
	tries, err := j.begin(ctx)
	if err != nil {
		return nil, err
	}
	j.earlier = tries[:len(tries)-1]
	if len(tries) > workqueue.Tries {
		return nil, j.giveUp(ctx)
	}
	if n.Unit != nil && n.Unit.ID() == n.ID {
		j.unit = *n.Unit
	} else {
		err = j.fetch(ctx)
	}
	switch {
	case errors.Is(err, errHasOutcome):
		j.discard(ctx)
		return nil, nil
	case errors.Is(err, workqueue.ErrOver):
		return nil, err
	case errors.Is(err, workqueue.ErrUnreachable):
		_ = msg.Nak()
		return nil, err
	case ctx.Err() != nil: // the caller has canceled it
		giving, cancel := context.WithTimeout(context.WithoutCancel(ctx), attemptTime)
		defer cancel()
		_ = j.GiveBack(giving, 0) // if that fails, the lease ends
		return nil, ctx.Err()
	case err != nil:
		return nil, j.Fail(ctx, "the unit cannot be read from the object store")
	}
	return j, nil
}

// errHasOutcome says that a unit has got its outcome in the meantime.
var errHasOutcome = errors.New("the unit has an outcome already")

// fetch reads the unit from the object store. It returns errHasOutcome if the unit was removed because it has an
// outcome.
func (j *job) fetch(ctx context.Context) error {
	return j.q.tryBody(ctx, "get a unit", func(ctx context.Context, moved func()) error {
		text, err := j.q.getBody(ctx, unitObject(j.id), mostUnit, moved)
		if isGone(err) {
			if _, err := j.q.keys.Get(ctx, keyOutcome+j.id); err == nil {
				return errHasOutcome
			}
		}
		if err != nil {
			return retryIfGone(err, "the unit's body is missing")
		}
		if err = json.Unmarshal(text, &j.unit); err == nil && j.unit.ID() != j.id {
			err = errors.New("jetstream: the body belongs to another unit")
		}
		return err
	})
}

// discard removes the unit from the stream and the object store, since it has an outcome.
func (j *job) discard(ctx context.Context) {
	if len(j.unit.Body) == 0 || len(j.unit.Body) > mostNoted { // it was not part of its message
		j.q.removeBody(ctx, unitObject(j.id))
	}
	j.q.acknowledge(ctx, j.msg)
}

// sayAlive renews the lease until the returned function is called. It is used while a body is transferred.
func (j *job) sayAlive() (stop func()) {
	done := make(chan struct{})
	var saying sync.WaitGroup
	saying.Go(func() {
		tick := time.NewTicker(max(time.Millisecond, min(j.q.head.Lease/4, time.Second)))
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				_ = j.msg.InProgress() // if that fails, the next may not
			}
		}
	})
	return func() { close(done); saying.Wait() }
}

// isID reports whether a text may be a unit's ID. An ID becomes part of a key.
func isID(text string) bool {
	for _, r := range text {
		if (r < '0' || r > '9') && (r < 'a' || r > 'f') {
			return false
		}
	}
	return len(text) == 32
}

// acknowledge removes a message from the stream. If that fails, for example during a restart of NATS, the message is
// redelivered and acknowledged then.
func (q *Queue) acknowledge(ctx context.Context, msg jetstream.Msg) {
	ctx, cancel := context.WithTimeout(ctx, readTime) // a worker that waits for it misses the end
	defer cancel()
	_ = msg.DoubleAck(ctx)
}

// job is a unit held by this worker.
type job struct {
	q     *Queue
	msg   jetstream.Msg
	id    string
	unit  workqueue.Unit
	tryID string // ID of this try

	earlier []oneTry // earlier tries of the unit
}

func (j *job) Unit() workqueue.Unit { return j.unit }

func (j *job) Tries() []workqueue.Try { return triesOf(j.earlier) }

func (j *job) Renew(ctx context.Context) error {
	if err := j.msg.InProgress(); err != nil {
		return err
	}
	one, cancel := context.WithTimeout(ctx, readTime) // the next sign of life waits for it
	defer cancel()
	_, err := j.q.keys.Get(one, keyOver)
	if err == nil || j.q.mayBeRemoved(err) && j.q.isRemoved(one) {
		return workqueue.ErrOver
	}
	return nil
}

// oneTry is the record of a try of a unit. It is written when the try begins, so that a killed worker's try counts.
type oneTry struct {
	Me string `json:"me"`
	workqueue.Try
}

func triesOf(all []oneTry) (tries []workqueue.Try) {
	for _, t := range all {
		tries = append(tries, t.Try)
	}
	return tries
}

// try returns the record of this try. The parameter why, a format for args, says what became of the try.
func (j *job) try(why string, failed bool, args ...any) oneTry {
	return oneTry{j.tryID, workqueue.Try{Worker: j.q.as, Why: fmt.Sprintf(why, args...), Failed: failed}}
}

// begin records the beginning of a try, and returns all tries including this one.
func (j *job) begin(ctx context.Context) ([]oneTry, error) {
	return j.changeTries(ctx, func(others []oneTry, _ bool) []oneTry {
		return append(others, j.try("%s was silent for %v", false, j.q.as, j.q.head.Lease))
	})
}

// changeTries replaces the unit's recorded tries by what the function change returns; if that is nil, they stay as they
// are. The function gets all tries but this one, and is told whether this try is the latest on record.
func (j *job) changeTries(ctx context.Context,
	change func(others []oneTry, last bool) []oneTry) (all []oneTry, err error) {
	err = j.q.try(ctx, "record a try", attemptTime, func(ctx context.Context) error {
		all = nil
		revision, err := j.q.read(ctx, keyTries+j.id, &all)
		if err != nil {
			return err
		}
		last := len(all) > 0 && all[len(all)-1].Me == j.tryID
		others := slices.DeleteFunc(all, func(t oneTry) bool { return t.Me == j.tryID })
		if all = change(others, last); all == nil {
			return nil
		}
		_, err = j.q.keys.Update(ctx, keyTries+j.id, encoded(all), revision)
		if isConflict(err) {
			return notYet{"another worker changed the unit's tries"}
		}
		return err
	})
	return all, err
}

// read reads a key's value into the variable to which the parameter into points, and returns the key's revision. If
// there is no key, the revision is 0 and the variable is not changed.
func (q *Queue) read(ctx context.Context, key string, into any) (revision uint64, err error) {
	e, err := q.keys.Get(ctx, key)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if err := json.Unmarshal(e.Value(), into); err != nil {
		return 0, fmt.Errorf("jetstream: %s: %w", key, err)
	}
	return e.Revision(), nil
}

// State implements workqueue.Queue.
func (q *Queue) State(ctx context.Context, id string) (s workqueue.UnitState, err error) {
	k, err := q.outcome(ctx, id)
	if err != nil && !isGone(err) {
		return s, err
	}
	s.Over, s.Worker = err == nil, k.Worker
	err = q.try(ctx, "look for tries", attemptTime, func(ctx context.Context) error {
		var all []oneTry
		_, err := q.read(ctx, keyTries+id, &all)
		s.Tries = triesOf(all)
		return err
	})
	return s, err
}

// endTry changes the recorded tries at the end of this one. If a later try has begun, it changes nothing, and its
// second result is true: the unit belongs to another worker now.
func (j *job) endTry(ctx context.Context,
	change func(others []oneTry) []oneTry) (tries []oneTry, lost bool, err error) {
	tries, err = j.changeTries(ctx, func(others []oneTry, last bool) []oneTry {
		if lost = !last; lost {
			return nil
		}
		return change(others)
	})
	return tries, lost, err
}

func (j *job) Fail(ctx context.Context, why string) error {
	tries, lost, err := j.endTry(ctx, func(others []oneTry) []oneTry {
		return append(others, j.try("%s: %s", true, j.q.as, why))
	})
	if err != nil || lost {
		return err
	}
	if j.earlier = tries; len(tries) >= workqueue.Tries {
		return j.giveUp(ctx)
	}
	_ = j.msg.NakWithDelay(workqueue.RetryAfter) // if that fails, the lease ends
	return nil
}

func (j *job) GiveBack(ctx context.Context, after time.Duration) error {
	_, lost, err := j.endTry(ctx, func(others []oneTry) []oneTry { return append([]oneTry{}, others...) })
	if !lost {
		_ = j.msg.NakWithDelay(after) // if that fails, the lease ends
	}
	return err
}
