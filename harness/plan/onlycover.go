package plan

import (
	"fmt"

	"github.com/doublegrant/doublegrant/checkers"
	"github.com/doublegrant/doublegrant/workloads"
)

// OnlyCover returns a remark if the load is not thorough although some behaviour cannot be searched, so that only this
// load covers it. Otherwise it returns "".
func (r Resolved) OnlyCover() string {
	what := ""
	switch {
	case r.Thorough:
	case r.variant.Masters > 0:
		what = "a lock on several masters, since the explorer has one"
	case r.Adapter != nil && r.Adapter.Clock == workloads.RealClock:
		what = "what happens as time passes, since the adapter reads the machine's clock"
	}
	if what == "" {
		return ""
	}
	return fmt.Sprintf("no search can cover %s, so only this load does. --thorough continues until each situation "+
		"has occurred %d times",
		what, checkers.QuotaCount)
}
