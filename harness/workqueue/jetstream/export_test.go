package jetstream

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Raw gives tests direct access to a coordination.
type Raw struct {
	NC      *nats.Conn
	JS      jetstream.JetStream
	Keys    jetstream.KeyValue
	Objects jetstream.ObjectStore
}

// RawOf returns the connection of a coordinator or a worker.
func RawOf(q *Queue) Raw { return Raw{q.nc, q.js, q.keys, q.objects} }

// FetchSettled asks for the body of a unit that has an outcome. The body is gone by then. It reports whether the
// outcome is noticed.
func FetchSettled(ctx context.Context, q *Queue, id string) (bool, error) {
	err := (&job{q: q, id: id}).fetch(ctx)
	return errors.Is(err, errHasOutcome), err
}

// Redacted returns the text of an error as users see it.
func Redacted(a Access, text string) string { return a.redacted(errors.New(text)).Error() }

// FallSilent makes a coordinator or worker stop answering others, as if it stood still. Its own requests still work.
func FallSilent(q *Queue) error { return q.answers.Unsubscribe() }

// Log lets the server's NATS log an error.
func (s *Server) Log(line string) { s.log.Errorf("%s", line) }
