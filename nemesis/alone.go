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

// hands are the nodes that faults are just about to take down or stop, or bring to it. A node that two faults have chosen
// in the same moment is taken by one after the other, so that the second sees what the first has done.
var hands = struct {
	sync.Mutex
	on map[hand]chan struct{} // closed when it lets go
}{on: map[hand]chan struct{}{}}

// hand is a node in one cluster. Of clusters that cannot be compared, nodes of the same name wait for each other.
type hand struct{ cluster, node any }

// alone does act while no other fault takes any of the hosts, once all of them are fit for it: one death must not be the
// bite of two faults. Nothing has been touched where it returns errUnfit.
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

// errUnfit says that a fault has not begun, since another one has one of its hosts.
var errUnfit = errors.New("nothing is left to break")

// take waits for the node.
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

// up is fit to be ended.
func up(c interface{ Running(node string) bool }) func(node string) error {
	return func(node string) error {
		if !c.Running(node) {
			return fmt.Errorf("%s is down already", node)
		}
		return nil
	}
}

// begun is what Inject returns: without a heal, which would undo the other fault, where nothing has been touched.
func begun(inj harness.Injection, err error) (harness.Injection, error) {
	if errors.Is(err, errUnfit) {
		return harness.Injection{}, err
	}
	return inj, err
}
