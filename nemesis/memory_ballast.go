package nemesis

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	ballastKey    = "doublegrant:ballast"
	ballastPieces = 64        // largest number of pieces at a time
	ballastSize   = 512 << 10 // size of a piece in bytes
	// ballastRoom is the number of pieces of ballast for which the memory limit leaves room. The node's other data may
	// grow by the size of these pieces between two adjustments of the limit.
	ballastRoom   = ballastPieces / 2
	ballastEvery  = 20 * time.Millisecond // how often a piece is added
	ballastTTL    = 30 * time.Second      // TTL of a piece, so that none stays if the harness dies
	ballastPolicy = "volatile-random"
)

// ballastScript adds a piece of ballast. It returns the number of pieces, and the memory in use that counts for
// eviction. KEYS: the common prefix of the pieces' keys. ARGV: largest number of pieces, size of a piece, TTL in
// milliseconds. Nothing is replicated.
const ballastScript = `
redis.set_repl(redis.REPL_NONE)
local there, free = 0, nil
for i = 1, tonumber(ARGV[1]) do
  local key = KEYS[1] .. ':' .. i
  if redis.call('EXISTS', key) == 1 then there = there + 1 else free = key end
end
if free then
  redis.call('SETRANGE', free, ARGV[2] - 64, 'x')
  redis.call('PEXPIRE', free, ARGV[3])
  there = there + 1
end
local memory = redis.call('INFO', 'memory')
return {there, memory:match('used_memory:(%d+)') - memory:match('mem_not_counted_for_evict:(%d+)')}`

// removeScript removes what ballastScript has added.
const removeScript = `
redis.set_repl(redis.REPL_NONE)
for i = 1, tonumber(ARGV[1]) do redis.call('DEL', KEYS[1] .. ':' .. i) end
return 0`

// memoryBallast keeps a node short of memory.
type memoryBallast struct {
	c      MemoryLimited
	node   string
	was    map[string]string // the node's settings before the ballast
	before int64             // number of keys that the node had evicted before the ballast
	stop   context.CancelFunc
	adding sync.WaitGroup
}

// memorySettings lists the settings that ballast changes.
var memorySettings = []string{"maxmemory", "maxmemory-policy"}

// newBallast begins to fill the node's memory. It returns an error if another ballast is at work on the node. Otherwise
// the heal of the second ballast could restore the settings of the first.
func newBallast(ctx context.Context, c MemoryLimited, node string) (b *memoryBallast, err error) {
	b = &memoryBallast{c: c, node: node}
	if b.was, err = b.settings(ctx); err != nil {
		return nil, err
	}
	if b.before, err = b.evicted(ctx); err != nil {
		return nil, err
	}
	// If two begin at the same moment, the number of pieces after the first one tells one of them.
	there, _, err := b.addPiece(ctx)
	if err != nil {
		return nil, err
	}
	if there > 1 || b.was["maxmemory"] != "0" && b.was["maxmemory-policy"] == ballastPolicy {
		return nil, fmt.Errorf("%s is under memory pressure already: let that heal first", node)
	}
	ctx, b.stop = context.WithCancel(context.WithoutCancel(ctx))
	b.adding.Go(func() { b.keepAdding(ctx) })
	return b, nil
}

// keepAdding adds pieces of ballast until ctx ends.
func (b *memoryBallast) keepAdding(ctx context.Context) {
	tick := time.NewTicker(ballastEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		_ = b.add(ctx) // this fault, or another, may cause an error now and then; only evictions count
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// add adds a piece of ballast, and sets the memory limit so that half of all pieces fit beside the node's other data.
// The other data may grow and shrink, and the limit follows its size. So all pieces together never fit.
func (b *memoryBallast) add(ctx context.Context) error {
	there, used, err := b.addPiece(ctx)
	if err != nil {
		return err
	}
	limit := used - there*ballastSize + ballastRoom*ballastSize
	_, err = b.c.Do(ctx, b.node, "CONFIG", "SET", "maxmemory", limit, "maxmemory-policy", ballastPolicy)
	return err
}

func (b *memoryBallast) addPiece(ctx context.Context) (there, used int64, err error) {
	reply, err := b.c.Do(ctx, b.node, "EVAL", ballastScript, 1, b.key(), ballastPieces, ballastSize,
		ballastTTL.Milliseconds())
	if err != nil {
		return 0, 0, err
	}
	if numbers, ok := reply.([]any); ok && len(numbers) == 2 {
		there, ok1 := numbers[0].(int64)
		used, ok2 := numbers[1].(int64)
		if ok1 && ok2 {
			return there, used, nil
		}
	}
	return 0, 0, fmt.Errorf("%s answered %v to ballast", b.node, reply)
}

// key returns the common prefix of the pieces' keys. The prefix has the node's name, since a replica may have copied
// the pieces of another node.
func (b *memoryBallast) key() string { return ballastKey + ":" + b.node }

// settings reads the values of memorySettings.
func (b *memoryBallast) settings(ctx context.Context) (map[string]string, error) {
	now := map[string]string{}
	for _, name := range memorySettings {
		reply, err := b.c.Do(ctx, b.node, "CONFIG", "GET", name)
		if err != nil {
			return nil, fmt.Errorf("%s does not tell its %s: %w", b.node, name, err)
		}
		pair, ok := reply.([]any)
		if !ok || len(pair) != 2 {
			return nil, fmt.Errorf("%s does not tell its %s, but %v", b.node, name, reply)
		}
		now[name] = fmt.Sprint(pair[1])
	}
	return now, nil
}

// evicted returns how many keys the node has evicted since it was started.
func (b *memoryBallast) evicted(ctx context.Context) (int64, error) {
	field, err := infoField(ctx, b.c, b.node, "stats", "evicted_keys")
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(field, 10, 64)
}

// awaitEvictions waits until the node has evicted keys.
func (b *memoryBallast) awaitEvictions(ctx context.Context) error {
	return pollUntil(ctx, func() error {
		now, err := b.evicted(ctx)
		if err == nil && now <= b.before {
			b.before = now // less than before: another process, which counts anew
			err = fmt.Errorf("%s evicts nothing", b.node)
		}
		return err
	})
}

// remove ends the memory pressure. It restores the settings, in the node's configuration file too, and removes the
// pieces.
//
// Sentinels may have made the node write the changed settings to that file. So, if another fault has ended the node,
// remove waits until the node is back, perhaps with these settings.
func (b *memoryBallast) remove(ctx context.Context) error {
	b.stop()
	b.adding.Wait()
	return pollUntil(ctx, func() error {
		if err := b.restore(ctx); err != nil {
			return err
		}
		if _, err := b.c.Do(ctx, b.node, "CONFIG", "REWRITE"); err != nil {
			return err
		}
		_, err := b.c.Do(ctx, b.node, "EVAL", removeScript, 1, b.key(), ballastPieces)
		if err != nil && strings.Contains(err.Error(), "READONLY") {
			return nil // it became a replica meanwhile: its keys, ballast included, were replaced
		}
		return err
	})
}

// restore restores the settings, and checks that they stay. If the node was paused or asleep, a command of add may
// still wait in the node's socket, and change the settings again after restore.
func (b *memoryBallast) restore(ctx context.Context) error {
	set := []any{"CONFIG", "SET"}
	for _, name := range memorySettings {
		set = append(set, name, b.was[name])
	}
	if _, err := b.c.Do(ctx, b.node, set...); err != nil {
		return err
	}
	for range 3 { // what waited beside ours is executed in the same moment, or the next
		now, err := b.settings(ctx)
		if err != nil {
			return err
		}
		if !maps.Equal(now, b.was) {
			return fmt.Errorf("%s has changed its settings again, from %v to %v", b.node, b.was, now)
		}
	}
	return nil
}
