package jetstream

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness/workqueue"
)

// kept is what the key of an outcome holds.
type kept struct {
	Worker string   `json:"worker,omitempty"` // empty: the unit was given up
	Claim  string   `json:"claim,omitempty"`
	Object string   `json:"object,omitempty"` // of the result's body
	Failed []string `json:"failed,omitempty"` // what became of the tries before
	Try    string   `json:"try,omitempty"`    // that it came of
}

// outcome reads the outcome of a unit. The error is one of isGone if it has none.
func (q *Queue) outcome(ctx context.Context, id string) (k kept, err error) {
	err = q.try(ctx, "look for an outcome", attemptTime, func(ctx context.Context) error {
		e, err := q.keys.Get(ctx, keyOutcome+id)
		if err != nil {
			return err
		}
		return json.Unmarshal(e.Value(), &k)
	})
	return k, err
}

// Await is workqueue.Queue's.
func (q *Queue) Await(ctx context.Context, id string) (workqueue.Outcome, error) {
	for {
		changed := q.change()
		k, err := q.outcome(ctx, id)
		if err == nil {
			return q.whole(ctx, k)
		}
		if !isGone(err) {
			return workqueue.Outcome{}, err
		}
		select {
		case <-changed:
		case <-time.After(time.Second): // what was followed may be broken off
			if err := q.access.health(); err != nil {
				return workqueue.Outcome{}, err
			}
		case <-ctx.Done():
			return workqueue.Outcome{}, ctx.Err()
		}
	}
}

// whole reads the body of an outcome.
func (q *Queue) whole(ctx context.Context, k kept) (workqueue.Outcome, error) {
	o := workqueue.Outcome{Result: workqueue.Result{Claim: k.Claim}, Worker: k.Worker, Failed: k.Failed}
	if k.Object == "" {
		return o, nil
	}
	err := q.tryBody(ctx, "get a result", func(ctx context.Context, moved func()) (err error) {
		o.Body, err = q.getBody(ctx, k.Object, workqueue.MostBytes, moved)
		return waiting(err, "the body of a result is not there")
	})
	return o, err
}

func (j *job) Done(ctx context.Context, r workqueue.Result) error {
	defer j.sayAlive()()
	k := kept{Worker: j.q.as, Claim: r.Claim, Try: j.me, Failed: workqueue.Whys(j.Tries()),
		Object: "result." + j.id + "." + j.me}
	if len(r.Body) == 0 {
		k.Object = ""
	} else if err := j.q.tryBody(ctx, "keep a result", func(ctx context.Context, moved func()) error {
		return j.q.putBody(ctx, k.Object, r.Body, moved)
	}); err != nil {
		return err
	}
	return j.keep(ctx, k)
}

// keep keeps the outcome if it is the first, and takes the unit out of the stream.
func (j *job) keep(ctx context.Context, k kept) error {
	first := k
	err := j.q.try(ctx, "keep an outcome", attemptTime, func(ctx context.Context) error {
		_, err := j.q.keys.Create(ctx, keyOutcome+j.id, encoded(k))
		if !isConflict(err) {
			return err
		}
		e, err := j.q.keys.Get(ctx, keyOutcome+j.id)
		if err != nil {
			return waiting(err, "the first outcome is not there yet")
		}
		first = kept{}
		return json.Unmarshal(e.Value(), &first)
	})
	if err != nil {
		return err
	}
	if first.Try != k.Try {
		err = j.compare(ctx, first, k)
	}
	j.settled(ctx)
	return err
}

// compare compares a second result with the first, and removes it. A dispute is noted first: whoever is killed in
// between has told it.
func (j *job) compare(ctx context.Context, first, second kept) error {
	if (workqueue.Result{Claim: first.Claim}).Contradicts(second.Claim) {
		if err := j.dispute(ctx); err != nil {
			return err
		}
	}
	if second.Object != "" {
		j.q.removeBody(ctx, second.Object)
	}
	return nil
}

// dispute notes that the unit is disputed.
func (j *job) dispute(ctx context.Context) error {
	return j.q.try(ctx, "note a dispute", attemptTime, func(ctx context.Context) error {
		ids, revision, err := j.q.disputes(ctx)
		if err != nil || slices.Contains(ids, j.id) {
			return err
		}
		_, err = j.q.keys.Update(ctx, keyDisputed, encoded(append(ids, j.id)), revision)
		if isConflict(err) {
			return notYet{"another unit is disputed just now"}
		}
		return err
	})
}

// disputes returns the units that are disputed, and the revision of their key: 0 if there is none.
func (q *Queue) disputes(ctx context.Context) (ids []string, revision uint64, err error) {
	revision, err = q.read(ctx, keyDisputed, &ids)
	return ids, revision, err
}

// giveUp keeps that the unit came to no result, by the tries before this one.
func (j *job) giveUp(ctx context.Context) error {
	return j.keep(ctx, kept{Try: j.me, Failed: workqueue.Whys(j.Tries())})
}

// Disputed is workqueue.Queue's.
func (q *Queue) Disputed(ctx context.Context) (ids []string, err error) {
	err = q.try(ctx, "look for disputes", attemptTime, func(ctx context.Context) (err error) {
		ids, _, err = q.disputes(ctx)
		return err
	})
	slices.Sort(ids)
	return ids, err
}
