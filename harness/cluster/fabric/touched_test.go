package fabric_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/cluster/fabric"
)

// alicesProber dials on alice's links for the harness.
const alicesProber = "alice's prober"

// TestFaultsCountWhatTheyTouch: an old connection and a new one are counted, and the harness's own looks are not.
func TestFaultsCountWhatTheyTouch(t *testing.T) {
	for name, c := range map[string]struct {
		begin   func(w world, l *fabric.Link) (heal func())
		touches func(now harness.Touched) bool
	}{
		"hold":    {func(_ world, l *fabric.Link) func() { return l.Withhold() }, func(n harness.Touched) bool { return n.Withheld >= 4 && n.Waited == 1 }},
		"refuse":  {func(_ world, l *fabric.Link) func() { return l.Refuse() }, func(n harness.Touched) bool { return n.Reset == 2 }},
		"drop":    {func(w world, _ *fabric.Link) func() { return w.add(harness.Drop()) }, func(n harness.Touched) bool { return n.Passed == 8 }},
		"replies": {func(w world, _ *fabric.Link) func() { return w.add(harness.DropReplies()) }, func(n harness.Touched) bool { return n.Passed == 8 }},
		"latency": {func(w world, _ *fabric.Link) func() { return w.add(harness.Latency(time.Millisecond, 0)) }, func(n harness.Touched) bool { return n.Passed == 16 }},
		"limit":   {func(w world, _ *fabric.Link) func() { return w.add(harness.LimitData(2)) }, func(n harness.Touched) bool { return n.Ended == 2 }},
	} {
		t.Run(name, func(t *testing.T) {
			fromBoth(t, func(t *testing.T, w world) {
				w.Prober("alice", w.of(alicesProber))
				l := w.Link("alice", "server")
				old, looking := w.dial(alice), w.dial(alicesProber)
				require.NoError(t, w.echoes(old, "before"))
				require.NoError(t, w.echoes(looking, "before"))
				require.Zero(t, l.Touched(), "there is no fault")
				heal := c.begin(w, l)
				defer heal()
				_, _ = looking.Write([]byte("probe")) // these may fail: that is the fault
				if again, err := w.tryDial(alicesProber); err == nil {
					defer again.Close()
					_, _ = again.Write([]byte("probe"))
				}
				_, _ = old.Write([]byte("four"))
				if fresh, err := w.tryDial(alice); err == nil {
					defer fresh.Close()
					_, _ = fresh.Write([]byte("four"))
				}
				require.Eventually(t, func() bool { return c.touches(l.Touched()) }, hang, time.Millisecond,
					"%+v", l.Touched())
				require.Zero(t, w.Link("bob", "server").Touched(), "another link")
			})
		})
	}
}
