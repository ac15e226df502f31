package plan

import (
	"fmt"

	"github.com/doublegrant/doublegrant/checkers"
	"github.com/doublegrant/doublegrant/workloads"
)

// OnlyCover returns a remark if some behaviour cannot be searched, so that only a load covers it. It is empty if there
// is no such behaviour, or if the load is thorough.
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
