package jetstream

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Raw is what tests look into a coordination with.
type Raw struct {
	NC      *nats.Conn
	JS      jetstream.JetStream
	Keys    jetstream.KeyValue
	Objects jetstream.ObjectStore
}

// RawOf returns the connection of a coordinator or a worker.
func RawOf(q *Queue) Raw { return Raw{q.nc, q.js, q.keys, q.objects} }

// StopBeating makes a coordinator fall silent, as one that is cut off.
func StopBeating(q *Queue) {
	q.stop()
	q.beating.Wait()
}

// RemovalSteps is how many steps a removal has.
const RemovalSteps = 4

// KillInRemoval does the first steps of a removal, and ends without another word.
func KillInRemoval(ctx context.Context, q *Queue, steps int) error {
	if len(q.removal()) != RemovalSteps {
		return errors.New("say how many steps there are")
	}
	for _, step := range q.removal()[:steps] {
		if err := step(ctx); err != nil {
			return err
		}
	}
	StopBeating(q)
	q.nc.Close()
	return nil
}

// RemovalStep does one step of a removal.
func RemovalStep(ctx context.Context, q *Queue, step int) error { return q.removal()[step](ctx) }

// FetchSettled reads the body of a unit that has an outcome, as a worker does that has looked for the outcome before it was there. It reports
// whether it learns of the outcome.
func FetchSettled(ctx context.Context, q *Queue, id string) (bool, error) {
	err := (&job{q: q, id: id}).fetch(ctx)
	return errors.Is(err, errSettled), err
}

// Redacted returns the text of an error as it is told to users.
func Redacted(a Access, text string) string { return a.redacted(errors.New(text)).Error() }
