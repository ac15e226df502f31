package nemesis_test

import (
	"context"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/nemesis"
)

// loaded lets two client groups write until the test is over. Its result waits until both have tried ten times more.
func (b bench) loaded() (more func()) {
	ctx, stop := context.WithCancel(b.ctx)
	var writing sync.WaitGroup
	var tried [2]atomic.Int64
	for i, group := range []int{0, 4} {
		writing.Go(func() {
			for pace := time.NewTicker(5 * time.Millisecond); ctx.Err() == nil; <-pace.C {
				_ = b.write(group) // faults make some fail
				tried[i].Add(1)
			}
		})
	}
	b.Cleanup(writing.Wait)
	b.Cleanup(stop)
	return func() {
		first, second := tried[0].Load(), tried[1].Load()
		b.await(func() bool { return tried[0].Load() >= first+10 && tried[1].Load() >= second+10 })
	}
}

// TestAFaultCountsWhatItTouchesOfTheSystem checks that a fault counts the traffic that it has touched, except for what
// the harness sends to see the fault act. Without other traffic the fault is idle.
func TestAFaultCountsWhatItTouchesOfTheSystem(t *testing.T) {
	b := borrow(t, calm)
	more := b.loaded()
	clients, primary, replica := nemesis.Clients(), nemesis.Primary(), nemesis.Named("r2")
	on := func(from, to nemesis.Target, fault harness.LinkFault) harness.Nemesis {
		return nemesis.Degrade(b.Cluster, from, to, fault)
	}
	of := func(fault harness.LinkFault) harness.Nemesis { return on(clients, primary, fault) }
	cut := func(shape nemesis.Shape) harness.Nemesis {
		return nemesis.Partition(b.Cluster, shape, harness.Withhold())
	}
	slow, hold := harness.Latency(5*time.Millisecond, 0), harness.Withhold()
	for _, c := range []struct {
		n    harness.Nemesis
		want string // of what was touched
	}{
		{of(slow), `^touched: g\d>r1 delayed \d+ B, g\d>r1 delayed \d+ B, nothing on g1 -> r1, g2 -> r1, g3 -> r1$`},
		{of(harness.Bandwidth(20_000)), `g0>r1 let through \d+ B`},
		{of(harness.Slice(8, time.Millisecond)), `g0>r1 sliced \d+ B`},
		{of(harness.SlowClose(50 * time.Millisecond)), `g0>r1 lay under \d+ B`},
		{of(harness.LimitData(500)), `g0>r1 ended \d+ connections`},
		{of(hold), `g0>r1 held \d+ B and \d+ new connections`},
		{of(harness.Drop()), `g0>r1 lost \d+ B`},
		{of(harness.DropReplies()), `g0>r1 lost \d+ B`},
		{of(harness.Refuse()), `g0>r1 reset or refused \d+ connections`},
		{cut(nemesis.ClientsFromPrimary()), `^touched: g0>r1 held \d+ B`},
		{on(nemesis.Replicas(), primary, slow),
			`^touched: r\d>r1 delayed \d+ B, r\d>r1 delayed \d+ B, nothing on r1 -> r2, r1 -> r3$`},

		{on(clients, replica, hold), "idle: no traffic of clients on g0 -> r2, g1 -> r2, g2 -> r2 and 2 more links"},
		{on(clients, replica, slow), "idle: no traffic of clients on g0 -> r2"},
		{on(nemesis.Named("g1"), primary, hold), "idle: no traffic of clients on g1 -> r1"},
		{of(harness.LimitData(16 << 20)), "idle: no connection came to 16777216 B on g0 -> r1"},
		{cut(nemesis.OneWay(primary, nemesis.Sentinels())),
			"idle: no traffic of Redis nodes on r1 -> s1, r1 -> s2, r1 -> s3"},
		{on(primary, nemesis.Named("r1"), hold), "idle: no links of primary with r1: they are one host now"},
	} {
		inj := b.inject(c.n)
		more()
		want := regexp.MustCompile(c.want)
		b.await(func() bool { // until both groups have written
			seen, err := inj.Touched()
			if err != nil {
				seen = err.Error()
			}
			return strings.HasPrefix(seen, "idle") == (err != nil) && want.MatchString(seen)
		}, "%s touches something else", c.n.Name())
		b.heal(inj)
	}
}
