package jetstream

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
)

// Post carries messages between the members of a coordination, outside of its stream. A message is delivered once or
// not at all. The type implements the interface Post of harness/generators.
type Post struct{ q *Queue }

// Post returns the coordination's Post. NATS limits a message, by default to a mebibyte.
func (q *Queue) Post() Post { return Post{q} }

func (p Post) subject(subject string) string { return "doublegrant." + p.q.name + ".load." + subject }

// Ask sends a message and returns the answer. An error says that no answer came before ctx ended, or that nobody
// listens.
func (p Post) Ask(ctx context.Context, subject string, message []byte) ([]byte, error) {
	msg, err := p.q.nc.RequestWithContext(ctx, p.subject(subject), message)
	if err != nil {
		return nil, fmt.Errorf("jetstream: ask %s: %w", subject, p.q.access.redacted(err))
	}
	return msg.Data, nil
}

// unanswerWithin is how long stop waits for the server to confirm that this process no longer answers.
const unanswerWithin = time.Second

// Answer calls the given function for each message to the subject, in order, until stop is called.
func (p Post) Answer(subject string, answer func(message []byte, reply func([]byte))) (stop func(), err error) {
	sub, err := p.q.nc.Subscribe(p.subject(subject), func(msg *nats.Msg) {
		answer(msg.Data, func(a []byte) { _ = msg.Respond(a) }) // if that fails, the sender asks again
	})
	if err == nil {
		err = p.q.nc.Flush() // from here on the server knows of it
	}
	if err != nil {
		return nil, fmt.Errorf("jetstream: answer %s: %w", subject, p.q.access.redacted(err))
	}
	return func() {
		_ = sub.Unsubscribe()                   // fails only on a closed connection
		_ = p.q.nc.FlushTimeout(unanswerWithin) // from here on senders are not told to wait
	}, nil
}
