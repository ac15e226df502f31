package workloads

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/doublegrant/doublegrant/harness"
)

// This file lets the regimes take turns on a generator that knows only one sequence. Proposed together, the numbers of
// one regime would hide the effects of another.

// sequenceTurn is the length of a regime's turn. It is so short that every regime has a turn in a run of one second.
const sequenceTurn = 150 * time.Millisecond

// sequenceTurns holds the sequence whose turn it is. Clients hold the read lock while they draw, so that no turn ends
// meanwhile, and the write lock to end a turn.
type sequenceTurns struct {
	sync.RWMutex
	count   int // number of turns so far
	endsAt  time.Duration
	current sequenceOf
}

// drawFromTurn draws a number of the sequence whose turn it is.
func (c *sequenceClient) drawFromTurn(ctx context.Context, s *harness.Session) {
	t := &c.load.turns
	c.nextTurn(ctx, s.Now())
	t.RLock()
	defer t.RUnlock()
	c.draw(ctx, s, t.current)
}

// nextTurn begins the next turn if the current one is over. The next turn has an empty store and a new name. If the
// store cannot be emptied, the current turn goes on.
func (c *sequenceClient) nextTurn(ctx context.Context, now time.Duration) {
	t := &c.load.turns
	if t.RLock(); t.count > 0 && now < t.endsAt {
		t.RUnlock()
		return
	}
	t.RUnlock()
	t.Lock()
	defer t.Unlock()
	if t.count > 0 && (now < t.endsAt || !emptyStore(ctx, c.redis)) {
		return
	}
	regimes := Regimes()
	r, round := regimes[t.count%len(regimes)], 1+t.count/len(regimes)
	t.current = sequenceOf{c.load.opts.Prefix + "seq-" + string(r), r.generator()}
	if round > 1 {
		t.current.key = fmt.Sprintf("%sseq-%s-%d", c.load.opts.Prefix, r, round)
	}
	t.count, t.endsAt = t.count+1, now+sequenceTurn
}

// emptyStore empties the store and reports whether that worked. Numbers that were drawn before may be drawn again
// afterwards.
func emptyStore(ctx context.Context, r redis.UniversalClient) bool {
	return r.FlushAll(ctx).Err() == nil
}
