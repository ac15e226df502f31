package checkers

import (
	"testing"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/stretchr/testify/require"
)

func TestWrites(t *testing.T) {
	lost, unexpected := harness.LostWrite, harness.UnexpectedWrite
	runCases(t, Writes(), []verdictCase{
		{name: "empty", h: of(), unknown: "no add was recorded"},
		{name: "nothing was read", h: of(add(0, 7, 1, 2)), unknown: "no final read of set was recorded"},
		{name: "the read failed", h: of(add(0, 7, 1, 2), info(read(5, 6, "7"))), unknown: "no final read of set"},
		{name: "somebody else's read", h: of(add(0, 7, 1, 2), asClient(1, read(5, 6, ""))), unknown: "no final read of set"},
		{name: "another set was read", h: of(add(0, 7, 1, 2), on("other", read(5, 6, "7"))), unknown: "no final read of set"},
		{name: "an odd read", h: of(add(0, 7, 1, 2), read(5, 6, "7-x")), unknown: `the final read of set makes no sense: "7-x" is neither an integer nor a range`},
		{name: "an odd write", h: of(withArg("x", add(0, 7, 1, 2)), read(5, 6, "7")), unknown: `client 0 added "x", which is not an integer`},
		{name: "there", h: of(add(0, 7, 1, 2), read(5, 6, "7"))},
		{name: "lost", want: []harness.Class{lost}, h: of(add(0, 7, 1, 2), read(5, 6, ""))},
		{name: "the last read counts", h: of(add(0, 7, 1, 2), read(3, 4, ""), read(5, 6, "7"))},
		{name: "acknowledged while the read was under way", h: of(add(0, 7, 1, 5), read(5, 6, "")), unknown: "1 acknowledged writes to set came after its final read was called"},
		{name: "there although it came after the read", h: of(read(1, 2, "7"), add(0, 7, 3, 4)), unknown: "1 acknowledged writes to set came after"},
		{name: "one lost, one after the read", want: []harness.Class{lost}, h: of(add(0, 7, 1, 2), read(5, 6, ""), add(0, 8, 7, 8))},
		{name: "two sets", want: []harness.Class{lost}, h: of(add(0, 7, 1, 2), on("other", add(0, 8, 3, 4)), read(5, 6, "7"), on("other", read(5, 6, "7")))},
		{name: "unknown, there", h: of(info(add(0, 7, 1, 2)), read(5, 6, "7"))},
		{name: "unknown, not there", h: of(info(add(0, 7, 1, 2)), read(5, 6, ""))},
		{name: "refused, not there", h: of(fail(add(0, 7, 1, 2)), read(5, 6, ""))},
		{name: "refused, there", want: []harness.Class{unexpected}, h: of(fail(add(0, 7, 1, 2)), read(5, 6, "7"))},
		{name: "refused, then not", h: of(fail(add(0, 7, 1, 2)), add(0, 7, 3, 4), read(5, 6, "7"))},
		{name: "refused, there, and nothing about another set", want: []harness.Class{unexpected},
			h: of(fail(add(0, 7, 1, 2)), on("other", add(0, 1, 1, 2)), read(5, 6, "7"))},
		{name: "torn, refused, there", unknown: "1 refused writes that are there", h: torn(add(0, 1, 1, 2), fail(add(1, 2, 1, 3)), read(5, 6, "1-2"))},
		{name: "cut, refused, there", unknown: "1 refused writes that are there", h: cut(add(0, 1, 1, 2), fail(add(1, 2, 1, 3)), read(5, 6, "1-2"))},
		{name: "cut, refused, then not", h: cut(add(0, 2, 1, 2), fail(add(1, 2, 1, 3)), read(5, 6, "2"))},
		{name: "cut, lost", want: []harness.Class{lost}, h: cut(add(0, 1, 1, 2), fail(add(1, 2, 1, 3)), read(5, 6, "2"))},
		{name: "there, and nobody added it", h: of(add(0, 7, 1, 2), read(5, 6, "6-7"))},
		{name: "a run is one", want: []harness.Class{lost}, h: of(add(0, 1, 1, 2), info(add(0, 2, 3, 4)), add(3, 3, 5, 6), read(7, 8, ""))},
		{name: "two runs", want: []harness.Class{lost, lost}, h: of(add(0, 1, 1, 2), add(0, 2, 3, 4), add(0, 3, 5, 6), read(7, 8, "2"))},
		{name: "two workers", want: []harness.Class{lost, lost}, h: of(add(0, 1, 1, 2), add(1, 2, 3, 4), read(7, 8, ""))},
	})
}

func asClient(client int, op harness.Op) harness.Op { op.Client = client; return op }

func withArg(arg string, op harness.Op) harness.Op { op.Arg = arg; return op }

// Workers 0 and 2 are in group 0, which a partition from 1 s to 3 s cuts off; worker 1 is in group 1.
func TestWritesFigures(t *testing.T) {
	at := func(client, value int, s float64) harness.Op {
		return add(client, value, time.Duration(s*1e9), time.Duration(s*1e9))
	}
	h := of(
		at(0, 0, 0.5), at(1, 1, 0.6), // before
		at(0, 2, 1.5), at(1, 3, 1.6), at(2, 4, 2.5), info(at(1, 5, 2.6)), at(0, 6, 2.9), // during
		at(0, 7, 3.5), fail(at(0, 8, 3.6)),
		read(9*time.Second, 9*time.Second, "0,1,3,5,6-7"),
	)
	h.Faults = []harness.Fault{{Name: "partition", Start: 1 * time.Second, Active: 1 * time.Second, Heal: 3 * time.Second, End: 4 * time.Second, Groups: []int{0}}}
	g, found := judge(t, Writes(), h)
	require.Len(t, found, 2, "one run for each worker")
	for name, want := range map[string]float64{
		"added": 7, "lost": 2, "lost percent": 200.0 / 7, "refused": 1, "unknown": 1, "survived unknown": 1,
		"acknowledged by group 0": 5, "lost from group 0": 2, "acknowledged by group 1": 2, "lost from group 1": 0,
		"acknowledged by cut groups during partition": 3, "acknowledged by other groups during partition": 1,
		"lost from cut groups": 2, "lost from other groups": 0,
		"first lost write after fault start": 0.5, "last lost write after fault start": 1.5, "lost per second of fault": 1,
	} {
		require.InDelta(t, want, figureOf(t, g, name), 1e-9, name)
	}
}

// A write acknowledged just before a kill is lost by it, so its anomaly reaches up to the kill.
func TestWritesBeforeAKill(t *testing.T) {
	h := of(add(0, 1, 1, 2), add(0, 2, 3, 4), read(900, 901, "1"))
	h.Faults = []harness.Fault{{Name: "kill", Start: 6, Active: 7, Heal: 20, End: 30}, {Name: "kill", Start: 60, Active: 70, Heal: 80, End: 90}}
	g, found := judge(t, Writes(), h)
	require.Len(t, found, 1)
	require.Equal(t, []time.Duration{3, 6}, []time.Duration{found[0].From, found[0].To})
	require.Equal(t, "worker 0 lost 2, acknowledged at 4ns", found[0].Note)
	require.InDelta(t, -2e-9, figureOf(t, g, "first lost write after fault start"), 1e-12)
}

func TestUpdatesOfWhatLocksGuardAreCountedApart(t *testing.T) {
	resource := harness.Guarded("k")
	g, found := judge(t, Writes(), of(
		add(0, 1, 1, 2), add(1, 2, 1, 2), read(9, 9, "1"), // a rider's
		guarded(0, "a", 1, 1, 2), guarded(1, "b", 2, 3, 4), guarded(2, "c", 3, 5, 6), guarded(0, "d", 4, 7, 8),
		fail(guarded(1, "e", 5, 7, 8)), on(resource, read(9, 9, "1-2,4")),
	))
	require.Len(t, found, 2)
	for name, want := range map[string]float64{
		"added": 6, "lost": 2, "lost percent": 200.0 / 6, "refused": 1,
		"guarded updates": 4, "lost updates": 1, "lost updates percent": 25,
	} {
		require.InDelta(t, want, figureOf(t, g, name), 1e-9, name)
	}
	g, _ = judge(t, Writes(), of(add(0, 1, 1, 2), read(9, 9, "1")))
	require.NotContains(t, g.Figures, figureUpdates.Count(0))
}

func TestWritesRunNote(t *testing.T) {
	_, found := judge(t, Writes(), of(add(0, 1, 1, 2), info(add(0, 2, 3, 4)), add(3, 3, 5, 6), read(7, 8, "")))
	require.Equal(t, "worker 0 lost 2 acknowledged writes in a row, from 1 at 2ns to 3 at 6ns", found[0].Note)
	require.Equal(t, []harness.Op{add(0, 1, 1, 2), add(3, 3, 5, 6)}, found[0].Ops)
}

func TestIntervals(t *testing.T) {
	for _, tc := range []struct {
		s       string
		in, out []int64
	}{
		{"", nil, []int64{0}},
		{"7", []int64{7}, []int64{6, 8}},
		{"0-7,9,12-40", []int64{0, 7, 9, 12, 40}, []int64{-1, 8, 10, 11, 41}},
		{"12-40,9", []int64{9, 12, 40}, []int64{8, 10, 41}},
		{"0-10,2-3", []int64{0, 4, 10}, []int64{11}},
		{"-5,-3--1,-7-8", []int64{-7, -5, -3, 8}, []int64{-8, 9}},
	} {
		got, err := parseIntervals(tc.s)
		require.NoError(t, err, tc.s)
		for _, v := range tc.in {
			require.True(t, got.has(v), "%d in %q", v, tc.s)
		}
		for _, v := range tc.out {
			require.False(t, got.has(v), "%d in %q", v, tc.s)
		}
	}
	for _, s := range []string{",", "1,", "-", "1-", "7-3", "a", "1-2-3", "1 - 2", "--1", "99999999999999999999"} {
		_, err := parseIntervals(s)
		require.Error(t, err, s)
	}
}

// Writes that cannot be read again are not judged, and a record that ends in between shows no unexpected write.
func TestWritesNeedASecondPass(t *testing.T) {
	g, found := judge(t, Writes(), onceOnly(of(add(0, 1, 1, 2), read(7, 8, "1"))))
	require.Empty(t, found)
	require.Equal(t, harness.Unknown, g.Verdict)
	require.Contains(t, g.Reason, "cannot be read again")

	ops := []harness.Op{fail(add(0, 1, 1, 2)), add(1, 1, 1, 3), read(7, 8, "1")}
	for passes := range 3 { // the last one has the first write only
		h, n := of(ops...), 0
		whole := h.Ops
		h.Ops = func(yield func(harness.Op, error) bool) {
			if n++; n <= passes+1 {
				whole(yield)
				return
			}
			harness.OpsOf(ops[:1])(yield)
		}
		g, found = judge(t, Writes(), h)
		require.Empty(t, found)
		require.Equal(t, passes == 2, g.Verdict == harness.Valid, g.Reason)
	}
}

// A run that ends is reported at once, and the others at the end; whatever the order, with all their writes.
func TestWritesOfRunsThatEnd(t *testing.T) {
	_, found := judge(t, Writes(), of(add(0, 1, 1, 2), add(1, 2, 1, 3), add(1, 3, 3, 4), add(1, 4, 5, 6), add(0, 5, 6, 7), read(8, 9, "4")))
	require.Len(t, found, 2)
	require.Equal(t, []harness.Op{add(1, 2, 1, 3), add(1, 3, 3, 4)}, found[0].Ops)
	require.Equal(t, []harness.Op{add(0, 1, 1, 2), add(0, 5, 6, 7)}, found[1].Ops)
}
