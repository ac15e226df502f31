package generators

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// This file sends what a generator's clients record to the coordinator.

// event keeps an event until the next record, with which it is sent.
func (s *server) event(e harness.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, e)
}

func (s *server) begin() error {
	s.mu.Lock()
	load := s.load
	s.load = nil
	s.mu.Unlock()
	if load == nil {
		return errors.New("no clients are open: the load can begin only once")
	}
	s.working.Go(func() {
		last := record{Mark: s.clock.Now(), Over: true}
		switch err := load.Load(s.ctx, s.stop); {
		case errors.Is(err, context.Canceled):
			last.Error = "it was interrupted"
		case err != nil:
			last.Error = err.Error()
		}
		last.Mark = s.clock.Now()
		_ = s.send(last) // if it does not arrive, the coordinator considers this generator lost
	})
	return nil
}

// recordOps is the largest number of operations in one record, so that a record fits into a message.
const recordOps = 4000

// sendOps sends operations to the coordinator, in records of at most recordOps. The parameter mark becomes the Mark of
// the last record.
func (s *server) sendOps(ops []harness.Op, mark time.Duration) error {
	for len(ops) > recordOps {
		if err := s.send(record{Mark: ops[recordOps-1].Return, ops: ops[:recordOps]}); err != nil {
			return err
		}
		ops = ops[recordOps:]
	}
	return s.send(record{Mark: mark, ops: ops})
}

// send sends a record, again and again until it is acknowledged.
func (s *server) send(r record) error {
	s.mu.Lock()
	r.Events, s.events = s.events, nil
	s.mu.Unlock()
	s.records++
	r.Number = s.records
	message, err := r.pack()
	if err != nil {
		return err
	}
	if len(message) > MostBytes {
		return s.sendHalves(r)
	}
	var t recordAck
	answer, err := askUntil(s.sending, s.post, s.place.record(), message)
	if err == nil {
		err = json.Unmarshal(answer, &t)
	}
	if err == nil && t.Error != "" {
		err = errors.New(t.Error)
	}
	return err
}

// sendHalves sends a record that is too large for a message as two records.
func (s *server) sendHalves(r record) error {
	if len(r.ops) < 2 {
		return fmt.Errorf("generators: an operation of more than %d bytes", MostBytes)
	}
	s.records--
	half := len(r.ops) / 2
	first := record{Mark: r.ops[half-1].Return, ops: r.ops[:half]}
	r.ops = r.ops[half:]
	s.mu.Lock()
	s.events = append(r.Events, s.events...)
	s.mu.Unlock()
	if err := s.send(first); err != nil {
		return err
	}
	r.Events = nil
	return s.send(r)
}
