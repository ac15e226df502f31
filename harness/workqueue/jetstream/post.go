package jetstream

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
)

// Post carries messages between those of one coordination, outside of its stream: each is delivered once at most, or
// not at all. It is what harness/generators asks for.
type Post struct{ q *Queue }

// Post returns the coordination's way to carry messages. A message has at most as many bytes as the NATS takes, a
// mebibyte by default.
func (q *Queue) Post() Post { return Post{q} }

func (p Post) subject(subject string) string { return "doublegrant." + p.q.name + ".load." + subject }

// Ask sends a message and returns the answer. An error says that none came before ctx ended, or that nobody listens.
func (p Post) Ask(ctx context.Context, subject string, message []byte) ([]byte, error) {
	msg, err := p.q.nc.RequestWithContext(ctx, p.subject(subject), message)
	if err != nil {
		return nil, fmt.Errorf("jetstream: ask %s: %w", subject, p.q.access.redacted(err))
	}
	return msg.Data, nil
}

// unanswerWithin bounds the time until the server knows that nobody answers any more.
const unanswerWithin = time.Second

// Answer has what comes to the subject answered, in order, until stop is called.
func (p Post) Answer(subject string, answer func(message []byte, reply func([]byte))) (stop func(), err error) {
	sub, err := p.q.nc.Subscribe(p.subject(subject), func(msg *nats.Msg) {
		answer(msg.Data, func(a []byte) { _ = msg.Respond(a) }) // whoever asked asks again
	})
	if err == nil {
		err = p.q.nc.Flush() // from here on the server knows of it
	}
	if err != nil {
		return nil, fmt.Errorf("jetstream: answer %s: %w", subject, p.q.access.redacted(err))
	}
	return func() {
		_ = sub.Unsubscribe()                   // fails on a closed connection only
		_ = p.q.nc.FlushTimeout(unanswerWithin) // from here on nobody is told to wait
	}, nil
}
