-- Draw the next number of a sequence, comparing decimal digits: exact at any width that INCR can count.
-- KEYS[1]  sequence; it is forgotten 30 days after its last number
-- ARGV[1]  proposed number: digits without sign; leading zeros are dropped
-- returns  the number drawn, a string: what is stored, never a Lua number
-- source   this project
local proposed = string.gsub(ARGV[1], '^0+(%d)', '%1')
local last = redis.call('get', KEYS[1])
if last == false or #last < #proposed or (#last == #proposed and last < proposed) then
  redis.call('set', KEYS[1], proposed, 'EX', 2592000)
  return proposed
end
redis.call('incr', KEYS[1])
redis.call('expire', KEYS[1], 2592000)
return redis.call('get', KEYS[1])
