-- Take a lock, with a lease.
-- KEYS[1]  lock
-- ARGV[1]  value
-- ARGV[2]  lease in seconds
-- returns  1 taken, 0 held
-- source   the SoRedisLock article, section 3
if redis.call('setnx', KEYS[1], ARGV[1]) == 1 then
  redis.call('expire', KEYS[1], ARGV[2])
  return 1
end
return 0
