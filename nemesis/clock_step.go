package nemesis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// Clocked is what ClockStep needs of a cluster.
type Clocked interface {
	Restartable
	// SetClock sets a node's clock ahead of the true time, or behind it where offset is negative.
	SetClock(node string, offset time.Duration) error
}

const (
	shortestStep   = time.Second     // too long to be mistaken for the delay of an answer
	sentinelNotice = 3 * time.Second // a Sentinel mistakes shorter steps for its own slowness
)

// ClockStep sets the clocks of nodes ahead by offset, a second or more, or back if offset is negative. A bad time
// server or an operator does the same. Redis expires keys by this clock. If it jumps ahead, leases end early; if it
// jumps back, they last longer. A node that jumps ahead may also take its replication links for dead and make new ones.
// The bite: TIME shows the step. The heal sets the clock right.
//
// Inject returns an error for a clock that is wrong already, and leaves that clock alone.
//
// A Sentinel has no TIME command. Its bite is TILT: for two seconds after a step of three seconds or more, a Sentinel
// does nothing. The heal also starts the Sentinel again. Otherwise, after a step back, it would send no PING until its
// clock reaches the time of its last PING.
func ClockStep(c Clocked, t Target, offset time.Duration) harness.Nemesis {
	name := "clock-step-forward-"
	if offset < 0 {
		name = "clock-step-backward-"
	}
	return ofNodes(name+t.String(), harness.ShiftsClock, c, t, clockStep{c, offset}.strike)
}

type clockStep struct {
	c  Clocked
	by time.Duration
}

func (s clockStep) strike(ctx context.Context, chosen targets) (harness.Injection, error) {
	if s.by.Abs() < shortestStep {
		return harness.Injection{}, fmt.Errorf("a clock step of %v is too short to be seen: ask for %v or more", s.by,
			shortestStep)
	}
	if s.by.Abs() < sentinelNotice && slices.ContainsFunc(chosen.nodes, s.isSentinel) {
		return harness.Injection{}, fmt.Errorf("a Sentinel does not notice a clock step of %v: ask for %v or more",
			s.by, sentinelNotice)
	}
	if err := chosen.each(func(node string) error { return s.checkRight(ctx, node) }); err != nil {
		return harness.Injection{}, err
	}
	inj := harness.Injection{
		Targets: chosen.nodes,
		Heal:    func(ctx context.Context) error { return s.heal(ctx, chosen) },
	}
	if err := chosen.each(func(node string) error { return s.c.SetClock(node, s.by) }); err != nil {
		return inj, err
	}
	inj.Bite = fmt.Sprintf("the clock of %v is off by %v", chosen, s.by)
	return inj, chosen.each(func(node string) error {
		if s.isSentinel(node) {
			return s.awaitTilt(ctx, node)
		}
		return s.checkOff(ctx, node)
	})
}

func (s clockStep) isSentinel(node string) bool { return slices.Contains(s.c.Sentinels(), node) }

// heal sets all clocks right, and then starts the Sentinels again, so that they begin with a right clock.
func (s clockStep) heal(ctx context.Context, chosen targets) error {
	set := chosen.eachAtOnce(func(node string) error { return s.c.SetClock(node, 0) })
	return errors.Join(set, chosen.eachAtOnce(func(node string) error {
		if s.isSentinel(node) {
			return restartAnew(ctx, s.c, node)
		}
		return nil
	}))
}

// checkRight returns an error if the node's clock is wrong already: the heal of this step would undo the earlier step
// too.
func (s clockStep) checkRight(ctx context.Context, node string) error {
	wrong, err := s.clockError(ctx, node)
	if err == nil && wrong.Abs() > shortestStep/2 {
		err = fmt.Errorf("%s's clock is off by %v already, and it takes one step at a time: let that heal first", node,
			wrong)
	}
	return err
}

// awaitTilt waits until the Sentinel has noticed that its clock jumped.
func (s clockStep) awaitTilt(ctx context.Context, node string) error {
	return pollUntil(ctx, func() error {
		tilt, err := infoField(ctx, s.c, node, "sentinel", "sentinel_tilt")
		if err == nil && tilt != "1" {
			err = fmt.Errorf("%s is not in TILT after a clock step", node)
		}
		return err
	})
}

// checkOff checks that the node's clock is wrong by the step.
func (s clockStep) checkOff(ctx context.Context, node string) error {
	wrong, err := s.clockError(ctx, node)
	if err == nil && (wrong-s.by).Abs() > shortestStep/2 {
		err = fmt.Errorf("%s's clock is off by %v, not by %v", node, wrong, s.by)
	}
	return err
}

// clockError returns how far the node's clock is ahead of this machine's. It is negative if the clock is behind.
func (s clockStep) clockError(ctx context.Context, node string) (time.Duration, error) {
	began := time.Now()
	its, err := s.nodeTime(ctx, node)
	if err != nil {
		return 0, fmt.Errorf("%s's clock cannot be read: %w", node, err)
	}
	ours := began.Add(time.Since(began) / 2)
	return its.Sub(ours), nil
}

// nodeTime reads the node's clock. A Sentinel has no TIME command, so its clock is read from INFO.
func (s clockStep) nodeTime(ctx context.Context, node string) (time.Time, error) {
	if !s.isSentinel(node) {
		reply, err := s.c.Do(ctx, node, "TIME")
		if err != nil {
			return time.Time{}, err
		}
		return redisTime(reply)
	}
	field, err := infoField(ctx, s.c, node, "server", "server_time_usec")
	if err != nil {
		return time.Time{}, err
	}
	micros, err := strconv.ParseInt(field, 10, 64)
	return time.UnixMicro(micros), err
}

// redisTime parses the reply to TIME: seconds and microseconds.
func redisTime(reply any) (time.Time, error) {
	parts, ok := reply.([]any)
	if !ok || len(parts) != 2 {
		return time.Time{}, fmt.Errorf("TIME answered %v", reply)
	}
	seconds, err1 := strconv.ParseInt(fmt.Sprint(parts[0]), 10, 64)
	micros, err2 := strconv.ParseInt(fmt.Sprint(parts[1]), 10, 64)
	return time.Unix(seconds, micros*int64(time.Microsecond)), errors.Join(err1, err2)
}
