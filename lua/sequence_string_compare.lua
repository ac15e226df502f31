-- Draw the next number of a sequence, comparing numbers AS STRINGS. Known to be wrong: '100' < '23'. SET ends the TTL.
-- KEYS[1]  sequence
-- ARGV[1]  proposed number
-- returns  the number drawn, a string
-- source   "Unique serial numbers", first script (there the arguments, and an increment, travel as KEYS)
if redis.call('setnx', KEYS[1], ARGV[1]) == 1 then
  redis.call('expire', KEYS[1], 2592000)
  return ARGV[1]
end
if redis.call('get', KEYS[1]) < ARGV[1] then
  redis.call('set', KEYS[1], ARGV[1])
  return ARGV[1]
end
redis.call('incrby', KEYS[1], 1)
return redis.call('get', KEYS[1])
