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
func (w *world) fixTime(ctx context.Context) error {
	if w.whyNoClock != "" {
		return nil
	}
	for _, c := range w.clusters() {
		clock, err := c.FixClocks(ctx, epoch)
		if errors.Is(err, cluster.ErrClock) && w.fixed == nil {
			w.whyNoClock = err.Error()
			return nil
		}
		if err != nil {
			return err
		}
		w.fixed = append(w.fixed, clock)
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
	for _, clock := range w.fixed {
		clock.Set(epoch.Add(now))
	}
}

// passTime lets time pass from one instant of the schedule to another.
func (w *world) passTime(from, to time.Duration) error {
	if w.fixed != nil {
		w.setTime(to)
		return nil
	}
	if w.resumeReplication != nil {
		w.unheard += to - from
	}
	return w.ageKeys(to - from)
}

// ageKeys brings the end of every key nearer by d.
func (w *world) ageKeys(d time.Duration) error {
	_, err := w.ask(w.primary, "EVAL", ageScript, "0", strconv.FormatInt(d.Milliseconds(), 10))
	return err
}

const ageScript = `for _, k in ipairs(redis.call('keys', '*')) do
  local left = redis.call('pttl', k) - tonumber(ARGV[1])
  if redis.call('pttl', k) >= 0 then
    if left > 0 then redis.call('pexpire', k, left) else redis.call('pexpireat', k, 1) end
  end
end
return 1`

// keyEnd is a key that ends by itself.
type keyEnd struct {
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

// keyEnds lists the keys that end by themselves, in the order of their ends. Where clocks cannot be set, the time to the end
// is rounded up to a multiple of unit.
func (w *world) keyEnds(now, unit time.Duration) ([]keyEnd, error) {
	script := endsByClock
	if w.fixed == nil {
		script = endsFromNow
	}
	reply, err := w.ask(w.primary, "EVAL", script, "0")
	if err != nil {
		return nil, err
	}
	header, at := line(reply)
	n, err := arrayLength(header)
	if err != nil {
		return nil, err
	}
	out := make([]keyEnd, 0, n/2)
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
		out = append(out, keyEnd{string(key), w.virtualEnd(ms, now, unit)})
	}
	slices.SortFunc(out, func(a, b keyEnd) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.key, b.key)) })
	return out, nil
}

// virtualEnd returns the virtual time at which a key ends. ms is what Redis says: time of day if clocks are set, else the TTL.
func (w *world) virtualEnd(ms int64, now, unit time.Duration) time.Duration {
	if w.fixed != nil {
		return time.UnixMilli(ms).Sub(epoch)
	}
	return now.Truncate(grain) + roundUp(time.Duration(ms)*time.Millisecond, unit)
}

func roundUp(d, unit time.Duration) time.Duration { return (d + unit - 1) / unit * unit }

// countScript counts the keys that are there. If there are none, it removes what is left of keys that have expired.
const countScript = `local n = #redis.call('keys', '*')
if n == 0 then redis.call('flushdb') end
return n`

// countKeys returns the number of keys that are there. If there are none, the store is as it was in the beginning.
func (w *world) countKeys() (int, error) {
	reply, err := w.ask(w.primary, "EVAL", countScript, "0")
	if err != nil {
		return 0, err
	}
	n, err := integer(reply)
	w.clean = err == nil && n == 0
	return int(n), err
}
