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

// hands holds the nodes that a fault is about to stop. Two faults that have chosen the same node take it one after the other,
// so that the second sees what the first has done.
var hands = struct {
	sync.Mutex
	on map[hand]chan struct{} // closed when the fault lets go of the node
}{on: map[hand]chan struct{}{}}

// hand names a node of one cluster. cluster is nil where clusters cannot be compared: then nodes of the same name in several
// clusters wait for each other.
type hand struct{ cluster, node any }

// alone does act to every host, if all of them are fit for it, while no other fault takes any of them: one death must not be the
// bite of two faults. If it returns errUnfit, nothing has been touched.
func (a aimed) alone(ctx context.Context, c any, fit, act func(node string) error) error {
	if !reflect.ValueOf(c).Comparable() {
		c = nil
	}
	for _, node := range slices.Sorted(slices.Values(a.hosts)) { // in one order, so that nobody waits in a circle
		letGo, err := take(ctx, hand{c, node})
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

// errUnfit says that a fault has not begun: another fault has one of its hosts, or had it before.
var errUnfit = errors.New("nothing is left to break")

// take waits until no other fault has the node, and takes it until letGo is called.
func take(ctx context.Context, h hand) (letGo func(), err error) {
	for {
		hands.Lock()
		busy, taken := hands.on[h]
		if !taken {
			mine := make(chan struct{})
			hands.on[h] = mine
			hands.Unlock()
			return func() {
				hands.Lock()
				defer hands.Unlock()
				delete(hands.on, h)
				close(mine)
			}, nil
		}
		hands.Unlock()
		select {
		case <-busy:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// up returns the check that a node runs, so that it can be ended.
func up(c interface{ Running(node string) bool }) func(node string) error {
	return func(node string) error {
		if !c.Running(node) {
			return fmt.Errorf("%s is down already", node)
		}
		return nil
	}
}

// begun returns Inject's results. Where nothing has been touched it leaves the heal out, which would undo the other fault.
func begun(inj harness.Injection, err error) (harness.Injection, error) {
	if errors.Is(err, errUnfit) {
		return harness.Injection{}, err
	}
	return inj, err
}
