package workloads

import (
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// Scripts as their articles print them.
const (
	// the SoRedisLock article, section 3
	article000 = `if redis.call('setnx',KEYS[1],ARGV[1]) == 1 then redis.call('expire',KEYS[1],ARGV[2]) return 1 ` +
		`else return 0 end`
	release000 = `if redis.call('get',KEYS[1]) == false then return 1 elseif redis.call('get',KEYS[1]) == ARGV[1] then ` +
		`return redis.call('del',KEYS[1]) else return 2 end`

	article001 = `
local lockKey = KEYS[1]
local lockTime = KEYS[2]
local lockValue = KEYS[3]
-- setnx info
local result_1 = redis.call('SETNX', lockKey, lockValue)
if result_1 == 1
then
local result_2= redis.call('SETEX', lockKey,lockTime, lockValue)
return result_2
else
return 'faild'
end`

	article002 = `
if (redis.call('setnx', KEYS[1], ARGV[1]) == 1)
then
    redis.call('expire', KEYS[1], ARGV[2])
    return true
else
    return false
end`
	release002 = `
if (redis.call('get', KEYS[1]) == ARGV[1])
then
    return redis.call('del', KEYS[1]) == 1
end
return false`

	// "Atomic operations by Lua", plan two
	article003 = `if redis.call('get', KEYS[1]) == false then redis.call('set', KEYS[1], ARGV[1]) ` +
		`redis.call('expire', KEYS[1], ARGV[2]) return 0 else return 1 end`

	// "Unique serial numbers", second script
	article004second = `
local function get_max_seq()
local key = 'SEEKER:SEQ:BIZ'
local increment = 1
local hkey = tostring(KEYS[1])
local seq = tostring(KEYS[2])
local month_in_seconds = 24 * 60 * 60 * 30
if (1 == redis.call('hsetnx', key, hkey, seq))
then
redis.call('expire',key,month_in_seconds)
return seq
else
local prev_seq = redis.call('hget',key, hkey)
if(prev_seq < seq)
then
redis.call('hset',key,hkey,seq)
return seq
else
redis.call('hincrby', key, hkey, increment)
return redis.call('hget', key, hkey)
end
end
end
return get_max_seq()`

	// "Unique serial numbers", final script
	article004final = `
local function get_max_seq()
local key = tostring(KEYS[1])
local increment = tonumber(KEYS[2])
local hkey = tostring(KEYS[3])
local seq = tonumber(KEYS[4])
local month_in_seconds = 2592000
if (1 == redis.call('hsetnx', key, hkey, seq))
then
redis.call('expire',key,month_in_seconds)
return seq
else
local prev_seq = redis.call('hget',key, hkey)
if(tonumber(prev_seq) < seq)
then
redis.call('hset',key,hkey,seq)
return seq
else
return redis.call('hincrby', key, hkey, increment)
end
end
end
return get_max_seq()`
)

var ownerAndSeconds = []string{"{owner}", "{ttl_s}"}

var articleLocks = []Script{
	{As: Lock, Name: "000", Source: article000, Args: ownerAndSeconds, Release: release000},
	{As: Lock, Name: "001", Source: article001, Keys: []string{"{key}", "{ttl_s}", "{owner}"}},
	{As: Lock, Name: "002", Source: article002, Args: ownerAndSeconds, Release: release002},
}

var articleFilter = Script{As: Dedup, Name: "003", Source: article003, Args: []string{"1", "{window_s}"}, Yes: "0"}

func TestLocksOfArticlesBehaveAsTheBuiltInOne(t *testing.T) {
	ctx := t.Context()
	_, r := realRedis(t)
	locks := map[string]Locker{"built in": builtIn(t, "lock/set-nx-px").newLocker(r)}
	for _, s := range articleLocks {
		locks[s.Name] = asVariant(t, r, s).newLocker(r)
		locks[s.Name+", RESP3"] = asVariant(t, resp3(t, r), s).newLocker(resp3(t, r))
	}
	for name, l := range locks {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			require.True(t, acquired(t, l, name, "a"))
			isWhole(t, r.PTTL(ctx, name).Val(), began)
			require.False(t, acquired(t, l, name, "b"), "granted twice")
			require.False(t, released(t, l, name, "b"), "released by another")
			require.True(t, released(t, l, name, "a"))
			require.True(t, acquired(t, l, name, "b"), "not free after its release")
		})
	}
}

// resp3 returns a client of the same Redis that speaks RESP3, as most do by default.
func resp3(t *testing.T, r redis.UniversalClient) redis.UniversalClient {
	t.Helper()
	o := r.(*redis.Client).Options()
	p := redis.NewClient(&redis.Options{Addr: o.Addr, Dialer: o.Dialer, Protocol: 3, MaxRetries: -1})
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
}

func TestTheFilterOf003BehavesAsTheBuiltInOne(t *testing.T) {
	_, r := realRedis(t)
	want := firsts(t, builtIn(t, "dedup/get-set-lua"), r)
	require.Equal(t, want, firsts(t, asVariant(t, r, articleFilter), r))
	require.NoError(t, r.FlushAll(t.Context()).Err())
	require.Equal(t, want, firsts(t, asVariant(t, resp3(t, r), articleFilter), resp3(t, r)))
}

// firsts returns the answers to three workers and, as the last element, what is left of the window.
func firsts(t *testing.T, v Variant, r redis.UniversalClient) (answers []any) {
	t.Helper()
	f := v.newDeduper(r)
	for range 3 {
		first, err := f.First(t.Context(), v.ID, 20*time.Second)
		require.NoError(t, err)
		answers = append(answers, first)
	}
	return append(answers, r.TTL(t.Context(), v.ID).Val().Round(10*time.Second))
}

func TestSequencesOf004BehaveAsTheBuiltInOnes(t *testing.T) {
	_, r := realRedis(t)
	sample := strconv.Itoa(sample17)
	for id, s := range map[string]Script{
		"sequence/string-compare-hash": articleStrings, "sequence/numeric-compare-hash": articleNumbers,
	} {
		own, built := asVariant(t, r, s).newSequencer(resp3(t, r)), builtIn(t, id).newSequencer(r)
		require.Equal(t, draw(t, built, "small "+id, "23", 80), draw(t, own, "small "+id, "23", 80), id)
		require.Equal(t, draw(t, built, "large "+id, sample, 5), draw(t, own, "large "+id, sample, 5), id)
	}
}
