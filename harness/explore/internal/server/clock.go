package server

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/doublegrant/doublegrant/harness/cluster"
	"github.com/doublegrant/doublegrant/harness/explore/internal/keyspace"
	"github.com/doublegrant/doublegrant/harness/explore/internal/resp"
)

// This file sets the servers' time of day, which stands still until the schedule lets time pass.

// fixTime stops the servers' clocks. If they cannot be set, WhyNoClock says why. In that case PassTime shortens the
// TTLs instead.
func (s *Server) fixTime(ctx context.Context) error {
	if s.WhyNoClock != "" {
		return nil
	}
	for _, c := range s.clusters() {
		clock, err := c.FixClocks(ctx, keyspace.Epoch)
		if errors.Is(err, cluster.ErrClock) && s.fixed == nil {
			s.WhyNoClock = err.Error()
			return nil
		}
		if err != nil {
			return err
		}
		s.fixed = append(s.fixed, clock)
	}
	// then keys expire only when they are read, and a jump of the clock breaks no replication link
	for i := range s.Names {
		for _, args := range [][]string{{"DEBUG", "SET-ACTIVE-EXPIRE", "0"},
			{"CONFIG", "SET", "repl-timeout", "2000000000"}} {
			if _, err := s.Ask(i, args...); err != nil {
				return err
			}
		}
	}
	return nil
}

// SetTime sets the servers' clocks to an instant of the schedule. It has no effect on clocks that cannot be set.
func (s *Server) SetTime(now time.Duration) {
	for _, clock := range s.fixed {
		clock.Set(keyspace.Epoch.Add(now))
	}
}

// SetTimeDuring lets time pass to another instant while a server executes the next command: see
// cluster.FixedClock.SetDuring. It has an effect until SetTime is called.
func (s *Server) SetTimeDuring(then time.Duration) {
	for _, clock := range s.fixed {
		clock.SetDuring(keyspace.Epoch.Add(then))
	}
}

// PassTime lets time pass from one instant of the schedule to another.
func (s *Server) PassTime(from, to time.Duration) error {
	if s.fixed != nil {
		s.SetTime(to)
		return nil
	}
	if s.resumeReplication != nil {
		s.missedTime += to - from
	}
	return s.ageKeys(to - from)
}

// ageKeys makes every key end d earlier.
func (s *Server) ageKeys(d time.Duration) error {
	_, err := s.Ask(s.Primary, "EVAL", ageScript, "0", strconv.FormatInt(d.Milliseconds(), 10))
	return err
}

const ageScript = `for _, k in ipairs(redis.call('keys', '*')) do
  local left = redis.call('pttl', k) - tonumber(ARGV[1])
  if redis.call('pttl', k) >= 0 then
    if left > 0 then redis.call('pexpire', k, left) else redis.call('pexpireat', k, 1) end
  end
end
return 1`

// endsScript lists the end and the name of each key that has a TTL. ARGV[1] is the result of endCommand.
const endsScript = `local out = {}
for _, k in ipairs(redis.call('keys', '*')) do
  local at = redis.call(ARGV[1], k)
  if at >= 0 then out[#out + 1] = at; out[#out + 1] = k end
end
return out`

// endCommand returns the Redis command that returns a key's end in ms: as a time of day if clocks can be set, else as
// the TTL that is left.
func (s *Server) endCommand() string {
	if s.fixed != nil {
		return "pexpiretime"
	}
	return "pttl"
}

// KeyEnds lists the keys that expire, in the order of their ends. If clocks cannot be set, the time to the end is
// rounded up to a multiple of unit.
func (s *Server) KeyEnds(now, unit time.Duration) ([]keyspace.End, error) {
	all, err := s.list(s.Primary, endsScript, s.endCommand())
	out := make([]keyspace.End, 0, len(all)/2)
	for pair := range slices.Chunk(all, 2) {
		ms, endErr := resp.Integer(pair[0])
		key, keyErr := resp.Text(pair[1])
		if err = cmp.Or(endErr, keyErr); err != nil {
			return nil, err
		}
		out = append(out, keyspace.End{Key: key, At: s.virtualEnd(ms, now, unit)})
	}
	slices.SortFunc(out, func(a, b keyspace.End) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Key, b.Key))
	})
	return out, err
}

// virtualEnd returns the virtual time at which a key ends. The parameter ms is Redis's answer to the command that
// endCommand returns.
func (s *Server) virtualEnd(ms int64, now, unit time.Duration) time.Duration {
	if s.fixed != nil {
		return time.UnixMilli(ms).Sub(keyspace.Epoch)
	}
	return now.Truncate(keyspace.Grain) + keyspace.RoundUp(time.Duration(ms)*time.Millisecond, unit)
}

// countScript counts the keys. If there are none, it removes what remains of expired keys.
const countScript = `local n = #redis.call('keys', '*')
if n == 0 then redis.call('flushdb') end
return n`

// CountKeys returns the number of keys. If it is 0, the store is as it was at the beginning.
func (s *Server) CountKeys() (int, error) {
	reply, err := s.Ask(s.Primary, "EVAL", countScript, "0")
	if err != nil {
		return 0, err
	}
	n, err := resp.Integer(reply)
	s.clean = err == nil && n == 0
	return int(n), err
}
