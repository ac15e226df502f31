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

// This file is about the time of day that servers show. It belongs to the schedule: it stands still but for what the
// schedule adds.

// midnight is the instant shortly before which every schedule begins: round in seconds, minutes, hours and days, so that
// what counts time in such pieces meets the end of one.
var midnight = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// untilMidnight is how long before midnight a schedule's time is 0. It begins at start, half a millisecond later.
const untilMidnight = 3 * time.Millisecond

// epoch is when a schedule's time is 0, on the clocks of servers and clients.
var epoch = midnight.Add(-untilMidnight)

// grain is the unit in which Redis counts time: a lease that ends at t is there at t, and gone a millisecond later.
const grain = time.Millisecond

// fixTime stops the servers' clocks. Where they cannot be set, unset says why, and leases end by commands of ours instead.
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
	for i := range w.names { // what expires in the background could be counted before or after, and a jump is no silence
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

// ending is a key that ends by itself, and the last instant of the schedule at which it is there.
type ending struct {
	key string
	at  time.Duration
}

// keysWithEnd returns the keys that end, each before the instant at which it does: of the servers' clock, or else from now.
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

// endings lists the keys that end by themselves, in the order of their ends. Where clocks cannot be set, ends are rounded
// up to the unit.
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

// instant is when a key ends, in the schedule's time.
func (w *world) instant(ms int64, now, unit time.Duration) time.Duration {
	if w.fixed != nil {
		return time.UnixMilli(ms).Sub(epoch)
	}
	return now.Truncate(grain) + roundUp(time.Duration(ms)*time.Millisecond, unit)
}

func roundUp(d, unit time.Duration) time.Duration { return (d + unit - 1) / unit * unit }

// countAll counts the keys that are there, and removes what is left of others if none is.
const countAll = `local n = #redis.call('keys', '*')
if n == 0 then redis.call('flushdb') end
return n`

// count counts the keys that are there. If there are none, all is as in the beginning.
func (w *world) count() (int, error) {
	reply, err := w.ask(w.primary, "EVAL", countAll, "0")
	if err != nil {
		return 0, err
	}
	n, err := integer(reply)
	w.clean = err == nil && n == 0
	return int(n), err
}
