package results

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/explore"
)

// shell makes a pool whose workers are shell scripts.
func shell(t *testing.T, script string) *workers {
	t.Helper()
	p, err := newWorkers(race, Options{Worker: []string{"/bin/sh", "-c", script}})
	require.NoError(t, err)
	p.mute = 300 * time.Millisecond
	t.Cleanup(p.close)
	return p
}

const ready = `read -r of; echo '{"ready":true}'; read -r piece; `

func TestALostWorkerIsToldFromAPieceThatFails(t *testing.T) {
	for want, script := range map[string]string{
		"ended (exit status 7): no more memory": "echo no more memory >&2; exit 7",
		"ended (exit status 8)":                 ready + "exit 8",
		"signal: killed":                        ready + "kill -9 $$",
		"said nothing for 300ms":                ready + "exec sleep 60",
		"nothing for 300ms":                     "exec sleep 60",
		"writes no more":                        ready + "exec >&-; exec sleep 60",
		"ended (exit status 0)":                 ready + "echo nonsense",
	} {
		_, err := shell(t, script).run(t.Context(), explore.Piece{})
		require.ErrorIs(t, err, explore.ErrWorker, want)
		require.ErrorContains(t, err, want)
	}
	_, err := shell(t, ready+`echo '{"failed":"no Redis"}'`).run(t.Context(), explore.Piece{})
	require.EqualError(t, err, "no Redis")
	require.NotErrorIs(t, err, explore.ErrWorker)
}

func TestAWorkerThatSaysThatItLivesMayTakeItsTime(t *testing.T) {
	p := shell(t, ready+`for i in 1 2 3 4 5 6 7 8; do sleep 0.1; echo '{"alive":true}'; done; echo '{"result":{"piece":"x"}}'; read -r next`)
	res, err := p.run(t.Context(), explore.Piece{})
	require.NoError(t, err)
	require.Equal(t, "x", res.Piece)
	require.Len(t, p.idle, 1, "it is used again")
}

func TestAPieceThatIsNotWantedAnyMoreEndsItsWorker(t *testing.T) {
	p := shell(t, ready+"exec sleep 60")
	p.mute = time.Minute
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := p.run(ctx, explore.Piece{})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Empty(t, p.all)
}

func TestAWorkerWithoutASearchSaysWhoStartsIt(t *testing.T) {
	err := Work(t.Context(), &emptyReader{}, &emptyReader{})
	require.ErrorContains(t, err, "doublegrant starts its workers itself")
}

type emptyReader struct{}

func (*emptyReader) Read([]byte) (int, error)    { return 0, fmt.Errorf("it is empty") }
func (*emptyReader) Write(p []byte) (int, error) { return len(p), nil }
