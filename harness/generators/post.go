package generators

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Post carries messages between a coordinator and its generators. A message has at most MostBytes.
type Post interface {
	// Ask sends a message to a subject and returns the answer. An error says that no answer came before ctx ended, or that
	// nobody serves the subject. The message may have arrived all the same.
	Ask(ctx context.Context, subject string, message []byte) (answer []byte, err error)

	// Answer serves a subject until stop is called. It calls the given function for each message. That function may
	// call reply at once, later from another goroutine, or never.
	Answer(subject string, answer func(message []byte, reply func([]byte))) (stop func(), err error)
}

// keepAsking repeats a request until there is an answer. When ctx ends, it returns the error of the last attempt.
func keepAsking(ctx context.Context, post Post, subject string, message []byte) ([]byte, error) {
	for {
		one, cancel := context.WithTimeout(ctx, askFor)
		answer, err := post.Ask(one, subject, message)
		cancel()
		if err == nil || ctx.Err() != nil {
			return answer, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(askAgain):
		}
	}
}

const (
	askFor   = 2 * time.Second        // timeout of one attempt to get an answer
	askAgain = 100 * time.Millisecond // time between two attempts
)

// MostBytes is the largest size of a message. NATS by default takes up to a mebibyte.
const MostBytes = 900 << 10

// NewMemory returns a Post inside this process.
func NewMemory() Post { return &memory{subjects: map[string]func([]byte, func([]byte)){}} }

type memory struct {
	mu       sync.Mutex
	subjects map[string]func([]byte, func([]byte))
}

func (m *memory) Answer(subject string, answer func([]byte, func([]byte))) (stop func(), err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.subjects[subject] != nil {
		return nil, fmt.Errorf("generators: another process already answers at %s", subject)
	}
	m.subjects[subject] = answer
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.subjects, subject)
	}, nil
}

func (m *memory) Ask(ctx context.Context, subject string, message []byte) ([]byte, error) {
	m.mu.Lock()
	answer := m.subjects[subject]
	m.mu.Unlock()
	if answer == nil {
		return nil, fmt.Errorf("generators: no process answers at %s", subject)
	}
	answers := make(chan []byte, 1)
	answer(message, func(a []byte) {
		select {
		case answers <- a:
		default: // answered before
		}
	})
	select {
	case a := <-answers:
		return a, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
