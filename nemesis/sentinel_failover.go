package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/doublegrant/doublegrant/harness"
)

// Watched is what SentinelFailover needs of a cluster.
type Watched interface {
	nodes
	// MasterName returns the name by which Sentinels know the primary.
	MasterName() string
}

// SentinelFailover tells one of the Sentinels to fail over although nothing is wrong (SENTINEL FAILOVER), as an
// operator does. This Sentinel asks no other. What the old primary acknowledges between the promotion and its own
// demotion is lost. The bite: the Sentinel agrees. The proof: another node is promoted. A Sentinel that gives its
// failover up, as on a busy machine, is asked again. There is nothing to heal.
func SentinelFailover(c Watched) harness.Nemesis {
	return fault{"sentinel-failover", harness.MovesPrimary, sentinelFailover{c}.inject}
}

type sentinelFailover struct{ c Watched }

func (f sentinelFailover) inject(ctx context.Context, rng *rand.Rand) (harness.Injection, error) {
	s, old, err := chooseSentinel(ctx, f.c, rng)
	if err != nil {
		return harness.Injection{}, err
	}
	address, _, err := f.primaryOf(ctx, s)
	if err != nil {
		return harness.Injection{}, err
	}
	return harness.Injection{
		Targets: []string{s},
		Bite:    fmt.Sprintf("%s began a failover from %s", s, old),
		Prove: func(ctx context.Context) (string, error) {
			asking, stop := context.WithCancel(ctx)
			var asks sync.WaitGroup
			asks.Go(func() { f.askAgain(asking, s, address) })
			defer asks.Wait()
			defer stop()
			return awaitPromoted(ctx, f.c, old)
		},
		Heal: nothingToHeal,
	}, beginFailover(ctx, f.c, s)
}

// askAgain asks the Sentinel for a failover each time that the Sentinel has given one up, until ctx ends. The parameter
// address is the old primary's. A failover that has succeeded is not repeated: while it is under way the Sentinel says
// so, and after it the Sentinel names another address.
func (f sentinelFailover) askAgain(ctx context.Context, sentinel, address string) {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if now, underWay, err := f.primaryOf(ctx, sentinel); err == nil && !underWay && now == address {
			// A refusal is followed by another request.
			_, _ = f.c.Do(ctx, sentinel, "SENTINEL", "FAILOVER", f.c.MasterName())
		}
	}
}

// primaryOf returns the address that the Sentinel takes for the primary's, and whether a failover is under way.
func (f sentinelFailover) primaryOf(ctx context.Context, sentinel string) (address string, underWay bool, err error) {
	reply, err := f.c.Do(ctx, sentinel, "SENTINEL", "MASTER", f.c.MasterName())
	if err != nil {
		return "", false, err
	}
	words, _ := reply.([]any)
	fields := map[string]string{}
	for i := 0; i+1 < len(words); i += 2 {
		fields[fmt.Sprint(words[i])] = fmt.Sprint(words[i+1])
	}
	if fields["ip"] == "" || fields["flags"] == "" {
		return "", false, fmt.Errorf("%s answers SENTINEL MASTER with %v", sentinel, reply)
	}
	return fields["ip"] + ":" + fields["port"], strings.Contains(fields["flags"], "failover"), nil
}

// beginFailover sends SENTINEL FAILOVER, and repeats it while another failover is under way or no replica is good
// enough.
func beginFailover(ctx context.Context, c Watched, sentinel string) error {
	return poll(ctx, func() (again bool, err error) {
		_, err = c.Do(ctx, sentinel, "SENTINEL", "FAILOVER", c.MasterName())
		return err != nil && (repliesWith(err, "INPROG") || repliesWith(err, "NOGOODSLAVE")), err
	})
}

// repliesWith reports whether an error in err's chain is a reply of Redis that begins with the given code.
func repliesWith(err error, code string) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if strings.HasPrefix(err.Error(), code+" ") {
			return true
		}
	}
	return false
}
