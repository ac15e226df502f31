package jetstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
)

// This file tells who is there: whoever is connected answers by name. Nothing is kept of it, so that nobody is taken
// for being there who was killed, or stands still.

// role is what somebody is in a coordination.
type role string

const (
	worker      role = "worker"
	coordinator role = "coordinator"
)

// answerWithin is how long one that is at work may take to answer, also where the load is high or the link slow.
const answerWithin = 2 * time.Second

// overSubject is where a coordinator tells of the end, so that workers who wait for a unit need not ask first.
func (q *Queue) overSubject() string { return "doublegrant." + q.name + ".over" }

func (q *Queue) hereSubject(r role) string { return "doublegrant." + q.name + ".here." + string(r) }

// answerAs has this process answer to those who ask who is there.
func (q *Queue) answerAs(r role) (err error) {
	q.answers, err = q.nc.Subscribe(q.hereSubject(r), func(m *nats.Msg) {
		_ = m.Respond([]byte(q.as)) // whoever asked asks again
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

// there returns the name of one who is there beside this one, and for whom is holds; empty: nobody answers within a
// time.
func (q *Queue) there(ctx context.Context, r role, within time.Duration,
	is func(string) bool) (name string, err error) {
	inbox := q.nc.NewInbox()
	sub, err := q.nc.SubscribeSync(inbox)
	if err != nil {
		return "", err
	}
	defer func() { _ = sub.Unsubscribe() }() // it fails on a closed connection only
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
		case string(m.Data) != q.as && is(string(m.Data)):
			return string(m.Data), nil
		}
	}
}

// HasOther is workqueue.Queue's.
func (q *Queue) HasOther(ctx context.Context, is func(string) bool) (has bool, err error) {
	err = q.try(ctx, "ask who works for "+q.name, attemptTime, func(ctx context.Context) error {
		name, err := q.there(ctx, worker, answerWithin, is)
		has = name != ""
		return err
	})
	return has, err
}

func anybody(string) bool { return true }
