package workloads

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
)

// This file lets the regimes take turns on a generator that knows one sequence only: proposed together, the numbers of one
// regime would hide what those of another do to it.

// sequenceTurn is the length of a regime's turn: a run of a second has them all.
const sequenceTurn = 150 * time.Millisecond

// sequenceTurns holds the sequence whose turn it is. A client locks it for reading to draw, and for writing to end a turn.
type sequenceTurns struct {
	sync.RWMutex
	n     int // turns so far
	until time.Duration
	now   sequenceOf
}

// inTurn draws a number of the sequence whose turn it is.
func (c *sequenceClient) inTurn(ctx context.Context, s *harness.Session) {
	t := &c.load.turns
	c.nextTurn(ctx, s.Now())
	t.RLock()
	defer t.RUnlock()
	c.draw(ctx, s, t.now)
}

// nextTurn begins the next turn, with an empty store and a name of its own, if the present one is over. If the store cannot
// be emptied the old turn goes on.
func (c *sequenceClient) nextTurn(ctx context.Context, now time.Duration) {
	t := &c.load.turns
	if t.RLock(); t.n > 0 && now < t.until {
		t.RUnlock()
		return
	}
	t.RUnlock()
	t.Lock()
	defer t.Unlock()
	if t.n > 0 && (now < t.until || !emptyStore(ctx, c.redis)) {
		return
	}
	regimes := Regimes()
	r, round := regimes[t.n%len(regimes)], 1+t.n/len(regimes)
	t.now = sequenceOf{c.load.opts.Prefix + "seq-" + string(r), r.generator()}
	if round > 1 {
		t.now.key = fmt.Sprintf("%sseq-%s-%d", c.load.opts.Prefix, r, round)
	}
	t.n, t.until = t.n+1, now+sequenceTurn
}

// emptyStore empties the store and reports whether that worked. Numbers that were drawn before may come again after it.
func emptyStore(ctx context.Context, r redis.UniversalClient) bool {
	return r.FlushAll(ctx).Err() == nil
}
