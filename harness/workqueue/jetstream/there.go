package jetstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
)

// This file tells who is there: whoever is connected answers by name. Nothing is kept of it, so that nobody is taken for being there who was
// killed, or stands still.

// role is what somebody is in a coordination.
type role string

const (
	worker      role = "worker"
	coordinator role = "coordinator"
)

const (
	answerWithin  = time.Second / 4 // of one that is at work
	lookForOthers = 2 * time.Second // how long a coordinator that goes on looks whether another is at work
)

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
			case q.over <- struct{}{}:
			default:
			}
		})
	}
	if err != nil {
		return fmt.Errorf("jetstream: %w", q.access.redacted(err))
	}
	return nil
}

// there asks who is there beside this one, and returns the names that answer within a time, in order. With first it returns when one has.
func (q *Queue) there(ctx context.Context, r role, within time.Duration, first bool) (names []string, err error) {
	inbox := q.nc.NewInbox()
	sub, err := q.nc.SubscribeSync(inbox)
	if err != nil {
		return nil, err
	}
	defer func() { _ = sub.Unsubscribe() }() // it fails on a closed connection only
	if err := q.nc.PublishRequest(q.hereSubject(r), inbox, nil); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for len(names) == 0 || !first {
		m, err := sub.NextMsgWithContext(ctx)
		if errors.Is(err, nats.ErrNoResponders) || err == nil && m.Header.Get("Status") != "" || errors.Is(err, context.DeadlineExceeded) {
			break
		}
		if err != nil {
			return nil, err
		}
		if name := string(m.Data); name != q.as && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// others lists the other workers that are there.
func (q *Queue) others(ctx context.Context) (names []string, err error) {
	err = q.try(ctx, "ask who works for "+q.name, attemptTime, func(ctx context.Context) (err error) {
		names, err = q.there(ctx, worker, answerWithin, false)
		return err
	})
	return names, err
}
