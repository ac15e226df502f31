package checkers

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// holdUntil returns a hold of the lock k under that token for which nothing waits.
func holdUntil(token string, until time.Duration) *hold {
	return &hold{sight: sight{op: acquire(0, token, 0, 1, until)}, until: until, latest: -1}
}

func TestPossessionsKeepTheLatestHold(t *testing.T) {
	var w possessions
	set := func(h *hold) { w.set(lockTokenOf(h.op), h) }
	one, other, again := holdUntil("a", 5), holdUntil("b", 5), holdUntil("a", 9)
	set(one)
	set(other)
	set(again)
	require.Same(t, again, w.last(lockToken{"k", "a"}))
	require.Same(t, other, w.last(lockToken{"k", "b"}))
	require.Len(t, w.all(), 2)
	w.set(lockToken{"k", "a"}, nil)
	require.Nil(t, w.last(lockToken{"k", "a"}))
	w.set(lockToken{"k", "a"}, nil)
	require.Equal(t, []*hold{other}, w.all())
}

// What is over and waited for by nothing is dropped, before locks that are held are looked up in a map and then.
func TestPossessionsDropWhatIsOver(t *testing.T) {
	var w possessions
	token := func(i int) lockToken { return lockToken{"k", strconv.Itoa(i)} }
	fill := func(from, n int, until time.Duration) {
		for i := from; i < from+n; i++ {
			w.set(token(i), holdUntil(strconv.Itoa(i), until))
		}
	}
	fill(0, 4*fewHeld, 5)
	fill(4*fewHeld, 2*fewHeld, 100)
	w.last(token(0)).latest = 0 // an overlap waits for it
	w.last(token(1)).before = holdUntil("1", 3)
	w.last(token(2)).op.Return = 20
	w.sweep(10)
	for i := range 6 * fewHeld {
		require.Equal(t, i < 3 || i >= 4*fewHeld, w.last(token(i)) != nil, i)
	}
	require.Len(t, w.many, 2*fewHeld+3)
	fill(0, 6*fewHeld, 100)
	fill(6*fewHeld, 6*fewHeld, 5)
	w.sweep(10)
	require.Len(t, w.many, 6*fewHeld)
	w.set(token(0), nil)
	require.Nil(t, w.last(token(0)))
}
