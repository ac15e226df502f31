-- Leave a re-entrant lock once, and release it with the last entry.
-- KEYS[1]  lock, a hash of its owner's token and the number of entries
-- KEYS[2]  channel on which waiters listen
-- ARGV[1]  lease in milliseconds, renewed if entries are left
-- ARGV[2]  owner's token
-- returns  nil it was gone or another's, 0 entries are left, 1 released
-- source   the CSDN collection on Redis locks (Redisson, unlockInner)
if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then
  return nil
end
if redis.call('hincrby', KEYS[1], ARGV[2], -1) > 0 then
  redis.call('pexpire', KEYS[1], ARGV[1])
  return 0
end
redis.call('del', KEYS[1])
redis.call('publish', KEYS[2], 0)
return 1
