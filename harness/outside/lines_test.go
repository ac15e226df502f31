package outside

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// slowWriter writes a piece when it is let.
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

// Lines that come while another is written do not wait for that, and are written in one piece.
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
