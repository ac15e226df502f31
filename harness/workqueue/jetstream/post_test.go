package jetstream_test

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/generators"
	"github.com/doublegrant/doublegrant/harness/workqueue/jetstream"
)

var _ generators.Post = jetstream.Post{}

func TestAPostCarriesMessagesBothWays(t *testing.T) {
	s := served(t)
	a, b := lead(t, s.Access, jetstream.Sizes{}).Post(), join(t, s.Access, "worker").Post()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := b.Ask(ctx, "nobody", nil)
	require.ErrorContains(t, err, "ask nobody: nats: no responders")
	require.NoError(t, ctx.Err(), "it is told at once")

	heard := make(chan func([]byte), 1)
	unanswer, err := a.Answer("later", func(_ []byte, reply func([]byte)) { heard <- reply })
	require.NoError(t, err)
	defer unanswer()
	late := make(chan []byte, 1)
	go func() {
		answer, _ := b.Ask(ctx, "later", nil)
		late <- answer
	}()
	reply := <-heard

	stop, err := a.Answer("echo", func(message []byte, reply func([]byte)) { reply(message) })
	require.NoError(t, err)
	large := bytes.Repeat([]byte("x"), generators.MostBytes)
	answer, err := b.Ask(ctx, "echo", large)
	require.NoError(t, err, "while another waits")
	require.Equal(t, large, answer)
	reply([]byte("late"))
	require.Equal(t, "late", string(<-late))
	_, err = a.Ask(ctx, "echo", []byte("by its own"))
	require.NoError(t, err)
	stop()
	_, err = b.Ask(ctx, "echo", nil)
	require.ErrorContains(t, err, "no responders")
}
