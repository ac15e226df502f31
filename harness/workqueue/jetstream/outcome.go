package jetstream

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/doublegrant/doublegrant/harness/workqueue"
)

// storedOutcome is the value of an outcome's key.
type storedOutcome struct {
	Worker string   `json:"worker,omitempty"` // empty: the unit was given up
	Claim  string   `json:"claim,omitempty"`
	Object string   `json:"object,omitempty"` // name of the object that has the result's body
	Failed []string `json:"failed,omitempty"` // what became of earlier tries
	Try    string   `json:"try,omitempty"`    // ID of the try that led to this outcome
}

// outcome reads a unit's outcome. If the unit has none, the error is one for which isGone returns true.
func (q *Queue) outcome(ctx context.Context, id string) (k storedOutcome, err error) {
	err = q.try(ctx, "look for an outcome", attemptTime, func(ctx context.Context) error {
		e, err := q.keys.Get(ctx, keyOutcome+id)
		if err != nil {
			return err
		}
		return json.Unmarshal(e.Value(), &k)
	})
	return k, err
}

// Await implements workqueue.Queue.
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
		case <-time.After(time.Second): // the watch may be broken
			if err := q.access.health(); err != nil {
				return workqueue.Outcome{}, err
			}
		case <-ctx.Done():
			return workqueue.Outcome{}, ctx.Err()
		}
	}
}

// whole returns a stored outcome with its body, which it reads from the object store.
func (q *Queue) whole(ctx context.Context, k storedOutcome) (workqueue.Outcome, error) {
	o := workqueue.Outcome{Result: workqueue.Result{Claim: k.Claim}, Worker: k.Worker, Failed: k.Failed}
	if k.Object == "" {
		return o, nil
	}
	err := q.tryBody(ctx, "get a result", func(ctx context.Context, moved func()) (err error) {
		o.Body, err = q.getBody(ctx, k.Object, workqueue.MostBytes, moved)
		return retryIfGone(err, "the body of a result is missing")
	})
	return o, err
}

func (j *job) Done(ctx context.Context, r workqueue.Result) error {
	defer j.sayAlive()()
	k := storedOutcome{Worker: j.q.as, Claim: r.Claim, Try: j.tryID, Failed: workqueue.Outcomes(j.Tries()),
		Object: "result." + j.id + "." + j.tryID}
	if len(r.Body) == 0 {
		k.Object = ""
	} else if err := j.q.tryBody(ctx, "keep a result", func(ctx context.Context, moved func()) error {
		return j.q.putBody(ctx, k.Object, r.Body, moved)
	}); err != nil {
		return err
	}
	return j.keep(ctx, k)
}

// keep stores the unit's outcome, or compares it with the first one if there is one. Then it discards the unit.
func (j *job) keep(ctx context.Context, k storedOutcome) error {
	first := k
	err := j.q.try(ctx, "keep an outcome", attemptTime, func(ctx context.Context) error {
		_, err := j.q.keys.Create(ctx, keyOutcome+j.id, encoded(k))
		if !isConflict(err) {
			return err
		}
		e, err := j.q.keys.Get(ctx, keyOutcome+j.id)
		if err != nil {
			return retryIfGone(err, "the first outcome is missing so far")
		}
		first = storedOutcome{}
		return json.Unmarshal(e.Value(), &first)
	})
	if err != nil {
		return err
	}
	if first.Try != k.Try {
		err = j.compare(ctx, first, k)
	}
	j.discard(ctx)
	return err
}

// compare records a dispute if a second result contradicts the first. Then it removes the body of the second result.
// The dispute comes first, so that it is recorded even if this process is killed.
func (j *job) compare(ctx context.Context, first, second storedOutcome) error {
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

func (j *job) dispute(ctx context.Context) error {
	return j.q.try(ctx, "note a dispute", attemptTime, func(ctx context.Context) error {
		var ids []string
		revision, err := j.q.read(ctx, keyDisputed, &ids)
		if err != nil || slices.Contains(ids, j.id) {
			return err
		}
		_, err = j.q.keys.Update(ctx, keyDisputed, encoded(append(ids, j.id)), revision)
		if isConflict(err) {
			return notYet{"another worker is just recording a dispute"}
		}
		return err
	})
}

// giveUp stores that the unit was given up without a result.
func (j *job) giveUp(ctx context.Context) error {
	return j.keep(ctx, storedOutcome{Try: j.tryID, Failed: workqueue.Outcomes(j.Tries())})
}

// Disputed implements workqueue.Queue.
func (q *Queue) Disputed(ctx context.Context) (ids []string, err error) {
	err = q.try(ctx, "look for disputes", attemptTime, func(ctx context.Context) (err error) {
		_, err = q.read(ctx, keyDisputed, &ids)
		return err
	})
	slices.Sort(ids)
	return ids, err
}
