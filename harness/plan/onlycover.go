package plan

import (
	"fmt"

	"github.com/doublegrant/doublegrant/checkers"
	"github.com/doublegrant/doublegrant/workloads"
)

// OnlyCover says, in a remark for readers, what nothing but a load looks at, since no search can, where the load goes on for a time rather
// than until it has met everything. It is empty if there is nothing.
func (r Resolved) OnlyCover() string {
	what := ""
	switch {
	case r.Thorough:
	case r.variant.Masters > 0:
		what = "a lock on several masters, since the explorer has one"
	case r.Client != nil && r.Client.Clock == workloads.RealClock:
		what = "what happens as time passes, since the program reads the machine's clock"
	}
	if what == "" {
		return ""
	}
	return fmt.Sprintf("no search can look at %s: this load is all that does. --thorough goes on until each situation has occurred %d times",
		what, checkers.QuotaCount)
}
