package checkers

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/testenv"
)

// space is the set of all histories of at most ops operations, by at most three workers, with whole numbers up to end
// as times.
type space struct {
	property string
	can      []harness.Op // possible operations
	read     []harness.Op // reads that the harness may do after these, at end or the instant before; nil: none
	ops      int
	end      time.Duration
	deep     bool
}

var spaces = []space{
	{property: "mutex", can: lockDeeds[:7], ops: 3, end: 2},
	{property: "mutex", can: lockDeeds, ops: 3, end: 3, deep: true},
	{property: "mutex", can: lockDeeds[:5], ops: 4, end: 2, deep: true},
	{property: "dedup, confirmed", can: filterDeeds, ops: 3, end: 2},
	{property: "dedup, confirmed", can: filterDeeds, ops: 3, end: 3, deep: true},
	{property: "dedup", can: filterDeeds[:4], ops: 4, end: 2, deep: true},
	{property: "sequence", can: counterDeeds, ops: 3, end: 2},
	{property: "sequence", can: counterDeeds[1:], ops: 4, end: 2, deep: true},
	{property: "writes", can: setDeeds, read: reads, ops: 2, end: 2},
	{property: "writes", can: setDeeds, read: reads, ops: 3, end: 3, deep: true},
}

// The possible operations of the spaces, without clients and times. A space takes all of a list, or only the first
// ones.
var (
	lockDeeds = []harness.Op{
		// 5
		acquire(0, "", 0, 0, 0), acquire(0, "", 0, 0, 2), release(0, "", 0, 0), info(release(0, "", 0, 0)),
		extend(0, "", 0, 0, 1),
		info(extend(0, "", 0, 0, 1)), fail(acquire(0, "", 0, 0, 1)), // 7
		acquire(0, "", 0, 0, 1), info(acquire(0, "", 0, 0, 1)), extend(0, "", 0, 0, 2), fail(release(0, "", 0, 0)),
	}
	filterDeeds = []harness.Op{
		claim(0, 0, 0, 0), claim(0, 0, 0, 1), claim(0, 0, 0, 2), info(claim(0, 0, 0, 1)), // 4
		confirm(0, 0, 0, 1), confirm(0, 0, 0, 3), info(confirm(0, 0, 0, 3)), seen(claim(0, 0, 0, 2)),
	}
	counterDeeds = []harness.Op{next(0, 0, 0, "8"), next(0, 0, 0, "9"), next(0, 0, 0, "10"), next(0, 0, 0, "11"),
		info(next(0, 0, 0, ""))}
	setDeeds = []harness.Op{add(0, 0, 0, 0), info(add(0, 0, 0, 0)), fail(add(0, 0, 0, 0))}
	reads    = []harness.Op{
		read(0, 0, ""), read(0, 0, "0"), read(0, 0, "1"), read(0, 0, "0,1"), read(0, 0, "0,1,2"), info(read(0, 0, "0")),
	}
)

// On every tiny history a checker, porcupine, and brute force that tries every instant agree.
func TestEveryTinyHistory(t *testing.T) {
	for _, s := range spaces {
		t.Run(fmt.Sprintf("%s/%d operations in %d instants", s.property, s.ops, s.end+1), func(t *testing.T) {
			if s.deep && !testenv.Deep() {
				t.Skip("make verify-checkers")
			}
			t.Parallel()
			sum := s.judge(t)
			t.Logf("%8d tiny histories, all of %d operations at most in %d instants, %8d violated, all as brute force "+
				"says; porcupine agreed on %d of %d",
				sum.histories, s.ops, s.end+1, sum.violated, sum.agreed, sum.asked)
			require.Greater(t, sum.violated, sum.histories/40)
		})
	}
}

// judge judges every history of the space in three ways.
func (s space) judge(t *testing.T) (sum score) {
	p := propertyOf(s.property)
	s.extend(nil, func(ops []harness.Op) {
		h := of()
		h.Meta.Workers, h.Ops = 3, harness.OpsOf(ops)
		one := history{ops, h}
		explained := p.explained(one, true)
		g, _ := judge(t, p.checker, h)
		if explained == (g.Verdict == harness.Invalid) {
			require.FailNow(t, "brute force differs", "explained: %v; %s: %v, on\n%s", explained, p.checker.Name(), g,
				one)
		}
		require.NoError(t, p.ask(one, &sum, func([]harness.Op) bool { return explained }))
		sum.histories++
		if !explained {
			sum.violated++
		}
	})
	return sum
}

// extend calls f for every history of the space that begins with ops. Histories that differ only in the names of
// workers come once.
func (s space) extend(ops []harness.Op, f func(ops []harness.Op)) {
	if len(ops) > 0 {
		s.finish(ops, f)
	}
	if len(ops) == s.ops {
		return
	}
	last, free, ids := s.present(ops)
	for worker := range free {
		for ret := last; ret <= s.end; ret++ {
			for call := free[worker]; call <= ret; call++ {
				for _, x := range s.can {
					x.Client, x.Key, x.Call, x.Return = ids[worker], "k", call, ret
					if x.Kind == harness.Add {
						x.Arg = fmt.Sprint(len(ops))
					}
					s.extend(append(slices.Clip(ops), x), f)
				}
			}
		}
	}
}

// present returns the last Return of ops. It also returns, for each worker that may act next, its id and the time from
// which it is free.
func (s space) present(ops []harness.Op) (last time.Duration, free []time.Duration, ids []int) {
	free, ids = []time.Duration{0}, []int{0}
	for _, x := range ops {
		w := x.Client % 3
		last, free[w] = x.Return, x.Return
		if x.Outcome == harness.Info {
			ids[w] += 3
		}
		if w == len(free)-1 && w < 2 {
			free, ids = append(free, 0), append(ids, w+1)
		}
	}
	return last, free, ids
}

// finish calls f for ops, followed by each of the harness's reads if there are any.
func (s space) finish(ops []harness.Op, f func(ops []harness.Op)) {
	if s.read == nil {
		f(ops)
	}
	for _, x := range s.read {
		for call := range s.end + 2 {
			x.Client, x.Key, x.Call, x.Return = harness.HarnessClient, "k", call, s.end+1
			f(append(slices.Clip(ops), x))
		}
	}
}
