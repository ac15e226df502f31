package nemesis

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/doublegrant/doublegrant/harness"
)

// Crashable is what SimulateFailure needs of a cluster.
type Crashable interface {
	Watched
	Restartable
}

// Crash is a moment of a failover at which a Sentinel can be made to crash.
type Crash struct{ name, flag string }

// AfterElection returns the moment when a Sentinel has been elected to fail over, and has done nothing yet.
func AfterElection() Crash { return Crash{"after-election", "crash-after-election"} }

// AfterPromotion returns the moment when the Sentinel has seen the new primary promoted, and has told no other host
// yet.
func AfterPromotion() Crash { return Crash{"after-promotion", "crash-after-promotion"} }

// SimulateFailure tells one of the Sentinels to fail over, and to crash in the middle of it (SENTINEL
// SIMULATE-FAILURE). The bite: its process has ended. The heal starts it again.
//
// The consequences were measured with two other Sentinels, which see nothing wrong with the primary. If the Sentinel
// crashes after the election, there are none. If it crashes after the promotion, there are two primaries for about a
// second, until the other Sentinels make the promoted node a replica again. The writes that this node acknowledged are
// lost. The crashed Sentinel has saved the promotion with a newer epoch than the others know. When it comes back, the
// others believe it. Then all follow a replica, see that it is not a primary, and fail over in earnest.
func SimulateFailure(c Crashable, at Crash) harness.Nemesis {
	return fault{"sentinel-crash-" + at.name, harness.MovesPrimary | harness.EndsProcess, sentinelCrash{c, at}.inject}
}

type sentinelCrash struct {
	c  Crashable
	at Crash
}

func (s sentinelCrash) inject(ctx context.Context, rng *rand.Rand) (harness.Injection, error) {
	victim, old, err := chooseSentinel(ctx, s.c, rng)
	if err != nil {
		return harness.Injection{}, err
	}
	inj := harness.Injection{
		Targets: []string{victim},
		Bite:    fmt.Sprintf("%s crashed in its failover from %s", victim, old),
		Heal:    func(ctx context.Context) error { return restartAnew(ctx, s.c, victim) },
	}
	if _, err := s.c.Do(ctx, victim, "SENTINEL", "SIMULATE-FAILURE", s.at.flag); err != nil {
		return inj, err
	}
	if err := beginFailover(ctx, s.c, victim); repliesWith(err, "ERR") {
		return inj, err
	} // any other error may come from the crash, which is faster than the answer now and then
	return inj, pollUntil(ctx, func() error {
		if !s.c.Running(victim) {
			return nil
		}
		// A Sentinel gives its failover up if no replica is good enough by then. Until it does, it refuses another one.
		_, err := s.c.Do(ctx, victim, "SENTINEL", "FAILOVER", s.c.MasterName())
		return fmt.Errorf("%s has not crashed (asked again: %v)", victim, err)
	})
}

// restartAnew starts the node, after ending it if it runs.
func restartAnew(ctx context.Context, c Restartable, node string) error {
	if c.Running(node) {
		if err := c.Terminate(ctx, node); err != nil {
			return err
		}
	}
	return c.Restart(ctx, node)
}
