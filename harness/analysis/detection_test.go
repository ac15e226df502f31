package analysis

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
	"github.com/doublegrant/doublegrant/harness/analysis/analysistest"
)

// TestWhatSentinelsMissedBeforeIsNotTheStart has a false alarm 7 s before the primary is lost.
func TestWhatSentinelsMissedBeforeIsNotTheStart(t *testing.T) {
	const primary = "master mymaster " + at1
	says := func(at time.Duration, node, kind string) harness.Event { return event(at, node, kind, primary) }
	alarm := []harness.Event{
		says(3*sec, "s1", string(Suspect)), says(3010*ms, "s2", string(Suspect)), says(3050*ms, "s1", string(Agreed)),
	}
	ended := event(3100*ms, "s1", harness.EventSubscriptionLost, "EOF")
	for _, c := range []struct {
		name string
		more []harness.Event
	}{
		{"it passed", []harness.Event{says(3100*ms, "s1", "-sdown"), says(3200*ms, "s2", "-sdown")}},
		{"one ended, and the other's passed", []harness.Event{ended, says(3200*ms, "s2", "-sdown")}},
		{"one ended, and the other alone is no quorum", []harness.Event{ended}},
		{"a quorum passed", []harness.Event{says(3200*ms, "s2", "-sdown"), says(3210*ms, "s1", "-odown")}},
	} {
		h := analysistest.OneKill()
		h.Events = append(append(h.Events, alarm...), c.more...)
		f := Failovers(h)[0]
		require.Equal(t, []any{"kill-primary", 10 * sec}, []any{f.Name, f.Start}, c.name)
		require.Equal(t, 11043*ms, takeovers(actsOf(h.Events))[0].detection().missed, c.name)
	}
}
