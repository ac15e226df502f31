package nemesis

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/doublegrant/doublegrant/harness"
)

// claims holds the nodes that faults are about to stop. If two faults have chosen the same node, the second waits for
// the first, and then sees what the first has done to the node.
var claims sync.Map // nodeClaim -> chan struct{}, which is closed when the fault releases the node

// nodeClaim identifies a node of one cluster. The field cluster is nil if the cluster's type cannot be compared. In
// that case nodes of the same name in several clusters wait for each other.
type nodeClaim struct{ cluster, node any }

// breakExclusively claims the nodes, so that no other fault breaks them meanwhile. It calls the function check for each
// of them and, if all checks pass, the function act for each. Without the claims, two faults could both take the death
// of one node for their own work. The parameter c is the cluster.
//
// breakExclusively returns the injection and the first error of act. If it never called act, it returns an empty
// Injection and errNotBegun: a heal would undo another fault.
func (chosen targets) breakExclusively(
	ctx context.Context, c any, inj harness.Injection, check, act func(node string) error,
) (harness.Injection, error) {
	if !reflect.ValueOf(c).Comparable() {
		c = nil
	}
	// The order is the same for all faults, so that no two wait for each other.
	for _, node := range slices.Sorted(slices.Values(chosen.nodes)) {
		release, err := claimNode(ctx, nodeClaim{c, node})
		if err != nil {
			return harness.Injection{}, fmt.Errorf("%w: %s: another fault is about to take it: %w", errNotBegun, node,
				err)
		}
		defer release()
	}
	if err := chosen.each(check); err != nil {
		return harness.Injection{}, fmt.Errorf("%w: %w", errNotBegun, err)
	}
	return inj, chosen.each(act)
}

// errNotBegun says that a fault has touched nothing, because another fault has broken one of its nodes or is about to.
var errNotBegun = errors.New("nothing is left to break")

// claimNode waits until no other fault has the node, and claims it until release is called.
func claimNode(ctx context.Context, h nodeClaim) (release func(), err error) {
	mine := make(chan struct{})
	for {
		busy, taken := claims.LoadOrStore(h, mine)
		if !taken {
			return func() {
				claims.Delete(h)
				close(mine)
			}, nil
		}
		select {
		case <-busy.(chan struct{}):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// checkRunning returns a check that a node runs. A fault cannot end a node that is down already.
func checkRunning(c interface{ Running(node string) bool }) func(node string) error {
	return func(node string) error {
		if !c.Running(node) {
			return fmt.Errorf("%s is down already", node)
		}
		return nil
	}
}
