package checkers

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// holdUntil returns a hold of the lock k under that token. It cannot be part of a violation.
func holdUntil(token string, until time.Duration) *hold {
	return &hold{indexedOp: indexedOp{op: acquire(0, token, 0, 1, until)}, until: until, lastExcluded: -1}
}

func TestPossessionsKeepTheLatestHold(t *testing.T) {
	var w workerHolds
	set := func(h *hold) { w.set(lockTokenOf(h.op), h) }
	one, other, again := holdUntil("a", 5), holdUntil("b", 5), holdUntil("a", 9)
	set(one)
	set(other)
	set(again)
	require.Same(t, again, w.latest[lockToken{"k", "a"}])
	require.Same(t, other, w.latest[lockToken{"k", "b"}])
	require.Len(t, w.all(), 2)
	w.set(lockToken{"k", "a"}, nil)
	require.Nil(t, w.latest[lockToken{"k", "a"}])
	w.set(lockToken{"k", "a"}, nil)
	require.Equal(t, []*hold{other}, w.all())
}

// Holds that have ended are dropped, except those that may still be part of a violation.
func TestPossessionsDropWhatIsOver(t *testing.T) {
	const few = 8
	var w workerHolds
	token := func(i int) lockToken { return lockToken{"k", strconv.Itoa(i)} }
	fill := func(from, n int, until time.Duration) {
		for i := from; i < from+n; i++ {
			w.set(token(i), holdUntil(strconv.Itoa(i), until))
		}
	}
	fill(0, 4*few, 5)
	fill(4*few, 2*few, 100)
	w.latest[token(0)].lastExcluded = 0 // an overlap awaits it
	w.latest[token(1)].previous = holdUntil("1", 3)
	w.latest[token(2)].op.Return = 20
	w.sweep(10)
	for i := range 6 * few {
		require.Equal(t, i < 3 || i >= 4*few, w.latest[token(i)] != nil, i)
	}
	require.Len(t, w.latest, 2*few+3)
	fill(0, 6*few, 100)
	fill(6*few, 6*few, 5)
	w.sweep(10)
	require.Len(t, w.latest, 6*few)
	w.set(token(0), nil)
	require.Nil(t, w.latest[token(0)])
}
