package results

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness/explore"
)

// shell makes a pool whose workers are shell scripts, and count as lost after such a silence.
func shell(t *testing.T, mute time.Duration, script string) *workers {
	t.Helper()
	p, err := newWorkers(race, Options{Worker: []string{"/bin/sh", "-c", script}})
	require.NoError(t, err)
	p.mute = mute
	t.Cleanup(p.close)
	return p
}

const ready = `read -r of; echo '{"ready":true}'; read -r piece; `

func TestALostWorkerIsToldFromAPieceThatFails(t *testing.T) {
	for want, script := range map[string]string{
		"ended (exit status 7): no more memory": "echo no more memory >&2; exit 7",
		"ended (exit status 8)":                 ready + "exit 8",
		"signal: killed":                        ready + "kill -9 $$",
		"said nothing for 300ms":                "exec sleep 600",
		"writes no more":                        ready + "exec >&-; exec sleep 600",
		"ended (exit status 0)":                 ready + "echo nonsense",
	} {
		mute := muteAfter
		if strings.HasPrefix(want, "said nothing") {
			mute = 300 * time.Millisecond
		}
		_, err := shell(t, mute, script).run(t.Context(), explore.Piece{})
		require.ErrorIs(t, err, explore.ErrWorker, want)
		require.ErrorContains(t, err, want)
	}
	_, err := shell(t, muteAfter, ready+`echo '{"failed":"no Redis"}'`).run(t.Context(), explore.Piece{})
	require.EqualError(t, err, "no Redis")
	require.NotErrorIs(t, err, explore.ErrWorker)
}

// A worker writes its last signs of life more than muteAfter after its first.
func TestAWorkerThatSaysThatItLivesMayTakeItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &worker{lines: make(chan report), ended: make(chan struct{})}
		go func() {
			for range 8 {
				time.Sleep(aliveEvery * 10) // of virtual time
				w.lines <- report{Alive: true}
			}
			w.lines <- report{Result: &explore.PieceResult{Piece: "x"}}
		}()
		began := time.Now()
		r, err := w.hear(t.Context(), muteAfter, func(r report) bool { return r.Result != nil })
		require.NoError(t, err)
		require.Equal(t, "x", r.Result.Piece)
		require.Greater(t, time.Since(began), muteAfter)
	})
}

func TestAWorkerIsUsedAgain(t *testing.T) {
	p := shell(t, muteAfter, ready+`echo '{"alive":true}'; echo '{"result":{"piece":"x"}}'; read -r next`)
	res, err := p.run(t.Context(), explore.Piece{})
	require.NoError(t, err)
	require.Equal(t, "x", res.Piece)
	require.Len(t, p.idle, 1)
}

func TestAPieceThatIsNotWantedAnyMoreEndsItsWorker(t *testing.T) {
	p := shell(t, muteAfter, ready+"exec sleep 600")
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := p.run(ctx, explore.Piece{})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Empty(t, p.all)
}
