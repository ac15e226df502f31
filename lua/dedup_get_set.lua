-- Mark a message as seen, unless it is marked already.
-- KEYS[1]  message
-- ARGV[1]  value of the mark
-- ARGV[2]  window in seconds
-- returns  0 the caller is first, 1 seen before
-- source   "Atomic operations by Lua", plan two
if redis.call('get', KEYS[1]) == false then
  redis.call('set', KEYS[1], ARGV[1])
  redis.call('expire', KEYS[1], ARGV[2])
  return 0
end
return 1
