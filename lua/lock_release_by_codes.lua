-- Release a lock only if its value is the caller's.
-- KEYS[1]  lock
-- ARGV[1]  value
-- returns  1 deleted, or gone before; 2 another's
-- source   the SoRedisLock article, section 3
if redis.call('get', KEYS[1]) == false then
  return 1
elseif redis.call('get', KEYS[1]) == ARGV[1] then
  return redis.call('del', KEYS[1])
end
return 2
