-- Draw the next number of a sequence, comparing numbers as Lua numbers. Known to be wrong above 2^53: they are doubles.
-- KEYS[1]  hash that holds all sequences
-- ARGV[1]  field: the sequence
-- ARGV[2]  proposed number
-- returns  the number drawn, an integer; not always the one stored
-- source   "Unique serial numbers", final script, which its author calls correct (there the arguments travel as KEYS)
local proposed = tonumber(ARGV[2])
if redis.call('hsetnx', KEYS[1], ARGV[1], proposed) == 1 then
  redis.call('expire', KEYS[1], 2592000)
  return proposed
end
if tonumber(redis.call('hget', KEYS[1], ARGV[1])) < proposed then
  redis.call('hset', KEYS[1], ARGV[1], proposed)
  return proposed
end
return redis.call('hincrby', KEYS[1], ARGV[1], 1)
