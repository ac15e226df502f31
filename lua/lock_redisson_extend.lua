-- Renew the lease of a re-entrant lock, only if it is still the caller's.
-- KEYS[1]  lock, a hash of its owner's token and the number of entries
-- ARGV[1]  lease in milliseconds
-- ARGV[2]  owner's token
-- returns  1 renewed, 0 it was gone or another's
-- source   the CSDN collection on Redis locks (Redisson, the watchdog's renewExpiration)
if redis.call('hexists', KEYS[1], ARGV[2]) == 1 then
  redis.call('pexpire', KEYS[1], ARGV[1])
  return 1
end
return 0
