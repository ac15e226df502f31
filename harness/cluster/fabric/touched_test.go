package fabric_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

// alicesProber dials on alice's links for the harness.
const alicesProber = "alice's prober"

// TestFaultsCountWhatTheyTouch checks that a fault counts an old connection and a new one, but not the harness's
// probes.
func TestFaultsCountWhatTheyTouch(t *testing.T) {
	for fault, touches := range map[harness.LinkFault]func(now harness.Touched) bool{
		harness.Withhold():                   func(n harness.Touched) bool { return n.Withheld >= 4 && n.Waited == 1 },
		harness.Refuse():                     func(n harness.Touched) bool { return n.Reset == 2 },
		harness.Drop():                       func(n harness.Touched) bool { return n.Passed == 8 },
		harness.DropReplies():                func(n harness.Touched) bool { return n.Passed == 8 },
		harness.Latency(time.Millisecond, 0): func(n harness.Touched) bool { return n.Passed == 16 },
		harness.LimitData(2):                 func(n harness.Touched) bool { return n.Ended == 2 },
	} {
		t.Run(fault.String(), func(t *testing.T) {
			fromBoth(t, func(t *testing.T, w world) {
				w.Prober("alice", w.of(alicesProber))
				l := w.Link("alice", "server")
				old, looking := w.dial(alice), w.dial(alicesProber)
				require.NoError(t, w.echoes(old, "before"))
				require.NoError(t, w.echoes(looking, "before"))
				require.Zero(t, l.Touched(), "there is no fault")
				defer w.add(fault)()
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
				require.Eventually(t, func() bool { return touches(l.Touched()) }, hang, time.Millisecond,
					"%+v", l.Touched())
				require.Zero(t, w.Link("bob", "server").Touched(), "another link")
			})
		})
	}
}
