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

// claims holds the nodes that a fault is about to stop. Two faults that have chosen the same node take it one after the other,
// so that the second sees what the first has done.
var claims = struct {
	sync.Mutex
	on map[nodeClaim]chan struct{} // closed when the fault lets go of the node
}{on: map[nodeClaim]chan struct{}{}}

// nodeClaim names a node of one cluster. cluster is nil where clusters cannot be compared: then nodes of the same name in several
// clusters wait for each other.
type nodeClaim struct{ cluster, node any }

// eachExclusively keeps other faults away from the hosts, calls fit for each of them and, if all are fit, act for each. Without
// that, one death could be the bite of two faults. If the error is errUnfit, nothing has been touched.
func (a targets) eachExclusively(ctx context.Context, c any, fit, act func(node string) error) error {
	if !reflect.ValueOf(c).Comparable() {
		c = nil
	}
	for _, node := range slices.Sorted(slices.Values(a.hosts)) { // in one order, so that nobody waits in a circle
		letGo, err := claimNode(ctx, nodeClaim{c, node})
		if err != nil {
			return fmt.Errorf("%w: %s: another fault is about to take it: %w", errUnfit, node, err)
		}
		defer letGo()
	}
	if err := a.each(fit); err != nil {
		return fmt.Errorf("%w: %w", errUnfit, err)
	}
	return a.each(act)
}

// errUnfit says that a fault has not begun, since another fault is about to take one of its hosts, or has taken it already.
var errUnfit = errors.New("nothing is left to break")

// claimNode waits until no other fault has the node, and takes it until letGo is called.
func claimNode(ctx context.Context, h nodeClaim) (letGo func(), err error) {
	for {
		claims.Lock()
		busy, taken := claims.on[h]
		if !taken {
			mine := make(chan struct{})
			claims.on[h] = mine
			claims.Unlock()
			return func() {
				claims.Lock()
				defer claims.Unlock()
				delete(claims.on, h)
				close(mine)
			}, nil
		}
		claims.Unlock()
		select {
		case <-busy:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// checkRunning returns the check that a node runs, so that it can be ended.
func checkRunning(c interface{ Running(node string) bool }) func(node string) error {
	return func(node string) error {
		if !c.Running(node) {
			return fmt.Errorf("%s is down already", node)
		}
		return nil
	}
}

// withoutHealIfUnfit returns Inject's results. If nothing has been touched it leaves the heal out, which would undo the other
// fault.
func withoutHealIfUnfit(inj harness.Injection, err error) (harness.Injection, error) {
	if errors.Is(err, errUnfit) {
		return harness.Injection{}, err
	}
	return inj, err
}
