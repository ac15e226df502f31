package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/doublegrant/doublegrant/harness"
)

// The class of a violation is only certain once all faults are recorded, so none is announced before.
func TestAViolationIsAnnouncedOnceAndWithoutItsClass(t *testing.T) {
	var text strings.Builder
	p := &progress{w: newScreen(&text)}
	p.found(harness.Anomaly{Class: harness.StolenRelease, Note: "client 2 was granted lock-1, while client 1 held it; " +
		"client 3 may have removed it by a release"}, 5*time.Second)
	p.found(harness.Anomaly{Class: harness.DoubleGrant, Note: "another"}, 6*time.Second)
	require.Equal(t, "     5s  the first violation: client 2 was granted lock-1, while client 1 held it\n", text.String())
}
