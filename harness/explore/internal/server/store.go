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
	MostKeys  = 12 // the largest number of keys that are shown
	mostValue = 80 // the largest number of bytes of a value that are shown
)

// shownScript lists keys, each with its end in ms and its value, for people. ARGV[1] is the result of endCommand, and
// ARGV[2] is the largest number of keys to list. The first element of the list is the number of keys left out.
const shownScript = `local keys = redis.call('keys', '*')
table.sort(keys)
local out = {math.max(0, #keys - ARGV[2])}
for i = 1, math.min(#keys, ARGV[2]) do
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
  out[#out + 1] = k; out[#out + 1] = redis.call(ARGV[1], k); out[#out + 1] = v
end
return out`

// Content returns the primary's content at a virtual time.
func (s *Server) Content(now, unit time.Duration) (*interleave.Store, error) {
	all, err := s.list(s.Primary, shownScript, s.endCommand(), strconv.Itoa(MostKeys))
	if err != nil {
		return nil, err
	}
	more, err := resp.Integer(all[0])
	store := &interleave.Store{More: int(more)}
	for one := range slices.Chunk(all[1:], 3) {
		key, _ := resp.ReadReply(one[0])
		ms, endErr := resp.Integer(one[1])
		value, _ := resp.ReadReply(one[2])
		stored := interleave.Stored{Key: resp.Clip(key, mostValue), Value: resp.Clip(value, mostValue)}
		if ms >= 0 {
			stored.Ends = s.virtualEnd(ms, now, unit)
		}
		store.Keys, err = append(store.Keys, stored), cmp.Or(err, endErr)
	}
	// sorted by bytes, since Lua's locale may differ
	slices.SortFunc(store.Keys, func(a, b interleave.Stored) int { return cmp.Compare(a.Key, b.Key) })
	return store, err
}

// contentScript lists all keys, each with its end and its value as DUMP writes it.
const contentScript = `local out = {}
for _, k in ipairs(redis.call('keys', '*')) do
  out[#out + 1] = k
  out[#out + 1] = redis.call('pexpiretime', k)
  out[#out + 1] = redis.call('dump', k)
end
return out`

// StoredKeys lists the content of a node.
func (s *Server) StoredKeys(node int) ([]keyspace.Key, error) {
	all, err := s.list(node, contentScript)
	var keys []keyspace.Key
	for one := range slices.Chunk(all, 3) {
		name, nameErr := resp.Text(one[0])
		ms, endErr := resp.Integer(one[1])
		dump, dumpErr := resp.Text(one[2])
		if err = cmp.Or(nameErr, endErr, dumpErr); err != nil {
			return nil, err
		}
		k := keyspace.Key{Name: name, Dump: dump, End: keyspace.NoEnd}
		if ms >= 0 {
			k.End = time.UnixMilli(ms).Sub(keyspace.Epoch)
		}
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b keyspace.Key) int { return cmp.Compare(a.Name, b.Name) })
	return keys, err
}
