package checkers

import (
	"testing"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/stretchr/testify/require"
)

func TestWrites(t *testing.T) {
	lost := harness.LostWrite
	runCases(t, Writes(), []verdictCase{
		{name: "empty", h: of(), unknown: "no add was recorded"},
		{name: "nothing was read", h: of(add(0, 7, 1, 2)), unknown: "no final read of set was recorded"},
		{name: "somebody else's read", h: of(add(0, 7, 1, 2), asClient(1, read(5, 6, ""))),
			unknown: "no final read of set"},
		{name: "an odd read", h: of(add(0, 7, 1, 2), read(5, 6, "7-x")),
			unknown: `the final read of set makes no sense: "7-x" is neither an integer nor a range`},
		{name: "an odd write", h: of(withArg("x", add(0, 7, 1, 2)), read(5, 6, "7")),
			unknown: `client 0 added "x", which is not an integer`},
		{name: "there", h: of(add(0, 7, 1, 2), read(5, 6, "7"))},
		{name: "lost", want: []harness.Class{lost}, h: of(add(0, 7, 1, 2), read(5, 6, ""))},
		{name: "the last read counts", h: of(add(0, 7, 1, 2), read(3, 4, ""), read(5, 6, "7"))},
		{name: "acknowledged while the read was under way", h: of(add(0, 7, 1, 5), read(5, 6, "")),
			unknown: "1 acknowledged writes to set came after its final read was called"},
		{name: "two sets", want: []harness.Class{lost},
			h: of(add(0, 7, 1, 2), on("other", add(0, 8, 3, 4)), read(5, 6, "7"), on("other", read(5, 6, "7")))},
		{name: "refused, then not", h: of(fail(add(0, 7, 1, 2)), add(0, 7, 3, 4), read(5, 6, "7"))},
		{name: "torn, refused, there", unknown: "1 refused writes that are there",
			h: torn(add(0, 1, 1, 2), fail(add(1, 2, 1, 3)), read(5, 6, "1-2"))},
		{name: "there, and nobody added it", h: of(add(0, 7, 1, 2), read(5, 6, "6-7"))},
	})
}

func asClient(client int, op harness.Op) harness.Op { op.Client = client; return op }

func withArg(arg string, op harness.Op) harness.Op { op.Arg = arg; return op }

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

// Writes are not judged if the history cannot be read a second time. A third pass is needed only if a refused write may
// be unexpected.
func TestWritesNeedASecondPass(t *testing.T) {
	refused := fail(add(0, 1, 1, 2))
	h := func() harness.History { return of(refused, add(1, 1, 1, 3), read(7, 8, "1")) }
	runCases(t, Writes(), []verdictCase{
		{name: "read once", unknown: "cannot be read again", h: onceOnly(of(add(0, 1, 1, 2), read(7, 8, "1")))},
		{name: "the second pass has the first write only", unknown: "cannot be read again",
			h: readable(h(), 1, refused)},
		{name: "the third pass has the first write only", unknown: "cannot be read again",
			h: readable(h(), 2, refused)},
		{name: "the fourth has", h: readable(h(), 3, refused)},
		{name: "nothing is unexpected, and read twice", h: readable(of(add(0, 1, 1, 2), read(90, 91, "1")), 2)},
	})
}

// Findings at the end come in the order of the history.
func TestWritesOrder(t *testing.T) {
	const clients = 12
	var ops []harness.Op
	for i := range clients {
		at := time.Duration(2*i + 1)
		ops = append(ops, on("lost", add(i, 100+i, at, at+1)), on("unexpected", fail(add(i, 200+i, at, at+1))))
	}
	h := of(append(ops, on("lost", read(90, 91, "")), on("unexpected", read(90, 91, "200-299")))...)
	h.Meta.Workers = clients
	_, found := judge(t, Writes(), h)
	require.Len(t, found, 2*clients)
	for i, a := range found {
		require.Equal(t, i%clients, a.Ops[0].Client, "%v", a)
	}
}

// LostWrites lists exactly the writes that the checker counts as lost.
func TestLostWritesAreThoseOfTheChecker(t *testing.T) {
	h := of(add(0, 1, 1, 2), add(1, 2, 2, 3), info(add(2, 3, 3, 4)), fail(add(0, 4, 5, 6)), add(0, 5, 6, 7),
		on("unread", add(0, 6, 7, 8)), add(1, 8, 8, 9), read(9, 10, "1"), add(0, 7, 9, 11))
	lost, err := LostWrites(t.Context(), h)
	require.NoError(t, err)
	require.Equal(t, []harness.Op{add(1, 2, 2, 3), add(0, 5, 6, 7)}, lost)
	_, found := judge(t, Writes(), h)
	require.Equal(t, len(lost), countsOf(found)[harness.LostWrite])
}

// Writes are counted by fault, from its start to its heal, and by the side of a partition.
func TestWritesByFault(t *testing.T) {
	kill := harness.Fault{Name: "kill", Start: 10, Heal: 20, End: 21}
	cut := harness.Fault{Name: "cut", Start: 10, Heal: 30, End: 31, Groups: []int{1}}
	h := of(add(0, 1, 1, 9), add(0, 2, 9, 10), add(1, 3, 11, 20), add(0, 4, 21, 30), add(0, 5, 30, 31),
		read(40, 41, "1,3"))
	h.Faults = []harness.Fault{kill, cut}
	g, _ := judge(t, Writes(), h)
	for m, want := range map[harness.Metric]float64{
		figureCutAdded: 1, figureCutLost: 0, figureOthersAdded: 2, figureOthersLost: 2,
		figureLostRate: 2 / (30e-9), figureFirstLost: 0, figureLastLost: 21e-9,
	} {
		require.InEpsilon(t, want+1, figureOf(t, g, m.Name)+1, 1e-9, m.Name)
	}
	h.Faults = append(h.Faults, harness.Fault{Name: "never healed", Start: 15})
	g, _ = judge(t, Writes(), h)
	require.InEpsilon(t, 3/(30e-9), figureOf(t, g, figureLostRate.Name), 1e-9)
	g, _ = judge(t, Writes(), of(fail(add(0, 1, 1, 2)), read(3, 4, "")))
	for _, f := range g.Figures {
		require.NotContains(t, f.Name, "percent", "no write was acknowledged")
	}
}
