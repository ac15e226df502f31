package explore

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/doublegrant/doublegrant/harness/cluster"
)

// This file sets the time of day that servers show. It stands still until the schedule lets time pass.

// midnight is the instant shortly before which every schedule begins. It is round in seconds, minutes, hours and days, so that
// an algorithm that counts time in such pieces meets the end of one.
var midnight = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// untilMidnight is the time from epoch to midnight. A schedule begins half a millisecond after epoch: see start.
const untilMidnight = 3 * time.Millisecond

// epoch is the time of day, on the clocks of servers and clients, at which virtual time is 0.
var epoch = midnight.Add(-untilMidnight)

// grain is the unit in which Redis counts time: a key that ends at t is still there at t, and gone a millisecond later.
const grain = time.Millisecond

// fixTime stops the servers' clocks. If they cannot be set, w.unset says why, and the explorer's own commands end leases
// instead.
func (w *world) fixTime(ctx context.Context) (err error) {
	if w.unset != "" {
		return nil
	}
	w.fixed, err = w.cluster.FixClocks(ctx, epoch)
	if errors.Is(err, cluster.ErrClock) {
		w.unset, err = err.Error(), nil
		return nil
	}
	if err != nil {
		return err
	}
	for i := range w.names { // keys expire when they are read only, and a jump of the clock breaks no replication link
		for _, args := range [][]string{{"DEBUG", "SET-ACTIVE-EXPIRE", "0"}, {"CONFIG", "SET", "repl-timeout", "2000000000"}} {
			if _, err := w.ask(i, args...); err != nil {
				return err
			}
		}
	}
	return nil
}

// setTime moves the servers' clocks to an instant of the schedule. Clocks that cannot be set go on by themselves.
func (w *world) setTime(now time.Duration) {
	if w.fixed != nil {
		w.fixed.Set(epoch.Add(now))
	}
}

// passTo lets time pass from one instant of the schedule to another.
func (w *world) passTo(from, to time.Duration) error {
	if w.fixed != nil {
		w.setTime(to)
		return nil
	}
	if w.hold != nil {
		w.unheard += to - from
	}
	return w.age(to - from)
}

// age brings the end of every key nearer by d.
func (w *world) age(d time.Duration) error {
	_, err := w.ask(w.primary, "EVAL", agedBy, "0", strconv.FormatInt(d.Milliseconds(), 10))
	return err
}

const agedBy = `for _, k in ipairs(redis.call('keys', '*')) do
  local left = redis.call('pttl', k) - tonumber(ARGV[1])
  if redis.call('pttl', k) >= 0 then
    if left > 0 then redis.call('pexpire', k, left) else redis.call('pexpireat', k, 1) end
  end
end
return 1`

// ending is a key that ends by itself.
type ending struct {
	key string
	at  time.Duration // last virtual time at which the key is there
}

// keysWithEnd returns a script that lists the keys with a TTL, each after its end as the given command tells it, in ms.
func keysWithEnd(command string) string {
	return `local out = {}
for _, k in ipairs(redis.call('keys', '*')) do
  local at = redis.call('` + command + `', k)
  if at >= 0 then out[#out + 1] = at; out[#out + 1] = k end
end
return out`
}

var (
	endsByClock = keysWithEnd("pexpiretime")
	endsFromNow = keysWithEnd("pttl")
)

// endings lists the keys that end by themselves, in the order of their ends. Where clocks cannot be set, the time to the end
// is rounded up to a multiple of unit.
func (w *world) endings(now, unit time.Duration) ([]ending, error) {
	script := endsByClock
	if w.fixed == nil {
		script = endsFromNow
	}
	reply, err := w.ask(w.primary, "EVAL", script, "0")
	if err != nil {
		return nil, err
	}
	header, at := line(reply)
	n, err := count(header)
	if err != nil {
		return nil, err
	}
	out := make([]ending, 0, n/2)
	for range n / 2 {
		ms, err := integer(reply[at:])
		if err != nil {
			return nil, err
		}
		_, size := line(reply[at:])
		key, keySize, err := bulk(reply[at+size:])
		if err != nil {
			return nil, err
		}
		at += size + keySize
		out = append(out, ending{string(key), w.instant(ms, now, unit)})
	}
	slices.SortFunc(out, func(a, b ending) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.key, b.key)) })
	return out, nil
}

// instant returns the virtual time at which a key ends. ms is what Redis says: time of day if clocks are set, else the TTL.
func (w *world) instant(ms int64, now, unit time.Duration) time.Duration {
	if w.fixed != nil {
		return time.UnixMilli(ms).Sub(epoch)
	}
	return now.Truncate(grain) + roundUp(time.Duration(ms)*time.Millisecond, unit)
}

func roundUp(d, unit time.Duration) time.Duration { return (d + unit - 1) / unit * unit }

// countAll counts the keys that are there. If there are none, it removes what is left of keys that have expired.
const countAll = `local n = #redis.call('keys', '*')
if n == 0 then redis.call('flushdb') end
return n`

// count returns the number of keys that are there. If there are none, the store is as it was in the beginning.
func (w *world) count() (int, error) {
	reply, err := w.ask(w.primary, "EVAL", countAll, "0")
	if err != nil {
		return 0, err
	}
	n, err := integer(reply)
	w.clean = err == nil && n == 0
	return int(n), err
}
