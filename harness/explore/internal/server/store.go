package server

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/doublegrant/doublegrant/harness/explore/internal/keyspace"
	"github.com/doublegrant/doublegrant/harness/explore/internal/resp"
	"github.com/doublegrant/doublegrant/harness/interleave"
)

// Bounds of the store in a counterexample.
const (
	MostKeys  = 12 // keys
	mostValue = 80 // bytes of one value
)

// content returns a script that lists all keys: each with its end in ms, as returned by endsBy, and its value. ARGV[1]
// bounds their number. The first element is the number of keys left out.
func content(endsBy string) string {
	return `local keys = redis.call('keys', '*')
table.sort(keys)
local out = {math.max(0, #keys - ARGV[1])}
for i = 1, math.min(#keys, ARGV[1]) do
  local k = keys[i]
  local type = redis.call('type', k).ok
  local v = '(' .. type .. ')'
  if type == 'string' then v = redis.call('get', k)
  elseif type == 'hash' then v = redis.call('hgetall', k)
  elseif type == 'list' then v = redis.call('lrange', k, 0, -1)
  elseif type == 'set' then v = redis.call('smembers', k); table.sort(v)
  elseif type == 'zset' then v = redis.call('zrange', k, 0, -1, 'withscores')
  elseif type == 'stream' then v = redis.call('xrange', k, '-', '+')
  end
  out[#out + 1] = k; out[#out + 1] = redis.call('` + endsBy + `', k); out[#out + 1] = v
end
return out`
}

var (
	contentByClock = content("pexpiretime")
	contentFromNow = content("pttl")
)

// Content returns the primary's content at virtual time now.
func (s *Server) Content(now, unit time.Duration) (*interleave.Store, error) {
	script := contentByClock
	if s.fixed == nil {
		script = contentFromNow
	}
	reply, n, err := s.list(s.Primary, script, strconv.Itoa(MostKeys))
	if err != nil {
		return nil, err
	}
	more, err := resp.Integer(reply)
	if err != nil {
		return nil, err
	}
	store := &interleave.Store{More: int(more)}
	_, rest := resp.ReadReply(reply)
	for range (n - 1) / 3 {
		one := interleave.Stored{}
		one.Key, rest = resp.ReadReply(rest)
		ms, err := resp.Integer(rest)
		if err != nil {
			return nil, err
		}
		if ms >= 0 {
			one.Ends = s.virtualEnd(ms, now, unit)
		}
		_, rest = resp.ReadReply(rest)
		one.Value, rest = resp.ReadReply(rest)
		one.Key, one.Value = resp.Clip(one.Key, mostValue), resp.Clip(one.Value, mostValue)
		store.Keys = append(store.Keys, one)
	}
	// sorted by bytes, since Lua's locale may differ
	slices.SortFunc(store.Keys, func(a, b interleave.Stored) int { return cmp.Compare(a.Key, b.Key) })
	return store, nil
}

// contentScript lists all keys, each with its end and its value.
const contentScript = `local out = {}
for _, k in ipairs(redis.call('keys', '*')) do
  out[#out + 1] = k
  out[#out + 1] = redis.call('pexpiretime', k)
  out[#out + 1] = redis.call('dump', k)
end
return out`

// StoredKeys lists the content of a node.
func (s *Server) StoredKeys(node int) ([]keyspace.Key, error) {
	reply, n, err := s.list(node, contentScript)
	if err != nil {
		return nil, err
	}
	at := 0
	var keys []keyspace.Key
	for range n / 3 {
		name, size, err := resp.Bulk(reply[at:])
		if err != nil {
			return nil, err
		}
		at += size
		ms, err := resp.Integer(reply[at:])
		if err != nil {
			return nil, err
		}
		_, size = resp.Line(reply[at:])
		at += size
		dump, size, err := resp.Bulk(reply[at:])
		if err != nil {
			return nil, err
		}
		at += size
		k := keyspace.Key{Name: string(name), Dump: string(dump), End: keyspace.NoEnd}
		if ms >= 0 {
			k.End = time.UnixMilli(ms).Sub(keyspace.Epoch)
		}
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b keyspace.Key) int { return cmp.Compare(a.Name, b.Name) })
	return keys, nil
}
