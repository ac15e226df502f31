package jetstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
)

// This file finds the connected members of a coordination: they answer with their names. Nothing is stored, so a member
// that was killed or stands still does not count.

// role says whether a member of a coordination is a worker or the coordinator.
type role string

const (
	worker      role = "worker"
	coordinator role = "coordinator"
)

// answerWithin is how long a working member may take to answer, even under high load or on a slow link.
const answerWithin = 2 * time.Second

// overSubject returns the subject on which a coordinator announces the end, so that workers notice it without asking.
func (q *Queue) overSubject() string { return "doublegrant." + q.name + ".over" }

func (q *Queue) hereSubject(r role) string { return "doublegrant." + q.name + ".here." + string(r) }

// answerAs makes this process answer with its name when another member asks who has the role r. It also makes Take
// notice the coordinator's announcement of the end.
func (q *Queue) answerAs(r role) (err error) {
	q.answers, err = q.nc.Subscribe(q.hereSubject(r), func(m *nats.Msg) {
		_ = m.Respond([]byte(q.as)) // if that fails, the sender asks again
	})
	if err == nil {
		_, err = q.nc.Subscribe(q.overSubject(), func(*nats.Msg) {
			select {
			case q.ending <- struct{}{}:
			default:
			}
		})
	}
	if err != nil {
		return fmt.Errorf("jetstream: %w", q.access.redacted(err))
	}
	return nil
}

// findMember returns the name of another member that has the role r and for whose name the given function returns true.
// The name is empty if no such member has answered in time.
func (q *Queue) findMember(ctx context.Context, r role, within time.Duration,
	suits func(name string) bool) (name string, err error) {
	inbox := q.nc.NewInbox()
	sub, err := q.nc.SubscribeSync(inbox)
	if err != nil {
		return "", err
	}
	defer func() { _ = sub.Unsubscribe() }() // fails only on a closed connection
	if err := q.nc.PublishRequest(q.hereSubject(r), inbox, nil); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for {
		m, err := sub.NextMsgWithContext(ctx)
		switch {
		case errors.Is(err, nats.ErrNoResponders), errors.Is(err, context.DeadlineExceeded),
			err == nil && m.Header.Get("Status") != "":
			return "", nil
		case err != nil:
			return "", err
		case string(m.Data) != q.as && suits(string(m.Data)):
			return string(m.Data), nil
		}
	}
}

// HasOtherWorker implements workqueue.Queue.
func (q *Queue) HasOtherWorker(ctx context.Context, suits func(name string) bool) (has bool, err error) {
	err = q.try(ctx, "ask who works for "+q.name, attemptTime, func(ctx context.Context) error {
		name, err := q.findMember(ctx, worker, answerWithin, suits)
		has = name != ""
		return err
	})
	return has, err
}

func anybody(string) bool { return true }
