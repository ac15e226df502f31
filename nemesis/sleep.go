package nemesis

import (
	"context"
	"fmt"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// DebugSleeper is what Sleep needs of a cluster.
type DebugSleeper interface {
	nodes
	probed
	Running(node string) bool
}

// shortestSleep is longer than a probe waits for its answer.
const shortestSleep = 500 * time.Millisecond

// Sleep makes Redis nodes execute nothing for the time d, at least half a second, as a slow command does (DEBUG SLEEP).
// The sleep begins before the bite, and nothing can wake the node. The node answers again after d. If the fault is in
// force for the time d, that is a moment before the heal. The node then executes what was sent during the sleep,
// including commands of clients that have given up. Even a primary that was replaced meanwhile does so, until it learns
// of its successor. Sentinels replace a primary that sleeps for longer than their patience.
//
// The bite: a PING gets no answer. If no probe saw the node asleep, because the machine was busy, the node is sent to
// sleep again. The heal waits for the end of the sleep.
func Sleep(c DebugSleeper, t Target, d time.Duration) harness.Nemesis {
	return ofRedisNodes("sleep-"+t.String(), harness.StopsProcess, c, t, nodeSleep{c, d}.strike)
}

type nodeSleep struct {
	c DebugSleeper
	d time.Duration
}

func (s nodeSleep) strike(ctx context.Context, chosen targets) (harness.Injection, error) {
	if s.d < shortestSleep {
		return harness.Injection{}, fmt.Errorf("a sleep of %v is too short to be seen: ask for %v or more", s.d,
			shortestSleep)
	}
	inj := harness.Injection{
		Targets: chosen.nodes,
		Bite:    fmt.Sprintf("%v asleep for %v, no answer to PING", chosen, s.d),
		Heal: func(ctx context.Context) error {
			return chosen.eachAtOnce(func(node string) error { return s.awaitAwake(ctx, node) })
		},
	}
	// All at once: otherwise the first would wake before the last sleeps.
	return inj, chosen.eachAtOnce(func(node string) error { return s.sleep(ctx, node) })
}

// sleep sends the node to sleep, again and again until a probe has seen it asleep. On a busy machine the first probe
// may come too late.
func (s nodeSleep) sleep(ctx context.Context, node string) error {
	return poll(ctx, func() (again bool, err error) {
		if err := awaitReachable(ctx, s.c, node); err != nil {
			return false, err
		}
		return s.sleepOnce(ctx, node)
	})
}

// sleepOnce lets the node sleep once. It returns true if the node slept and no probe saw it asleep.
func (s nodeSleep) sleepOnce(ctx context.Context, node string) (again bool, err error) {
	over := make(chan error, 1)
	go func() { // the reply comes late, or never: an admin client waits for it for a second
		_, err := s.c.Do(context.WithoutCancel(ctx), node, "DEBUG", "SLEEP", s.d.Seconds())
		over <- err
	}()
	err = poll(ctx, func() (bool, error) {
		silent := s.c.Probe(ctx, s.c.ClientGroups()[0], node) != nil
		select {
		case reply := <-over:
			if slept := reply == nil || isTimeout(reply); !slept || !silent {
				again = slept
				return false, fmt.Errorf("%s was not seen to sleep for %v: its reply was %v", node, s.d, reply)
			}
		default:
		}
		if !silent {
			return true, fmt.Errorf("%s was not seen to sleep for %v: it still answers", node, s.d)
		}
		return false, nil
	})
	return again, err
}

// awaitAwake waits until the node answers or its process has ended.
func (s nodeSleep) awaitAwake(ctx context.Context, node string) error {
	return pollUntil(ctx, func() error {
		if !s.c.Running(node) {
			return nil
		}
		_, err := s.c.Do(ctx, node, "PING")
		return err
	})
}
