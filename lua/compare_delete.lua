-- Release a lock only if it is still the caller's.
-- KEYS[1]  lock
-- ARGV[1]  owner's token
-- returns  1 deleted, 0 it was gone or another's
-- source   Redis documentation, "Distributed locks"; the CSDN collection on Redis locks (COMPARE_DELETE.lua)
if redis.call('get', KEYS[1]) == ARGV[1] then
  return redis.call('del', KEYS[1])
end
return 0
