package checkers

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

func spansOf(t *testing.T, c harness.Checker, h harness.History) (spans, both []harness.Span) {
	t.Helper()
	var found []harness.Anomaly
	c.Check(t.Context(), h, func(a harness.Anomaly) { found = append(found, a) })
	require.Len(t, found, 1)
	for _, o := range found[0].Overlaps() {
		both = append(both, o.Span)
	}
	return found[0].Spans, both
}

func toLease(client, owner int, from, to time.Duration) harness.Span {
	return harness.Span{Client: client, Owner: owner, From: from, To: to, Until: harness.LeaseEnds}
}

func toRelease(client, owner int, from, to time.Duration) harness.Span {
	return harness.Span{Client: client, Owner: owner, From: from, To: to, Until: harness.OwnRelease}
}

func onAndOn(client, owner int, from time.Duration) harness.Span {
	return harness.Span{Client: client, Owner: owner, From: from, Until: harness.NothingEnds}
}

func TestAnAnomalySaysWhoHeldTheLock(t *testing.T) {
	for _, c := range []struct {
		name string
		h    harness.History
		want []harness.Span
		both []harness.Span
	}{
		{"two leases", of(acquire(0, "a", 1, 2, 10), acquire(1, "b", 3, 4, 20)),
			[]harness.Span{toLease(0, 0, 2, 11), toLease(1, 1, 4, 23)}, []harness.Span{toLease(1, 1, 4, 11)}},
		{"the drift", drifting(0.1, of(acquire(0, "a", 1, 2, 10), acquire(1, "b", 3, 4, 20))),
			[]harness.Span{toLease(0, 0, 2, 10), toLease(1, 1, 4, 21)}, []harness.Span{toLease(1, 1, 4, 10)}},
		{"a promised end", of(promising(7, acquire(0, "a", 1, 2, 10)), acquire(1, "b", 3, 4, 20)),
			[]harness.Span{toLease(0, 0, 2, 7), toLease(1, 1, 4, 23)}, []harness.Span{toLease(1, 1, 4, 7)}},
		{"a release", of(acquire(0, "a", 1, 2, 10), acquire(1, "b", 3, 4, 20), release(0, "a", 6, 7)),
			[]harness.Span{toRelease(0, 0, 2, 6), toLease(1, 1, 4, 23)}, []harness.Span{toRelease(1, 1, 4, 6)}},
		{"the second one's release comes first", of(acquire(0, "a", 1, 2, 100), acquire(1, "b", 3, 4, 100), release(1, "b", 6, 7), release(0, "a", 9, 10)),
			[]harness.Span{toRelease(0, 0, 2, 9), toRelease(1, 1, 4, 6)}, []harness.Span{toRelease(1, 1, 4, 6)}},
		{"no TTL", of(acquire(0, "a", 1, 2, 0), acquire(1, "b", 3, 4, 0)),
			[]harness.Span{onAndOn(0, 0, 2), onAndOn(1, 1, 4)}, []harness.Span{onAndOn(1, 1, 4)}},
		{"no TTL, and a release", of(acquire(0, "a", 1, 2, 0), acquire(1, "b", 3, 4, 20), release(0, "a", 30, 31)),
			[]harness.Span{toRelease(0, 0, 2, 30), toLease(1, 1, 4, 23)}, []harness.Span{toLease(1, 1, 4, 23)}},
		{"an extended hold", of(acquire(0, "a", 1, 2, 10), extend(0, "a", 3, 4, 20), acquire(1, "b", 15, 16, 20)),
			[]harness.Span{toLease(0, 0, 4, 23), toLease(1, 1, 16, 35)}, []harness.Span{toLease(1, 1, 16, 23)}},
		{"a hold that was extended while the other was granted", of(acquire(0, "a", 1, 2, 10), acquire(1, "b", 2, 5, 10), extend(0, "a", 4, 9, 20)),
			[]harness.Span{toLease(0, 0, 2, 11), toLease(1, 1, 5, 12)}, []harness.Span{toLease(1, 1, 5, 11)}},
		{"a release under a new client id", of(acquire(0, "a", 1, 2, 30), info(extend(0, "a", 3, 4, 30)), acquire(1, "b", 5, 6, 20), release(3, "a", 8, 9)),
			[]harness.Span{toRelease(0, 0, 2, 8), toLease(1, 1, 6, 25)}, []harness.Span{toRelease(1, 1, 6, 8)}},
		{"the second one's answer after its own lease", of(acquire(0, "a", 1, 5, 30), acquire(1, "b", 6, 20, 10)),
			[]harness.Span{toLease(0, 0, 5, 31)}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			spans, both := spansOf(t, Mutex(), c.h)
			require.Equal(t, c.want, spans)
			require.Equal(t, c.both, both)
		})
	}
}

func TestAStolenReleaseShowsTheThiefsHold(t *testing.T) {
	h := of(acquire(0, "a", 1, 2, 10), acquire(1, "b", 20, 21, 100), release(0, "a", 22, 23), acquire(2, "c", 24, 25, 100), release(1, "b", 30, 31))
	spans, both := spansOf(t, Mutex(), h)
	require.Equal(t, []harness.Span{toRelease(1, 0, 21, 30), toLease(2, 1, 25, 124), toLease(0, 2, 2, 11)}, spans)
	require.Equal(t, []harness.Span{toRelease(2, 1, 25, 30)}, both)
}

func TestADuplicateShowsBothMarks(t *testing.T) {
	spans, both := spansOf(t, Dedup(), of(claim(0, 1, 2, 10), claim(1, 3, 4, 0)))
	require.Equal(t, []harness.Span{toLease(0, 0, 2, 11), onAndOn(1, 1, 4)}, spans)
	require.Equal(t, []harness.Span{toLease(1, 1, 4, 11)}, both)
}
