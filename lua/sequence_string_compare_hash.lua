-- Draw the next number of a sequence, comparing numbers AS STRINGS. Known to be wrong: '100' < '23'.
-- KEYS[1]  hash that holds all sequences
-- ARGV[1]  field: the sequence
-- ARGV[2]  proposed number
-- returns  the number drawn, a string
-- source   "Unique serial numbers", second script (there the arguments travel as KEYS)
if redis.call('hsetnx', KEYS[1], ARGV[1], ARGV[2]) == 1 then
  redis.call('expire', KEYS[1], 2592000)
  return ARGV[2]
end
local last = redis.call('hget', KEYS[1], ARGV[1])
if last < ARGV[2] then
  redis.call('hset', KEYS[1], ARGV[1], ARGV[2])
  return ARGV[2]
end
redis.call('hincrby', KEYS[1], ARGV[1], 1)
return redis.call('hget', KEYS[1], ARGV[1])
