package nemesis_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/nemesis"
)

// sketch is a fake cluster that notes what faults do to it. r1 is primary until promoted is set. Methods that sketch
// does not define panic.
type sketch struct {
	nemesis.Cluster
	nodes, sentinels, groups []string

	mu       sync.Mutex
	headless int // how many more calls of Primary find none
	promoted string
	down     map[string]int // by how many faults a node is killed or stopped
	deaf     bool           // faults have no effect
	unwhole  error          // what the next Resume or Restart returns
	links    []harness.Link // that are impaired
	cuts     bool           // links are cut, not only slow
	said     []string       // the first words of commands
}

// threeOf returns a sketch of three Redis nodes, five client groups and the given Sentinels.
func threeOf(sentinels ...string) *sketch {
	return &sketch{nodes: []string{"r1", "r2", "r3"}, sentinels: sentinels,
		groups: []string{"g0", "g1", "g2", "g3", "g4"}, down: map[string]int{}}
}

// oneNode returns a sketch of one Redis node without Sentinels.
func oneNode() *sketch {
	s := threeOf()
	s.nodes = s.nodes[:1]
	return s
}

// soon returns a context that ends after a moment.
func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

func (s *sketch) RedisNodes() []string   { return s.nodes }
func (s *sketch) Sentinels() []string    { return s.sentinels }
func (s *sketch) ClientGroups() []string { return s.groups }
func (s *sketch) MasterName() string     { return "sketch" }

func (s *sketch) Patience() time.Duration { return 4 * time.Second }

func (s *sketch) Primary(context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.headless--; s.headless >= 0 {
		return "", errors.New("no primary")
	}
	if s.promoted != "" {
		return s.promoted, nil
	}
	return "r1", nil
}

func (s *sketch) AwaitPromotion(ctx context.Context, old string) (string, error) {
	for ctx.Err() == nil {
		if now, err := s.Primary(ctx); err == nil && now != old {
			return now, nil
		}
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
		}
	}
	return "", ctx.Err()
}

func (s *sketch) Do(_ context.Context, node string, command ...any) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	word, _ := command[0].(string)
	s.said = append(s.said, word)
	if s.down[node] > 0 {
		return nil, os.ErrDeadlineExceeded
	}
	return "PONG", nil
}

func (s *sketch) Running(node string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.down[node] == 0
}

func (s *sketch) breakNode(node string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.deaf {
		s.down[node]++
	}
	return nil
}

func (s *sketch) mend(node string) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err, s.unwhole = s.unwhole, nil; err == nil && s.down[node] > 0 {
		s.down[node]--
	}
	return err
}

func (s *sketch) Kill(node string) error                       { return s.breakNode(node) }
func (s *sketch) Terminate(context.Context, string) error      { return nil }
func (s *sketch) Pause(_ context.Context, node string) error   { return s.breakNode(node) }
func (s *sketch) Restart(_ context.Context, node string) error { return s.mend(node) }
func (s *sketch) Resume(node string) error                     { return s.mend(node) }

func (s *sketch) Impair(links []harness.Link, f harness.LinkFault) (func() error, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.deaf {
		return func() error { return nil }, nil
	}
	s.links, s.cuts = links, f.Effects().Has(harness.CutsLinks)
	return func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.links = nil
		return nil
	}, nil
}

func (s *sketch) Touched(harness.Link) harness.Touched { return harness.Touched{} }

func (s *sketch) Probe(_ context.Context, from, to string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down[to] > 0 || s.cuts && slices.Contains(s.links, harness.Link{From: from, To: to}) {
		return os.ErrDeadlineExceeded
	}
	return nil
}

// Echo takes a tenth of a second on an impaired link.
func (s *sketch) Echo(ctx context.Context, from, to string, _ int) error {
	if err := s.Probe(ctx, from, to); err != nil {
		return err
	}
	s.mu.Lock()
	slow := slices.Contains(s.links, harness.Link{From: from, To: to})
	s.mu.Unlock()
	if slow {
		time.Sleep(100 * time.Millisecond) // in virtual time
	}
	return nil
}
