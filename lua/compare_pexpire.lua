-- Renew the lease of a lock only if it is still the caller's.
-- KEYS[1]  lock
-- ARGV[1]  owner's token
-- ARGV[2]  lease in milliseconds, from now
-- returns  1 renewed, 0 it was gone or another's
-- source   Redis documentation, "Distributed locks", "Making the algorithm more reliable: Extending the lock"
if redis.call('get', KEYS[1]) == ARGV[1] then
  return redis.call('pexpire', KEYS[1], ARGV[2])
end
return 0
