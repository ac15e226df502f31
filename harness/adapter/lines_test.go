package adapter

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/workloads"
)

// slowWriter blocks in each Write until it receives from let.
type slowWriter struct {
	begun, let chan struct{}
	pieces     []string
}

func (w *slowWriter) Write(b []byte) (int, error) {
	w.begun <- struct{}{}
	<-w.let
	w.pieces = append(w.pieces, string(b))
	return len(b), nil
}

// Lines that come while another line is written are written together after it. Their callers do not wait.
func TestLinesThatComeTogetherAreWrittenTogether(t *testing.T) {
	w := &slowWriter{begun: make(chan struct{}, 1), let: make(chan struct{})}
	var l lines
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.write(w, []byte("a\n"), false)
	}()
	<-w.begun
	l.write(w, []byte("b\n"), true)
	l.write(w, []byte("c\n"), false)
	w.let <- struct{}{}
	<-w.begun
	w.let <- struct{}{}
	<-done
	require.Equal(t, []string{"a\n", "b\nc\n"}, w.pieces)
	go l.write(w, []byte("d\n"), false)
	<-w.begun // the next one is written as well
	w.let <- struct{}{}
}

// eager stands for the input of a process. The process answers an acquire with a forbidden question, and whatever it is
// told next with ok.
type eager struct{ c *process }

func (e eager) Close() error { return nil }

func (e eager) Write(b []byte) (int, error) {
	line := `{"id":1,"ok":true}`
	if bytes.Contains(b, []byte(workloads.DoAcquire)) {
		line = `{"id":1,"ask":"stop","thread":7}`
	}
	return len(b), e.c.dispatch([]byte(line))
}

// An answer does not count after a forbidden question, however fast it comes.
func TestAnAnswerAfterAWrongQuestionDoesNotCount(t *testing.T) {
	for range 30 { // of two channels that are ready, a select takes either
		c := &process{waiting: map[int]chan answer{}, broken: make(chan struct{})}
		c.in = eager{c}
		_, err := c.ask(t.Context(), request{Do: workloads.DoAcquire}, 0)
		require.ErrorContains(t, err, "it asked to stop thread 7, which it has not started")
	}
}
