package nemesis_test

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/nemesis"
)

// pausable is a sketch whose clients can be paused.
type pausable struct {
	*sketch
	paused *bool
	drowsy *int // number of probes; every other probe gets no answer
}

func (p pausable) PauseClients(context.Context, string, bool) (func(context.Context) error, error) {
	*p.paused = true
	return func(context.Context) error { *p.paused = false; return nil }, nil
}

func (p pausable) AcceptsWrites(context.Context, string) error {
	if *p.paused {
		return os.ErrDeadlineExceeded
	}
	return nil
}

func (p pausable) Probe(context.Context, string, string) error {
	if *p.drowsy++; *p.drowsy%2 == 1 {
		return errors.New("drowsy")
	}
	return nil
}

// TestClientsArePausedOnce checks that a second pause of a node is refused, and that one late answer is no error.
func TestClientsArePausedOnce(t *testing.T) {
	p := pausable{oneNode(), new(bool), new(int)}
	first, err := nemesis.ClientPauseWrites(p, nemesis.Primary()).Inject(t.Context(), rng())
	require.NoError(t, err)
	require.Equal(t, 4, *p.drowsy, "before the pause, and in it")
	for _, n := range []harness.Nemesis{nemesis.ClientPauseWrites(p, nemesis.Primary()),
		nemesis.ClientPause(p, nemesis.Primary())} {
		second, err := n.Inject(t.Context(), rng())
		require.ErrorContains(t, err, "r1 answers no write before the pause")
		require.Nil(t, second.Heal, "it would end the first pause")
	}
	require.NoError(t, first.Heal(t.Context()))
	require.False(t, *p.paused)
}
